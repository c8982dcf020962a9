"""Shadow: decide beside another scheduler, bind nothing, and report where the decisions differ.

candidate    what happens in the cluster, in order, and what of it is the other scheduler's action; a
             configuration on a state of its own: what it would do now
comparator   actions compared with what a candidate would have done: findings, and their counts
shadow       all of it together, without a server and on a live cluster
"""

from __future__ import annotations

from hekla.insight.shadow.comparator import FindingKind, PodFinding
from hekla.insight.shadow.shadow import Shadow, ShadowOptions

__all__ = ["FindingKind", "PodFinding", "Shadow", "ShadowOptions"]
