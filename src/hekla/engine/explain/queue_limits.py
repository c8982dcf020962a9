"""Queue limits: what a queue, and the queues above it, may hold whatever else runs."""

from __future__ import annotations

from collections.abc import Iterator

from hekla.engine.explain.shortfalls import GangDemand, amount
from hekla.engine.framework import points
from hekla.engine.framework.figures import QueueFigures
from hekla.engine.framework.session import Session
from hekla.engine.model.queue import ROOT
from hekla.engine.model.resources import spelled
from hekla.engine.model.wait_reason import Finding, Verdict, WaitReason
from hekla.lazy import lazy


class QueueLimits:
    """Of the plugins that hold queues to limits."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @lazy
    def _figures(self) -> list[tuple[bool, dict[str, QueueFigures]]]:
        """Of each such plugin whether its queues form a tree, and its figures."""
        handlers = self._session.dispatch.handlers(points.ALLOCATABLE)
        plugins = dict.fromkeys(handler.plugin for handler in handlers)
        return [(plugin.hierarchical, dict(plugin.queue_figures())) for plugin in plugins]

    def beyond(self, queue: str, gang: GangDemand) -> Iterator[Finding]:
        """That the gang asks for more than a queue may ever hold; nothing where it does not."""
        axis, total = self._session.axis, self._session.nodes.total
        above = [*self._above(queue)]
        for column, asked in enumerate(gang.least.tolist()):
            if column == axis.pods:
                continue
            limits = [(name, self._limit(name, figures, axis.names[column])) for name, figures in above]
            # What every queue is held to by the size of the cluster is told as lack of room.
            short = [
                (name, limit)
                for name, limit in limits
                if limit is not None and limit < asked and limit < total[column]
            ]
            if short:
                # A queue without a limit of its own takes over that of the queue above it.
                name, limit = next((one for one in short if self._is_own(*one, axis.names[column])), short[0])
                whose = f'queue "{name}"' + (f', above queue "{queue}",' if name != queue else "")
                most = spelled(axis.names[column], limit)
                text = f"{gang.needing} {amount(axis, column, asked)}, {whose} may hold {most} at most"
                yield Finding(WaitReason.QUEUE_SHARE, Verdict.NEVER, text)
                return

    def _is_own(self, queue: str, limit: float, resource: str) -> bool:
        return self._session.queues[queue].capability.get(resource) == limit

    def fills_cluster(self, queue: str, column: int) -> bool:
        """Whether no other queue holds anything of the resource: its share is all that there is."""
        name = self._session.axis.names[column]
        held = [figures[queue].allocated.get(name, 0.0) for _, figures in self._figures if queue in figures]
        return bool(held) and self._session.nodes.used_in_all[column] <= max(held)

    def _above(self, queue: str) -> Iterator[tuple[str, QueueFigures]]:
        """The queue and, in a tree, those above it."""
        for is_tree, figures in self._figures:
            name, seen = queue, set[str]()
            while name in figures and name not in seen:
                yield name, figures[name]
                seen.add(name)
                name = self._session.queues[name].parent or ROOT if is_tree else ""

    def _limit(self, queue: str, figures: QueueFigures, resource: str) -> float | None:
        """Figures leave out what is 0, which a capability may well be."""
        named = self._session.queues[queue].capability
        return figures.real_capacity.get(resource, 0.0 if named.get(resource) == 0 else None)
