"""Referee: what was done wrong, told by someone who has seen only API objects."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from harness.api import Api
from harness.audit import AuditLog
from harness.evictions import judge, read_history
from harness.invariants import State, Violation, check, node_of
from harness.kinds import Object, title_of
from harness.placement import objections


@dataclass(frozen=True)
class Bind:
    pod: str
    node: str


class Referee:
    """Gathers what is seen at each bind, by a kubelet, and what is found at rest, by `check`.

    Evictions are judged by the log of the API server, where it writes one.
    """

    def __init__(self, audit: AuditLog | None = None) -> None:
        self.violations: list[Violation] = []
        self.binds: dict[str, list[Bind]] = defaultdict(list)
        self._audit = audit
        self._begin()
        self._pods: dict[str, Object] = {}
        self._lock = threading.Lock()

    def record(self, violation: Violation) -> None:
        """Once is enough: a bind that is wrong is still wrong at rest."""
        with self._lock:
            if violation not in self.violations:
                self.violations.append(violation)

    def saw_pod_on_node(self, pod: Object, node: Object | None) -> None:
        """Judge a bind by the node as it is in that moment: later it may be labelled otherwise."""
        self._pods[pod["metadata"]["uid"]] = pod
        binds = self.binds[pod["metadata"]["uid"]]
        bind = Bind(title_of(pod), node_of(pod))
        if bind in binds:
            return
        binds.append(bind)
        if len(binds) > 1:
            places = " and then to ".join(each.node for each in binds)
            self.record(Violation("I3", bind.pod, f"was bound to {places}"))
        for objection in objections(pod, node) if node is not None else ():
            self.record(Violation("I3", bind.pod, f"is on {bind.node}, but {objection}"))

    def check(self, api: Api, stranded: Collection[str] = ()) -> list[Violation]:
        """All violations seen so far and those of this moment, in which nothing should be under way.

        Placement is looked up only for pods whose bind nobody saw. `stranded` names gangs that lost
        members for a cause outside the scheduler.
        """
        for violation in check(read_state(api), stranded):
            if violation.subject not in self._judged_at_their_bind(violation):
                self.record(violation)
        self.judge_evictions(api)
        return self.violations

    def judge_evictions(self, api: Api) -> None:
        """All evictions so far, by what came of them until now."""
        if self._audit is not None:
            requests = list(self._audit.read(self._since))
            history = read_history(requests, api, list(self._pods.values()), self._began)
            for violation in judge(history):
                self.record(violation)

    def assert_clean(self, api: Api, stranded: Collection[str] = ()) -> None:
        found = self.check(api, stranded)
        assert not found, self.report()

    def pardon(self) -> list[Violation]:
        """The violations so far, which are forgotten: for tests that make them on purpose."""
        with self._lock:
            forgiven, self.violations = self.violations, []
        self._begin()
        return forgiven

    def report(self) -> str:
        lines = [f"  {violation}" for violation in self.violations]
        return "\n".join([f"{len(lines)} violations", *lines])

    def _begin(self) -> None:
        """What was evicted until now is not judged."""
        self._since = self._audit.position() if self._audit else 0
        self._began = time.time()

    def _judged_at_their_bind(self, violation: Violation) -> Collection[str]:
        if violation.invariant != "I3":
            return ()
        return {bind.pod for binds in self.binds.values() for bind in binds}


def read_state(api: Api) -> State:
    return State(api.list("Pod"), api.list("Node"), api.list("PodGroup"), api.list("Queue"))
