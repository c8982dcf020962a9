"""The kit for stories about the scheduler, and for authors of plugins.

`builders` write manifests in a few words, `story` plays one cycle over them and tells what became
of every job, `kit` checks a plugin against its contract, `strategies` (which needs Hypothesis)
makes up random clusters.
"""

from __future__ import annotations

from hekla.testing.builders import (
    JobObjects,
    PodRole,
    job,
    node,
    priority_class,
    queue,
)
from hekla.testing.kit import check_plugin
from hekla.testing.network import hypernode, node_shard, racks, sub_group
from hekla.testing.pods import Shape, pod, stamped
from hekla.testing.story import Story, conf_of, plugin, session_of, told

__all__ = [
    "JobObjects",
    "PodRole",
    "Shape",
    "Story",
    "check_plugin",
    "conf_of",
    "hypernode",
    "job",
    "node",
    "node_shard",
    "plugin",
    "pod",
    "priority_class",
    "queue",
    "racks",
    "session_of",
    "stamped",
    "sub_group",
    "told",
]


def __getattr__(name: str) -> object:
    if name == "Role":
        raise ImportError('"Role" is PodRole now')
    raise AttributeError(f'module "hekla.testing" has no attribute "{name}"')
