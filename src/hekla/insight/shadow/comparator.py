"""Comparator: actions of the other scheduler compared with what a candidate would have done.

Pods of one job that ask for the same are interchangeable: it does not matter which of them goes where.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from hekla.engine.framework.decisions import Bind, Evict
from hekla.engine.framework.session import Session
from hekla.engine.model.task import Task
from hekla.insight.shadow.candidate import Candidate, ObservedAction
from hekla.objects import Pod

PodShape = tuple[str, str, bytes]


@dataclass(frozen=True)
class Patience:
    """How much time may pass before a difference in time is one; seconds."""

    start: float = 2.0
    """Starting a pod by less than this earlier is the same."""
    lack: float = 5.0
    """For how long a candidate wants something that does not happen before it is reported."""


@dataclass
class PlannedActions:
    """What the latest cycle would do, by the UID of the pod."""

    binds: dict[str, Bind] = field(default_factory=dict)
    evictions: dict[str, Evict] = field(default_factory=dict)
    places: dict[PodShape, Counter[str]] = field(default_factory=dict)
    """By shape, how many pods would still go to each node."""
    victims: Counter[PodShape] = field(default_factory=Counter)
    """By shape, how many pods would still be evicted."""


class Comparator:
    """Keeps what a candidate has wanted, and since when."""

    def __init__(self, candidate: Candidate, patience: Patience | None = None) -> None:
        self.candidate = candidate
        self.planned = PlannedActions()
        self._patience = patience or Patience()
        self._started: dict[str, float] = {}
        """When the candidate would first have started the pod."""
        self._wanted: dict[tuple[FindingKind, str], float] = {}
        """Since when the candidate wants to start or evict a pod, without a break."""
        self._told: set[tuple[FindingKind, str]] = set()

    def predict(self) -> list[PodFinding]:
        """Run a cycle; what the other scheduler has failed to do for too long by now."""
        session = self.candidate.decide().session
        self.planned = planned_by(session)
        for uid in self.planned.binds:
            self._started.setdefault(uid, session.now)
        return list(self._lacking(session.now))

    def _lacking(self, now: float) -> Iterator[PodFinding]:
        wanted = [(FindingKind.STARTS, uid) for uid in self.planned.binds]
        wanted += [(FindingKind.EVICTS, uid) for uid in self.planned.evictions]
        self._wanted = {plan: self._wanted.get(plan, now) for plan in wanted}
        for plan, since in self._wanted.items():
            if now - since >= self._patience.lack and plan not in self._told:
                self._told.add(plan)
                yield self._lack(*plan, now, now - since)

    def _lack(self, kind: FindingKind, uid: str, now: float, seconds: float) -> PodFinding:
        if kind is FindingKind.STARTS:
            bind = self.planned.binds[uid]
            task = self.candidate.session.tasks.get(bind.pod)
            assert task is not None, f"{bind.pod} was bound in this cycle"
            return self._finding(kind, task, now, own_node=bind.node, seconds=seconds)
        eviction = self.planned.evictions[uid]
        task = self.candidate.session.tasks.get(eviction.pod)
        assert task is not None, f"{eviction.pod} was evicted in this cycle"
        purpose = f" for {eviction.beneficiary}" if eviction.beneficiary else ""
        return self._finding(
            kind,
            task,
            now,
            node=eviction.node,
            seconds=seconds,
            reason=f"{eviction.reason}{purpose}",
            is_eviction=True,
        )

    def compare(self, action: ObservedAction) -> PodFinding:
        """What the candidate makes of it, by its latest cycle."""
        task = self.candidate.task_of(action.pod)
        if task is None or task.job not in self.candidate.session.jobs:
            what = "no cycle has seen it waiting" if task is None else "it belongs to no pod group known here"
            return PodFinding(
                FindingKind.NOT_COMPARED,
                self.candidate.name,
                action.at,
                action.pod.key,
                "",
                "",
                node=action.node,
                reason=what,
                is_eviction=bool(action.eviction),
            )
        return self._eviction(action, task) if action.eviction else self._bind(action, task)

    def _bind(self, action: ObservedAction, task: Task) -> PodFinding:
        uid = action.pod.metadata.uid
        plan, first = self.planned.binds.get(uid), self._started.get(uid)
        seconds = max(0.0, action.at - first) if first is not None else 0.0
        is_late = first is not None and seconds > self._patience.start
        if plan is None:
            kind = FindingKind.EARLIER if is_late else FindingKind.WAITS
            why = self.candidate.why_it_waits(task)
            reason = f"by now it would wait: {why}" if is_late else why
            return self._finding(kind, task, action.at, node=action.node, seconds=seconds, reason=reason)
        places = self.planned.places[shape_of(task)]
        own = action.node if places[action.node] > 0 else _left(places, plan.node)
        places[own] -= 1
        reason = "" if own == action.node else self.candidate.why_not_there(task, action.node, own)
        kind = (
            FindingKind.EARLIER
            if is_late
            else FindingKind.SAME
            if own == action.node
            else FindingKind.OTHER_NODE
        )
        return self._finding(
            kind, task, action.at, node=action.node, own_node=own, seconds=seconds, reason=reason
        )

    def _eviction(self, action: ObservedAction, task: Task) -> PodFinding:
        looks = shape_of(task)
        kind = FindingKind.SAME if self.planned.victims[looks] > 0 else FindingKind.KEEPS
        reason = action.eviction
        if kind is FindingKind.SAME:
            self.planned.victims[looks] -= 1
        elif self.planned.evictions:
            others = sorted(eviction.pod for eviction in self.planned.evictions.values())
            reason += f"; here {others[0]}{' and more' if len(others) > 1 else ''} would be evicted instead"
        return self._finding(kind, task, action.at, node=action.node, reason=reason, is_eviction=True)

    def forget(self, pod: Pod) -> None:
        """The pod has its place, or is gone: what was wanted for it is over."""
        uid = pod.metadata.uid
        self._started.pop(uid, None)
        for kind in (FindingKind.STARTS, FindingKind.EVICTS):
            self._told.discard((kind, uid))
            self._wanted.pop((kind, uid), None)

    def _finding(
        self,
        kind: FindingKind,
        task: Task,
        at: float,
        *,
        node: str = "",
        own_node: str = "",
        seconds: float = 0.0,
        reason: str = "",
        is_eviction: bool = False,
    ) -> PodFinding:
        candidate = self.candidate
        return PodFinding(
            kind,
            candidate.name,
            at,
            task.key,
            candidate.job_of(task),
            candidate.queue_of(task),
            node,
            own_node,
            seconds,
            reason,
            is_eviction,
        )


def planned_by(session: Session) -> PlannedActions:
    """What a cycle that has just ended would do."""
    planned = PlannedActions()
    for decision in session.decisions:
        if not isinstance(decision, Bind | Evict) or (task := session.tasks.get(decision.pod)) is None:
            continue
        if isinstance(decision, Bind):
            planned.binds[decision.uid] = decision
            planned.places.setdefault(shape_of(task), Counter())[decision.node] += 1
        else:
            planned.evictions[decision.uid] = decision
            planned.victims[shape_of(task)] += 1
    return planned


def shape_of(task: Task) -> PodShape:
    """Equal for pods that are interchangeable."""
    return task.job, task.role, task.vector.tobytes()


def _left(places: Counter[str], usual: str) -> str:
    """A node that a pod of this shape would still go to: the task's own, if it is not used up."""
    if places[usual] > 0:
        return usual
    return next((node for node, count in places.items() if count > 0), usual)


class FindingKind(Enum):
    """How a candidate's decision compares with the other scheduler's."""

    SAME = "same"
    OTHER_NODE = "other node"
    EARLIER = "earlier"
    WAITS = "would wait"
    KEEPS = "would not evict"
    STARTS = "would start"
    EVICTS = "would evict"
    NOT_COMPARED = "not judged"

    @property
    def is_difference(self) -> bool:
        return self not in (FindingKind.SAME, FindingKind.NOT_COMPARED)

    @property
    def is_action(self) -> bool:
        """Whether the other scheduler did something; otherwise it is what it did not do that counts."""
        return self not in (FindingKind.STARTS, FindingKind.EVICTS)


@dataclass(frozen=True)
class PodFinding:
    """One pod: what the other scheduler did, and what one configuration would have done."""

    kind: FindingKind
    candidate: str
    at: float
    pod: str
    job: str
    queue: str
    node: str = ""
    """Where the other scheduler put the pod, or took it off."""
    own_node: str = ""
    """Where the candidate would have put it."""
    seconds: float = 0.0
    """How much earlier the candidate would have started it, or for how long it has wanted to act."""
    reason: str = ""
    is_eviction: bool = False

    def __str__(self) -> str:
        said = f"{self.pod} (queue {self.queue or '-'}): {self._what()}"
        return f"{said}: {self.reason}" if self.reason else said

    def _what(self) -> str:
        match self.kind:
            case FindingKind.SAME if self.is_eviction:
                return f"evicted from {self.node}, as here"
            case FindingKind.SAME:
                return f"bound to {self.node}, as here"
            case FindingKind.OTHER_NODE:
                return f"bound to {self.node}, here to {self.own_node}"
            case FindingKind.EARLIER:
                return f"bound to {self.node}, here {self.seconds:.0f} s earlier"
            case FindingKind.WAITS:
                return f"bound to {self.node}, here it would wait"
            case FindingKind.KEEPS:
                return f"evicted from {self.node}, here it would stay"
            case FindingKind.STARTS:
                return f"waits, here it would run on {self.own_node} since {self.seconds:.0f} s"
            case FindingKind.EVICTS:
                return f"stays on {self.node}, here it would be evicted since {self.seconds:.0f} s"
        return f"{'evicted from' if self.is_eviction else 'bound to'} {self.node}, not judged"

    def as_data(self) -> dict[str, object]:
        return {
            "time": round(self.at, 3),
            "configuration": self.candidate,
            "kind": self.kind.value,
            "pod": self.pod,
            "job": self.job,
            "queue": self.queue,
            "eviction": self.is_eviction,
            "node": self.node,
            "ownNode": self.own_node,
            "seconds": round(self.seconds, 3),
            "reason": self.reason,
        }


@dataclass
class FindingCounts:
    """The findings of one configuration, counted by kind and queue."""

    candidate: str
    kinds: Counter[FindingKind] = field(default_factory=Counter)
    queues: dict[str, Counter[FindingKind]] = field(default_factory=dict)
    binds: int = 0
    evictions: int = 0
    earlier_seconds: float = 0.0
    most_seconds: float = 0.0

    def add(self, finding: PodFinding) -> None:
        self.kinds[finding.kind] += 1
        self.queues.setdefault(finding.queue or "-", Counter())[finding.kind] += 1
        if finding.kind.is_action:
            self.evictions += finding.is_eviction
            self.binds += not finding.is_eviction
        if finding.kind is FindingKind.EARLIER:
            self.earlier_seconds += finding.seconds
            self.most_seconds = max(self.most_seconds, finding.seconds)

    @property
    def seen(self) -> int:
        """Actions of the other scheduler."""
        return self.binds + self.evictions

    @property
    def differed(self) -> int:
        """Actions that the candidate would not have taken, or not so."""
        return sum(count for kind, count in self.kinds.items() if kind.is_difference and kind.is_action)

    def as_data(self) -> dict[str, object]:
        return {
            "configuration": self.candidate,
            "seen": self.seen,
            "binds": self.binds,
            "evictions": self.evictions,
            "agreed": self.kinds[FindingKind.SAME],
            "differed": self.differed,
            "byKind": _by_name(self.kinds),
            "byQueue": {queue: _by_name(kinds) for queue, kinds in sorted(self.queues.items())},
            "earlierSeconds": {
                "total": round(self.earlier_seconds, 3),
                "mean": round(self.earlier_seconds / max(self.kinds[FindingKind.EARLIER], 1), 3),
                "most": round(self.most_seconds, 3),
            },
        }


def _by_name(kinds: Counter[FindingKind]) -> dict[str, int]:
    return {kind.value: kinds[kind] for kind in FindingKind if kinds[kind]}
