"""Evictions: what the API server's log, events and objects tell of them, and what of it is wrong.

The numbers are those of the reliability goals: I3 no other pod than the one that was meant, I5 no eviction
in vain, I8 no refusal that is taken for done, I13 no victim twice for one beneficiary; F is for a scheduler
that evicts without leading.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from harness.api import Api
from harness.audit import Audited
from harness.invariants import State, Violation, group_of, has_ended, is_leaving, node_of
from harness.kinds import Object, title_of

PATIENCE = 10.0
"""How long after the grace of its victim a beneficiary may take to start."""
LAST_WORDS = 1.0
"""How long before its end a scheduler may evict without finding time to say why."""
FOR_A_BENEFICIARY = {"preempt", "reclaim", "gangpreempt", "gangreclaim"}
TOLD = {"Unschedulable", "FutileEviction"}
WORDS = re.compile(r'evicted because of "(?P<reason>[^"]*)"(?: in favour of "(?P<beneficiary>[^"]*)")?')


@dataclass(frozen=True)
class Eviction:
    """All that was tried to evict one pod; `at` is the time when it was done or, until then, first tried."""

    pod: str
    uid: str
    user: str
    at: float
    is_done: bool
    by_name_alone: bool = False
    grace: float = 0.0
    reason: str = ""
    beneficiary: str = ""


@dataclass(frozen=True)
class History:
    """What was asked of the API server since the beginning, what was told, and what is there.

    `seen` are pods that had a node, and may be gone.
    """

    requests: list[Audited]
    events: list[Object] = field(default_factory=list)
    state: State = field(default_factory=lambda: State([], []))
    seen: list[Object] = field(default_factory=list)
    begin: float = 0.0

    @property
    def end(self) -> float:
        return max((request.received for request in self.requests), default=0.0)

    def last_of(self, user: str) -> float:
        return max((request.received for request in self.requests if request.user == user), default=0.0)

    def starts(self) -> dict[str, list[float]]:
        """When pods of each PodGroup were bound."""
        group_by_pod = {title_of(pod): group_of(pod) for pod in (*self.seen, *self.state.pods)}
        times: dict[str, list[float]] = defaultdict(list)
        for request in self.requests:
            if (request.verb, request.resource) == ("create", "pods/binding") and request.is_done:
                times[group_by_pod.get(request.title, "")].append(request.received)
        return times

    def told(self) -> dict[str, float]:
        """When each PodGroup was last told why it waits."""
        times: dict[str, float] = defaultdict(float)
        for group in self.state.pod_groups:
            for condition in group.get("status", {}).get("conditions", ()):
                if says_why(condition):
                    title, since = title_of(group), time_of(condition, "lastTransitionTime")
                    times[title] = max(times[title], since)
        for event in self.events:
            target = event["involvedObject"]
            if target["kind"] == "PodGroup" and event["reason"] in TOLD:
                title = f"{target['namespace']}/{target['name']}"
                times[title] = max(times[title], time_of(event, "lastTimestamp"))
        return times


def judge(history: History) -> list[Violation]:
    """What is wrong with the evictions; what came of them is asked only of those that have had their time."""
    evictions = evictions_of(history)
    return [
        *aimed_by_name(evictions),
        *without_leading(history, evictions),
        *without_reason(history, evictions),
        *in_vain(history, evictions),
        *repeated(history, evictions),
        *refused_but_marked(history),
    ]


def aimed_by_name(evictions: Iterable[Eviction]) -> Iterator[Violation]:
    for eviction in evictions:
        if eviction.by_name_alone:
            yield Violation(
                "I3", eviction.pod, "was evicted by its name alone: a later pod of that name was at risk"
            )


def without_leading(history: History, evictions: Iterable[Eviction]) -> Iterator[Violation]:
    """Where there is no Lease at all, every scheduler was told to lead."""
    leases = [request for request in history.requests if is_election(request)]
    for eviction in evictions:
        if leases and eviction.is_done and eviction.user not in leaders(leases, eviction.at):
            yield Violation("F", eviction.pod, f"was evicted by {eviction.user}, which did not lead")


def without_reason(history: History, evictions: Iterable[Eviction]) -> Iterator[Violation]:
    for eviction in evictions:
        if not eviction.is_done or eviction.at > history.last_of(eviction.user) - LAST_WORDS:
            continue
        if not eviction.reason:
            yield Violation("I5", eviction.pod, "was evicted without a word")
        elif eviction.reason.rstrip(": ") == "shuffle":
            yield Violation("I5", eviction.pod, "was evicted by shuffle, which names no plugin as its reason")
        elif eviction.reason in FOR_A_BENEFICIARY and not eviction.beneficiary:
            text = f"was evicted because of {eviction.reason}, in favour of no job"
            yield Violation("I5", eviction.pod, text)


def in_vain(history: History, evictions: Iterable[Eviction]) -> Iterator[Violation]:
    for eviction in outstanding(history, evictions):
        if eviction.at + eviction.grace + PATIENCE <= history.end:
            how = "was evicted" if eviction.is_done else "was to be evicted"
            text = f"{how} in favour of {eviction.beneficiary}, which neither started nor was told why not"
            yield Violation("I5", eviction.pod, text)


def outstanding(history: History, evictions: Iterable[Eviction]) -> Iterator[Eviction]:
    """Evictions of which the beneficiary still waits, and has not been told since why."""
    starts, told = history.starts(), history.told()
    waiting = {group for group, pods in history.state.pods_by_group().items() if any(map(is_waiting, pods))}
    for eviction in evictions:
        job = eviction.beneficiary
        has_started = any(start > eviction.at for start in starts.get(job, ()))
        if job in waiting and not has_started and told.get(job, 0.0) <= eviction.at:
            yield eviction


def repeated(history: History, evictions: Iterable[Eviction]) -> Iterator[Violation]:
    """A pod that was made anew under its old name is the same victim."""
    starts = history.starts()
    last: dict[tuple[str, str], float] = {}
    done = [eviction for eviction in evictions if eviction.is_done and eviction.beneficiary]
    for eviction in sorted(done, key=lambda eviction: eviction.at):
        pair = eviction.pod, eviction.beneficiary
        before = last.get(pair)
        if before is not None and not any(before < at < eviction.at for at in starts.get(pair[1], ())):
            text = f"was evicted again in favour of {pair[1]}, which had not started since"
            yield Violation("I13", eviction.pod, text)
        last[pair] = eviction.at


def refused_but_marked(history: History) -> Iterator[Violation]:
    """Pods that nobody deletes and that are marked as evicted all the same."""
    for pod in history.state.pods:
        if has_ended(pod) or is_leaving(pod):
            continue
        for condition in pod.get("status", {}).get("conditions", ()):
            is_mark = WORDS.search(condition.get("message", "")) is not None
            age = history.end - time_of(condition, "lastTransitionTime")
            if is_mark and PATIENCE <= age <= history.end - history.begin:
                text = f"still runs, and its condition {condition['type']} says that it was evicted"
                yield Violation("I8", title_of(pod), text)


def evictions_of(history: History) -> list[Eviction]:
    """One for each pod that a scheduler tried to evict, or said so; a try may be lost before it arrives."""
    notices = notices_by_uid(history)
    controllers = {each.user for each in history.requests if each.group == "batch.volcano.sh"}
    tries: dict[str, list[Audited]] = defaultdict(list)
    for request in history.requests:
        uid = aimed_at(request)
        if is_eviction(request) and (is_announced(request, notices) or request.user not in controllers):
            tries[uid or request.title].append(request)
    tried = [_eviction(uid, requests, notices.get(uid, {})) for uid, requests in tries.items()]
    return [*tried, *(_announced(uid, notices[uid]) for uid in notices.keys() - tries.keys())]


def _eviction(uid: str, tries: list[Audited], notice: Object) -> Eviction:
    counts = next((each for each in tries if each.is_done), tries[0])
    reason, beneficiary = reason_and_beneficiary(notice.get("message", "") or marks_of(counts.answer))
    return Eviction(
        pod=counts.title,
        uid=uid,
        user=counts.user,
        at=counts.received,
        is_done=counts.is_done,
        by_name_alone=not precondition(counts),
        grace=float(counts.answer.get("metadata", {}).get("deletionGracePeriodSeconds") or 0),
        reason=reason,
        beneficiary=beneficiary,
    )


def _announced(uid: str, notice: Object) -> Eviction:
    """An eviction of which the API server has never heard."""
    reason, beneficiary = reason_and_beneficiary(notice["message"])
    pod = title_of({"metadata": notice["involvedObject"]})
    at = time_of(notice, "firstTimestamp")
    return Eviction(pod, uid, "", at, is_done=False, reason=reason, beneficiary=beneficiary)


def reason_and_beneficiary(words: str) -> tuple[str, str]:
    found = WORDS.search(words)
    return (found["reason"], found["beneficiary"] or "") if found else ("", "")


def is_eviction(request: Audited) -> bool:
    """Whether it asks for the end of a pod, and means it; controllers of Jobs do so, too."""
    asks = (request.verb, request.resource) in (("delete", "pods"), ("create", "pods/eviction"))
    return asks and not options_of(request).get("dryRun")


def is_announced(request: Audited, notices: dict[str, Object]) -> bool:
    is_marked = bool(marks_of(request.answer))
    return is_marked or aimed_at(request) in notices or request.resource == "pods/eviction"


def precondition(request: Audited) -> str:
    """The UID without which nothing is to be deleted."""
    return str((options_of(request).get("preconditions") or {}).get("uid", ""))


def options_of(request: Audited) -> Object:
    """How a pod is to be deleted."""
    options: Object = request.sent.get("deleteOptions") or request.sent
    return options


def aimed_at(request: Audited) -> str:
    return precondition(request) or str(request.answer.get("metadata", {}).get("uid", ""))


def notices_by_uid(history: History) -> dict[str, Object]:
    """The event that tells of the eviction of each pod."""
    return {
        event["involvedObject"]["uid"]: event
        for event in history.events
        if event["reason"] == "Evict"
        and event["involvedObject"]["kind"] == "Pod"
        and time_of(event, "lastTimestamp") >= int(history.begin)
    }


def marks_of(pod: Object) -> str:
    """What the conditions of a pod say of its eviction; an answer may be something else than a pod."""
    conditions = pod["status"].get("conditions", ()) if pod.get("kind") == "Pod" else ()
    messages = [condition.get("message", "") for condition in conditions]
    return next((message for message in messages if WORDS.search(message)), "")


def is_election(request: Audited) -> bool:
    is_write = request.resource == "leases" and request.verb in ("create", "update", "patch")
    return is_write and request.is_done


def leaders(leases: Iterable[Audited], at: float) -> set[str]:
    """Who held a Lease in this moment, by what was written into it until then."""
    last = {lease.title: lease for lease in leases if lease.received <= at}
    return {lease.user for lease in last.values() if _holds(lease, at)}


def _holds(lease: Audited, at: float) -> bool:
    spec = lease.sent.get("spec", {})
    return bool(spec.get("holderIdentity")) and at <= lease.received + float(spec["leaseDurationSeconds"])


def says_why(condition: Object) -> bool:
    """Whether the condition of a PodGroup says why it waits."""
    return condition.get("reason") in TOLD or (condition["type"] in TOLD and condition["status"] == "True")


def is_waiting(pod: Object) -> bool:
    return not (node_of(pod) or has_ended(pod) or is_leaving(pod))


def time_of(thing: Object, key: str) -> float:
    text = thing.get(key)
    return datetime.fromisoformat(text).timestamp() if text else 0.0


def read_history(
    requests: list[Audited], api: Api, seen: Iterable[Object] = (), begin: float = 0.0
) -> History:
    state = State(api.list("Pod"), [], api.list("PodGroup"))
    return History(requests, api.list("Event"), state, list(seen), begin)
