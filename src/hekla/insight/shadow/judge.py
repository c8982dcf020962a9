"""Judge: deeds of the other scheduler held against what a lane would have done.

Pods of one job that ask for the same are twins: it does not matter which of them goes where.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from hekla.engine.framework.decisions import Bind, Evict
from hekla.engine.framework.session import Session
from hekla.engine.model.task import Task
from hekla.insight.shadow.candidate import Deed, Lane
from hekla.insight.shadow.verdict import Kind, Verdict
from hekla.objects import Pod

Looks = tuple[str, str, bytes]


@dataclass(frozen=True)
class Patience:
    """How much time may pass before a difference in time is one; seconds."""

    start: float = 2.0
    """Starting a pod by less than this earlier is the same."""
    lack: float = 5.0
    """For how long a lane wants something that does not happen before it is told."""


@dataclass
class Wishes:
    """What the latest cycle would do, by the UID of the pod."""

    binds: dict[str, Bind] = field(default_factory=dict)
    evictions: dict[str, Evict] = field(default_factory=dict)
    places: dict[Looks, Counter[str]] = field(default_factory=dict)
    """For twins, how many of them would still go to each node."""
    victims: Counter[Looks] = field(default_factory=Counter)
    """For twins, how many of them would still be evicted."""


class Judge:
    """Keeps what a lane has wanted, and since when."""

    def __init__(self, lane: Lane, patience: Patience | None = None) -> None:
        self.lane = lane
        self.wishes = Wishes()
        self._patience = patience or Patience()
        self._started: dict[str, float] = {}
        """When the lane would first have started the pod."""
        self._wanted: dict[tuple[Kind, str], float] = {}
        """Since when the lane wants to start or evict a pod, without a break."""
        self._told: set[tuple[Kind, str]] = set()

    def predict(self) -> list[Verdict]:
        """Run a cycle; what the other scheduler has failed to do for too long by now."""
        session = self.lane.decide().session
        self.wishes = wishes_of(session)
        for uid in self.wishes.binds:
            self._started.setdefault(uid, session.now)
        return list(self._lacking(session.now))

    def _lacking(self, now: float) -> Iterator[Verdict]:
        wanted = [(Kind.STARTS, uid) for uid in self.wishes.binds]
        wanted += [(Kind.EVICTS, uid) for uid in self.wishes.evictions]
        self._wanted = {wish: self._wanted.get(wish, now) for wish in wanted}
        for wish, since in self._wanted.items():
            if now - since >= self._patience.lack and wish not in self._told:
                self._told.add(wish)
                yield self._lack(*wish, now, now - since)

    def _lack(self, kind: Kind, uid: str, now: float, seconds: float) -> Verdict:
        if kind is Kind.STARTS:
            bind = self.wishes.binds[uid]
            task = self.lane.session.tasks.get(bind.pod)
            assert task is not None, f"{bind.pod} was bound in this cycle"
            return self._verdict(kind, task, now, own_node=bind.node, seconds=seconds)
        eviction = self.wishes.evictions[uid]
        task = self.lane.session.tasks.get(eviction.pod)
        assert task is not None, f"{eviction.pod} was evicted in this cycle"
        purpose = f" for {eviction.beneficiary}" if eviction.beneficiary else ""
        return self._verdict(
            kind,
            task,
            now,
            node=eviction.node,
            seconds=seconds,
            reason=f"{eviction.reason}{purpose}",
            is_eviction=True,
        )

    def judge(self, deed: Deed) -> Verdict:
        """What the lane makes of it, by its latest cycle."""
        task = self.lane.task_of(deed.pod)
        if task is None or task.job not in self.lane.session.jobs:
            what = "no cycle has seen it waiting" if task is None else "it belongs to no pod group known here"
            return Verdict(
                Kind.UNJUDGED,
                self.lane.name,
                deed.at,
                deed.pod.key,
                "",
                "",
                node=deed.node,
                reason=what,
                is_eviction=bool(deed.eviction),
            )
        return self._eviction(deed, task) if deed.eviction else self._bind(deed, task)

    def _bind(self, deed: Deed, task: Task) -> Verdict:
        uid = deed.pod.metadata.uid
        wish, first = self.wishes.binds.get(uid), self._started.get(uid)
        seconds = max(0.0, deed.at - first) if first is not None else 0.0
        is_late = first is not None and seconds > self._patience.start
        if wish is None:
            kind = Kind.EARLIER if is_late else Kind.WAITS
            why = self.lane.why_it_waits(task)
            reason = f"by now it would wait: {why}" if is_late else why
            return self._verdict(kind, task, deed.at, node=deed.node, seconds=seconds, reason=reason)
        places = self.wishes.places[looks_of(task)]
        own = deed.node if places[deed.node] > 0 else _left(places, wish.node)
        places[own] -= 1
        reason = "" if own == deed.node else self.lane.why_not_there(task, deed.node, own)
        kind = Kind.EARLIER if is_late else Kind.SAME if own == deed.node else Kind.OTHER_NODE
        return self._verdict(
            kind, task, deed.at, node=deed.node, own_node=own, seconds=seconds, reason=reason
        )

    def _eviction(self, deed: Deed, task: Task) -> Verdict:
        looks = looks_of(task)
        kind = Kind.SAME if self.wishes.victims[looks] > 0 else Kind.KEEPS
        reason = deed.eviction
        if kind is Kind.SAME:
            self.wishes.victims[looks] -= 1
        elif self.wishes.evictions:
            others = sorted(eviction.pod for eviction in self.wishes.evictions.values())
            reason += f"; here {others[0]}{' and others' if len(others) > 1 else ''} would go instead"
        return self._verdict(kind, task, deed.at, node=deed.node, reason=reason, is_eviction=True)

    def forget(self, pod: Pod) -> None:
        """The pod has its place, or is gone: what was wanted for it is over."""
        uid = pod.metadata.uid
        self._started.pop(uid, None)
        for kind in (Kind.STARTS, Kind.EVICTS):
            self._told.discard((kind, uid))
            self._wanted.pop((kind, uid), None)

    def _verdict(
        self,
        kind: Kind,
        task: Task,
        at: float,
        *,
        node: str = "",
        own_node: str = "",
        seconds: float = 0.0,
        reason: str = "",
        is_eviction: bool = False,
    ) -> Verdict:
        lane = self.lane
        return Verdict(
            kind,
            lane.name,
            at,
            task.key,
            lane.job_of(task),
            lane.queue_of(task),
            node,
            own_node,
            seconds,
            reason,
            is_eviction,
        )


def wishes_of(session: Session) -> Wishes:
    """What a cycle that has just ended would do."""
    wishes = Wishes()
    for decision in session.decisions:
        if not isinstance(decision, Bind | Evict) or (task := session.tasks.get(decision.pod)) is None:
            continue
        if isinstance(decision, Bind):
            wishes.binds[decision.uid] = decision
            wishes.places.setdefault(looks_of(task), Counter())[decision.node] += 1
        else:
            wishes.evictions[decision.uid] = decision
            wishes.victims[looks_of(task)] += 1
    return wishes


def looks_of(task: Task) -> Looks:
    """Equal for twins."""
    return task.job, task.role, task.vector.tobytes()


def _left(places: Counter[str], usual: str) -> str:
    """A node that some twin would still go to: the task's own, if it has not been taken for another."""
    if places[usual] > 0:
        return usual
    return next((node for node, count in places.items() if count > 0), usual)
