"""Snapshot: the facts of one moment, lent to a session.

The session may suppose what it likes on them: the next one finds them as the manifests say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from hekla.engine.model.job import Job
from hekla.engine.model.node import NodeInfo, NodeLoad, Shard
from hekla.engine.model.queue import DEFAULT_QUEUE, QueueInfo
from hekla.engine.state.index import TaskIndex
from hekla.engine.state.live import LiveState
from hekla.objects import Manifest
from hekla.objects.complaint import Complaint

M = TypeVar("M", bound=Manifest)


@dataclass(eq=False)
class Snapshot:
    """Everything a session works on; good until the next one is taken of the same state."""

    state: LiveState = field(default_factory=LiveState)
    shard: Shard = field(default_factory=Shard)
    load: Mapping[str, NodeLoad] = field(default_factory=dict)
    """How busy nodes really are, where that is measured."""
    complaints: list[Complaint] = field(default_factory=list)

    @property
    def nodes(self) -> list[NodeInfo]:
        return self.state.nodes.nodes

    @property
    def queues(self) -> dict[str, QueueInfo]:
        return self.state.queues

    @property
    def jobs(self) -> dict[str, Job]:
        return self.state.jobs

    @property
    def tasks(self) -> TaskIndex:
        return self.state.tasks

    def all_of(self, kind: type[M]) -> Sequence[M]:
        """Manifests of a kind, whether or not the core models it (volumes, quotas, ...)."""
        return cast("Sequence[M]", tuple(self.state.manifests.get(kind, {}).values()))


def take_snapshot(
    objects: Iterable[Manifest],
    *,
    shard: Shard | None = None,
    default_queue: str = DEFAULT_QUEUE,
    ignored_provisioners: Collection[str] = (),
) -> Snapshot:
    """The facts in these manifests; the order of nodes is the order in which they are given."""
    state = LiveState(default_queue=default_queue, ignored_provisioners=ignored_provisioners)
    state.note_all(objects)
    return snapshot_of(state, shard)


def snapshot_of(state: LiveState, shard: Shard | None = None) -> Snapshot:
    """The facts of a state with all that was noted since the last snapshot taken in."""
    state.take_in()
    return Snapshot(state, shard or Shard(), complaints=state.complaints())
