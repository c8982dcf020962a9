"""Shadow: decide beside another scheduler, bind nothing, and tell where one would have decided otherwise.

feed       what happens in the cluster, in order, and what of it is the other scheduler's deed
lane       one configuration on a state of its own: what it would do now
judge      deeds held against what a lane would have done
verdict    one deed, or the lack of one, and what is to be said about it
tally      verdicts counted by kind and queue
shadow     all of it together, without a server
watch      the same on a live cluster
"""

from __future__ import annotations

from hekla.insight.shadow.shadow import Shadow, ShadowOptions
from hekla.insight.shadow.verdict import Kind, Verdict

__all__ = ["Kind", "Shadow", "ShadowOptions", "Verdict"]
