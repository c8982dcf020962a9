"""Who may preempt: a task that was promised a node waits for it, unless that promise has become void."""

from __future__ import annotations

import msgspec
import pytest

from hekla.engine.actions.preempt import is_evictable, makes_way, may_preempt
from hekla.engine.framework.session import Session
from hekla.objects import Condition, Pod
from hekla.testing import job, node, pod, session_of

PREEMPTED = Condition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
FULL = ("predicates",)


def leaving(name: str, *, because: Condition | None = PREEMPTED, priority: int = 1) -> Pod:
    """A pod that is being deleted, by the scheduler unless told otherwise."""
    written = pod(name, on="n1", is_leaving=True, cpu=1, pod_priority=priority)
    conditions = () if because is None else (because,)
    status = msgspec.structs.replace(written.status, conditions=conditions)
    return msgspec.structs.replace(written, status=status)


def promised(*others: object, tiers: tuple[str, ...] = FULL, **shape: object) -> bool:
    """Whether a task that was promised n1 may preempt; the node takes just one pod."""
    wants = {"cpu": 1, "pod_priority": 9, "nominated": "n1", **shape}
    session = session_of(
        node("n1", cpu=4, pods=1), node("n2", cpu=4), *others, job("a", **wants), tiers=tiers
    )
    return may_preempt(session, session.tasks[-1])


def test_a_task_without_a_promise_may() -> None:
    assert promised(nominated="")


def test_policy_never_forbids_it() -> None:
    assert not promised(nominated="", preemption_policy="Never")


def test_a_promise_of_a_node_that_is_gone_is_waited_for() -> None:
    assert not promised(nominated="ghost")


def test_a_node_that_has_opened_up_is_waited_for() -> None:
    assert not promised()


def test_a_node_that_will_never_open_up_is_given_up() -> None:
    assert promised(node_selector={"disk": "ssd"})


def test_while_its_victims_are_leaving_it_waits() -> None:
    assert not promised(leaving("victim"))


@pytest.mark.parametrize(
    "other",
    [
        leaving("other", because=None),
        leaving("other", because=msgspec.structs.replace(PREEMPTED, reason="EvictionByEvictionAPI")),
        leaving("other", priority=9),
        pod("other", on="n1", cpu=1, pod_priority=1),
    ],
    ids=["deleted by somebody else", "evicted by somebody else", "as important as itself", "not leaving"],
)
def test_others_on_the_node_do_not_hold_it_back(other: Pod) -> None:
    assert promised(other)


def pair(victim: Pod, preemptor: Pod) -> Session:
    return session_of(node("n1"), victim, preemptor)


@pytest.mark.parametrize(
    ("victim", "preemptor", "expected"),
    [
        (pod("v", on="n1", cpu=1), pod("p", cpu=1), True),
        (pod("v", on="n1", cpu=1, phase="Pending"), pod("p", cpu=1), True),
        (pod("v", on="n1", cpu=1, is_leaving=True), pod("p", cpu=1), False),
        (pod("v", on="n1", cpu=1, preemptable=False), pod("p", cpu=1), False),
        (pod("v", on="n1", cpu=1), pod("p"), False),
        (pod("v", on="n1"), pod("p"), True),
        (pod("v", on="n1"), pod("p", cpu=1), True),
    ],
    ids=[
        "a running task",
        "a bound one",
        "one that leaves already",
        "one that may not be preempted",
        "one that holds something, for one that asks for nothing",
        "one that holds nothing, for its like",
        "one that holds nothing, for one that asks",
    ],
)
def test_who_may_be_evicted(victim: Pod, preemptor: Pod, expected: bool) -> None:
    session = pair(victim, preemptor)
    assert is_evictable(*session.tasks) is expected


def test_making_way_compares_the_pods_own_priorities() -> None:
    session = pair(leaving("v", priority=5), pod("p", cpu=1, pod_priority=6, task_priority=1))
    assert makes_way(*session.tasks)
