"""One plugin in a session of its own, at a chosen moment, with chosen load and memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
import numpy as np

from hekla.conf import Conf, read_arguments
from hekla.engine.framework.dispatch import Registration, Registrations
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import VICTIM_TASKS
from hekla.engine.framework.session import Session
from hekla.engine.model.node import NodeLoad
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.engine.state.snapshot import take_snapshot
from hekla.objects import Manifest, Queue
from hekla.testing import JobObjects, queue, stamped

FITS, U, UU = "fits", "U", "UU"

M = TypeVar("M", bound=Manifest)


class Scene:
    """A session with that plugin alone, and short ways to ask it."""

    def __init__(
        self,
        plugin: type[Plugin],
        *parts: Manifest | JobObjects,
        arguments: Mapping[str, object] | None = None,
        hierarchical: bool = False,
        now: float = 0.0,
        load: Mapping[str, tuple[float, float] | NodeLoad] | None = None,
        memory: dict[str, float] | None = None,
        metrics: Mapping[str, str] | None = None,
    ) -> None:
        read, mistakes = read_arguments(plugin.Arguments, arguments or {}, plugin.name)
        assert not mistakes, mistakes
        snapshot = take_snapshot(stamped(manifests(parts)))
        snapshot.load = {name: _load(figures, now) for name, figures in (load or {}).items()}
        conf = Conf(actions=(), metrics=metrics or {})
        self.session = Session(snapshot, conf, now=now, memory=memory)
        self.plugin: Any = plugin(read, self.session, hierarchical=hierarchical)
        self.session.take_in([self.plugin], Registrations([[Registration(plugin)]]))

    def task(self, name: str) -> Task:
        return next(task for task in self.session.tasks if task.name == name)

    def row(self, node: str) -> int:
        return self.session.nodes.row_of[node]

    def put(self, name: str, node: str, status: Status = Status.ALLOCATED) -> None:
        assert self.session.put(self.task(name), self.row(node), status)

    def take_back(self, name: str) -> None:
        self.session.take_back(self.task(name))

    def verdicts(self, name: str) -> dict[str, str]:
        task, scoring = self.task(name), self.session.scoring
        is_open, curable = scoring.open_nodes(task), scoring.curable_nodes(task)
        return {
            node: FITS if is_open[row] else U if curable[row] else UU
            for row, node in enumerate(self.session.nodes.names)
        }

    def fits(self, name: str) -> list[str]:
        """The nodes that take the task; whoever else refuses does so for good."""
        verdicts = self.verdicts(name)
        assert U not in verdicts.values()
        return [node for node, verdict in verdicts.items() if verdict == FITS]

    def scores(self, name: str) -> dict[str, float]:
        task, everywhere = self.task(name), np.ones(len(self.session.nodes), dtype=np.bool_)
        scores = self.session.scoring.class_of(task).scores_of(task, everywhere)
        return dict(zip(self.session.nodes.names, scores.tolist(), strict=True))

    def plainly(self, name: str) -> str:
        everywhere = np.ones(len(self.session.nodes), dtype=np.bool_)
        return self.session.scoring.diagnose(self.task(name), everywhere, with_room=False).plainly()

    def victims(self) -> list[str]:
        """Whom the plugin names when shuffle asks."""
        running = [task for task in self.session.tasks if task.status is Status.RUNNING]
        return sorted(task.key for task in self.session.ask(VICTIM_TASKS, running))


def manifests(parts: tuple[Manifest | JobObjects, ...]) -> list[Manifest]:
    found = [one for part in parts for one in (part.objects if isinstance(part, JobObjects) else (part,))]
    written = {one.metadata.name for one in found if isinstance(one, Queue)}
    named = [part.pod_group.spec.queue for part in parts if isinstance(part, JobObjects)]
    return [*(queue(name) for name in dict.fromkeys(named) if name not in written), *found]


def changed(manifest: M, path: str, value: object) -> M:
    """The manifest with one field, named as in `spec.affinity`, replaced."""
    head, _, rest = path.partition(".")
    new = changed(getattr(manifest, head), rest, value) if rest else value
    return msgspec.structs.replace(manifest, **{head: new})


def _load(figures: tuple[float, float] | NodeLoad, now: float) -> NodeLoad:
    return figures if isinstance(figures, NodeLoad) else NodeLoad(*figures, at=now)
