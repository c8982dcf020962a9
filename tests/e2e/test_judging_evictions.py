"""How the referee judges evictions, on histories written by hand: for each rule one that breaks it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.audit import Audited, AuditLog
from harness.evictions import History, evictions_of, judge, outstanding
from harness.invariants import State
from harness.kinds import Object
from harness.manifests import pod, pod_group

MARK = 'evicted because of "preempt"'
IN_VAIN = (
    "I5 default/cheap-0: was evicted in favour of default/dear, which neither started nor was told why not"
)


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def lease(at: float, user: str = "hekla", holder: str = "one", seconds: int = 100) -> Audited:
    sent = {"spec": {"holderIdentity": holder, "leaseDurationSeconds": seconds}}
    return Audited(user, "update", "leases", "hekla-system", "volcano", received=at, sent=sent)


def delete(name: str, at: float, uid: str = "", code: int = 200, user: str = "hekla") -> Audited:
    uid = uid or name
    sent = {"kind": "DeleteOptions", "preconditions": {"uid": uid}}
    answer = leaving(name, uid) if code == 200 else {"kind": "Status"}
    return Audited(user, "delete", "pods", "default", name, code=code, received=at, sent=sent, answer=answer)


def leaving(name: str, uid: str) -> Object:
    meta = {"namespace": "default", "name": name, "uid": uid, "deletionGracePeriodSeconds": 1}
    return {"kind": "Pod", "metadata": meta, "status": {"conditions": [mark(0)]}}


def mark(at: float) -> Object:
    return {"type": "DisruptionTarget", "status": "True", "message": MARK, "lastTransitionTime": stamp(at)}


def bind(name: str, at: float) -> Audited:
    return Audited("hekla", "create", "pods/binding", "default", name, code=201, received=at)


def sign_of_life(at: float, user: str = "hekla") -> Audited:
    return Audited(user, "list", "nodes", received=at)


def notice(name: str, uid: str = "", words: str = "", at: float = 10.0) -> Object:
    said = words or 'evicted because of "preempt" in favour of "default/dear"'
    target = {"kind": "Pod", "namespace": "default", "name": name, "uid": uid or name}
    times = {"firstTimestamp": stamp(at), "lastTimestamp": stamp(at)}
    return {"reason": "Evict", "message": said, "involvedObject": target, **times}


def told(reason: str, at: float) -> Object:
    target = {"kind": "PodGroup", "namespace": "default", "name": "dear"}
    return {"reason": reason, "message": "why", "involvedObject": target, "lastTimestamp": stamp(at)}


def state(*others: Object, is_waiting: bool = True, conditions: tuple[Object, ...] = ()) -> State:
    """A beneficiary of two pods, of which one has a node."""
    second = pod("dear-1", group="dear", nodeName="" if is_waiting else "n1")
    pods = [pod("dear-0", group="dear", nodeName="n1"), second, *others]
    group = {**pod_group("dear", 1), "status": {"conditions": list(conditions)}}
    return State(pods, [], [group])


GOOD = History(
    requests=[lease(0), delete("cheap-0", 10), bind("dear-0", 12), lease(30), sign_of_life(40)],
    events=[notice("cheap-0")],
    state=state(),
)


def violations(history: History) -> list[str]:
    return [str(violation) for violation in judge(history)]


def without_start(*more: Audited, **other: object) -> History:
    """The beneficiary never gets a node."""
    requests = [lease(0), delete("cheap-0", 10), *more, lease(30), sign_of_life(40)]
    return replace(GOOD, requests=requests, **other)  # type: ignore[arg-type]


def test_an_eviction_after_which_its_beneficiary_starts_is_good() -> None:
    assert violations(GOOD) == []
    [eviction] = evictions_of(GOOD)
    assert (eviction.reason, eviction.beneficiary, eviction.grace) == ("preempt", "default/dear", 1)


def test_a_beneficiary_that_never_starts_and_is_told_nothing_was_evicted_for_in_vain() -> None:
    assert violations(without_start()) == [IN_VAIN]
    assert violations(without_start(bind("other-0", 12))) == [IN_VAIN], (
        "another job starting does not help it"
    )
    before = [lease(0), bind("dear-0", 9), *GOOD.requests[1:2], lease(30), sign_of_life(40)]
    assert violations(replace(GOOD, requests=before)) == [IN_VAIN], "nor does a pod that had its node before"


@pytest.mark.parametrize("reason", ["Unschedulable", "FutileEviction"])
def test_a_beneficiary_that_is_told_why_it_waits_is_as_good_as_started(reason: str) -> None:
    assert violations(without_start(events=[notice("cheap-0"), told(reason, 15)])) == []
    assert violations(without_start(events=[notice("cheap-0"), told(reason, 9)])) == [IN_VAIN]


def test_a_condition_tells_as_well_as_an_event_if_it_is_newer_than_the_eviction() -> None:
    def since(at: float, **words: str) -> History:
        return without_start(state=state(conditions=({**words, "lastTransitionTime": stamp(at)},)))

    for words in (
        {"type": "Unschedulable", "status": "True"},
        {"type": "Beneficiary", "status": "False", "reason": "FutileEviction"},
    ):
        assert violations(since(12, **words)) == []
        assert violations(since(9, **words)) == [IN_VAIN]
    assert violations(since(12, type="Beneficiary", status="True", reason="RoomReserved")) == [IN_VAIN]


def test_a_beneficiary_that_is_gone_or_complete_needs_nothing_more() -> None:
    assert violations(without_start(state=State([], []))) == []
    assert violations(without_start(state=state(is_waiting=False))) == []


def test_an_eviction_gets_its_time_before_it_is_judged() -> None:
    young = [lease(0), delete("cheap-0", 10), lease(12), sign_of_life(15)]
    history = replace(GOOD, requests=young)
    assert violations(history) == []
    assert len(list(outstanding(history, evictions_of(history)))) == 1


def test_a_bind_of_a_pod_that_is_gone_by_now_counts() -> None:
    short = pod("dear-2", group="dear")
    assert violations(without_start(bind("dear-2", 12), seen=[short])) == []


def test_an_eviction_says_why_and_for_whom() -> None:
    def because(words: str) -> list[str]:
        return violations(replace(GOOD, events=[notice("cheap-0", words=words)]))

    assert because('evicted because of "reclaim"') == [
        "I5 default/cheap-0: was evicted because of reclaim, in favour of no job"
    ]
    assert because('evicted because of "shuffle"') == [
        "I5 default/cheap-0: was evicted by shuffle, which names no plugin as its reason"
    ]
    assert because('evicted because of "shuffle: rescheduling"') == []


def test_an_eviction_without_a_word_is_noticed_unless_its_scheduler_ended_at_once() -> None:
    silent = delete("cheap-0", 10)
    silent = replace(silent, answer={**silent.answer, "status": {}})
    requests = [lease(0), silent, bind("dear-0", 12), lease(30)]
    assert violations(History(requests, state=state())) == ["I5 default/cheap-0: was evicted without a word"]
    killed = [lease(0), silent, lease(11, "standby", "two"), sign_of_life(40, "standby")]
    assert violations(History(killed, state=state())) == []


def test_controllers_delete_pods_without_evicting_them() -> None:
    controller = Audited("hekla", "list", "jobs", group="batch.volcano.sh", received=1)
    gone = delete("work-0", 10)
    gone = replace(gone, answer={**gone.answer, "status": {}})
    assert evictions_of(History([controller, lease(0), gone])) == []
    assert len(evictions_of(replace(GOOD, requests=[controller, *GOOD.requests]))) == 1


def test_a_victim_that_is_made_anew_is_not_evicted_again_for_the_same_job() -> None:
    again = delete("cheap-0", 20, uid="anew")
    events = [notice("cheap-0"), notice("cheap-0", uid="anew", at=20)]
    assert violations(without_start(again, bind("dear-0", 22), events=events)) == [
        "I13 default/cheap-0: was evicted again in favour of default/dear, which had not started since"
    ]
    grown = without_start(bind("dear-0", 12), again, bind("dear-1", 22), events=events)
    assert violations(grown) == [], "it has started, and may ask for more"


def test_a_deletion_that_is_asked_for_twice_is_one_eviction() -> None:
    twice = [lease(0), delete("cheap-0", 10), delete("cheap-0", 11), bind("dear-0", 12), lease(30)]
    assert violations(replace(GOOD, requests=twice)) == []


def test_a_deletion_on_trial_is_no_eviction() -> None:
    trial = delete("cheap-0", 10)
    trial = replace(trial, sent={**trial.sent, "dryRun": ["All"]})
    assert evictions_of(History([lease(0), trial, sign_of_life(40)])) == []


def test_a_refused_eviction_is_made_again_or_its_beneficiary_told() -> None:
    refused = [lease(0), delete("cheap-0", 10, code=409), lease(30), sign_of_life(40)]
    history = replace(GOOD, requests=refused)
    text = "was to be evicted in favour of default/dear, which neither started nor was told why not"
    assert violations(history) == [f"I5 default/cheap-0: {text}"]
    lost = [lease(0), lease(30), sign_of_life(40)]
    assert violations(replace(GOOD, requests=lost)) == [f"I5 default/cheap-0: {text}"]
    again = [lease(0), delete("cheap-0", 10, code=409), delete("cheap-0", 14), bind("dear-0", 16), lease(30)]
    assert violations(replace(GOOD, requests=again)) == []


def test_a_pod_whose_eviction_was_refused_is_not_left_marked() -> None:
    def with_mark(at: float, **meta: str) -> History:
        victim = pod("cheap-0", nodeName="n1")
        victim["metadata"] |= meta
        victim["status"] = {"phase": "Running", "conditions": [mark(at)]}
        return replace(GOOD, state=state(victim), begin=5)

    assert violations(with_mark(10)) == [
        "I8 default/cheap-0: still runs, and its condition DisruptionTarget says that it was evicted"
    ]
    assert violations(with_mark(35)) == [], "it may be about to go"
    assert violations(with_mark(3)) == [], "it was pardoned"
    assert violations(with_mark(10, deletionTimestamp=stamp(11))) == []


def test_nothing_is_evicted_by_a_scheduler_that_does_not_lead() -> None:
    def by(*leases: Audited) -> list[str]:
        return violations(replace(GOOD, requests=[*leases, *GOOD.requests[1:3], sign_of_life(40)]))

    wrong = ["F default/cheap-0: was evicted by hekla, which did not lead"]
    assert by() == [], "there is no election"
    assert by(lease(0, "standby", "two")) == wrong, "another one leads"
    assert by(lease(0), lease(9, "standby", "two")) == wrong, "another one has taken over"
    assert by(lease(0), lease(9, holder="")) == wrong, "it has given up its Lease"
    assert by(lease(0, seconds=5)) == wrong, "its Lease has run out"
    assert by(lease(0, seconds=5), lease(4), lease(11, "standby", "two")) == []


def test_an_eviction_names_the_very_pod() -> None:
    by_name = replace(delete("cheap-0", 10), sent={"kind": "DeleteOptions"})
    requests = [lease(0), by_name, bind("dear-0", 12), lease(30)]
    assert violations(replace(GOOD, requests=requests)) == [
        "I3 default/cheap-0: was evicted by its name alone: a later pod of that name was at risk"
    ]


def test_the_eviction_subresource_is_an_eviction_too() -> None:
    options = {"deleteOptions": {"preconditions": {"uid": "cheap-0"}}}
    asked = Audited(
        "hekla", "create", "pods/eviction", "default", "cheap-0", code=201, received=10, sent=options
    )
    requests = [lease(0), asked, lease(30), sign_of_life(40)]
    assert violations(replace(GOOD, requests=requests)) == [IN_VAIN]


def test_a_line_of_the_log_is_read_when_it_is_complete(tmp_path: Path) -> None:
    log = AuditLog(tmp_path, ["hekla"])
    target = {"resource": "pods", "subresource": "binding", "namespace": "default", "name": "p"}
    entry = {
        "user": {"username": "hekla"},
        "verb": "create",
        "objectRef": target,
        "requestReceivedTimestamp": "1970-01-01T00:00:02.500000Z",
        "responseStatus": {"code": 201},
        "userAgent": "hekla",
    }
    assert list(log.read()) == []
    log.file.write_text(json.dumps(entry) + "\n" + json.dumps(entry)[:40])
    assert list(log.read()) == [bind("p", 2.5)]
