"""One eviction, whatever the server answers: it ends in exactly one way, and a failed one leaves no mark."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cluster.kubernetes.api.scripted import ScriptedClient
from hekla.clock import VirtualClock
from hekla.cluster.kubernetes.api.client import Refused, Unreachable
from hekla.cluster.kubernetes.evictions import Evictor
from hekla.cluster.kubernetes.facts import Facts
from hekla.cluster.kubernetes.intents import Attempts, End, WriteOutcome
from hekla.cluster.kubernetes.writer import Writer
from hekla.cluster.store import Store
from hekla.engine.framework.decisions import Evict
from hekla.objects import Condition, ObjectMeta, Pod
from hekla.objects.pod import PodStatus

EVICT = Evict("x/a", "uid-a", "n1", "preempt", "x/urgent")
READY = Condition(type="Ready", status="True")
KNOWN = Pod(metadata=ObjectMeta(name="a", namespace="x", uid="uid-a"), status=PodStatus(conditions=(READY,)))
PAUSES = (0.0001, 0.0002)
DONE: dict[str, Any] = {"kind": "Status", "status": "Success"}
CUT = Unreachable("connection reset")
BROKEN = Refused(500, "InternalError", "something broke")
BUSY = Refused(429, "TooManyRequests", "later", 0.001)
CONFLICT = Refused(409, "Conflict", "try again")
DENIED = Refused(422, "Invalid", "ValidatingAdmissionPolicy 'keep' denied request")
NO_ROLE = Refused(
    403, "Forbidden", 'pods "a" is forbidden: User "h" cannot delete resource "pods" in API group ""'
)
NO_POD = Refused(404, "NotFound", "no pod")
BUDGET = Refused(429, "TooManyRequests", "it would violate the budget", 10, causes=["DisruptionBudget"])
MARKS = (
    {"type": "Ready", "status": "False", "reason": "Evict"},
    {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"},
)


def pod(uid: str = "uid-a", phase: str = "Running", marks: Any = (), **meta: Any) -> dict[str, Any]:
    status = {"phase": phase, "conditions": list(marks)}
    return {"metadata": {"name": "a", "namespace": "x", "uid": uid, **meta}, "status": status}


LEAVING = pod(deletionTimestamp="2026-01-01T00:00:00Z")
MARKED = pod(marks=MARKS)


def evicted(
    *answers: Any,
    keeps_budgets: bool = False,
    is_doubtful: bool = False,
    why_not: str = "",
    leads: bool = True,
) -> tuple[End, ScriptedClient]:
    client, facts = ScriptedClient(*answers), Facts(Store())
    attempts = Attempts(
        client,  # type: ignore[arg-type]
        facts,
        may_write=lambda: leads,
        patience=5.0,
        pauses=PAUSES,
    )
    pen = Writer(client, facts, VirtualClock(), lambda: leads, pause=PAUSES[0])  # type: ignore[arg-type]
    evictor = Evictor(attempts, pen, lambda _: why_not, keeps_budgets=keeps_budgets)
    return asyncio.run(evictor.evict(EVICT, KNOWN, is_doubtful=is_doubtful)), client


def methods(client: ScriptedClient) -> str:
    return " ".join(method for method, _ in client.asked)


@pytest.mark.parametrize(
    ("title", "answers", "outcome", "asked"),
    [
        ("taken at once", [MARKED, DONE], WriteOutcome.CONFIRMED, "PATCH DELETE"),
        ("gone before it is marked", [NO_POD, NO_POD], WriteOutcome.GONE, "PATCH DELETE"),
        ("gone before it is deleted", [MARKED, NO_POD], WriteOutcome.GONE, "PATCH DELETE"),
        (
            "made anew under its name",
            [CONFLICT, CONFLICT, pod("other")],
            WriteOutcome.GONE,
            "PATCH DELETE GET",
        ),
        (
            "deleted by another client",
            [MARKED, CONFLICT, LEAVING],
            WriteOutcome.CONFIRMED,
            "PATCH DELETE GET",
        ),
        (
            "it ended by itself",
            [MARKED, CONFLICT, pod(phase="Succeeded")],
            WriteOutcome.GONE,
            "PATCH DELETE GET",
        ),
        (
            "a conflict",
            [MARKED, CONFLICT, MARKED, MARKED, pod()],
            WriteOutcome.REFUSED,
            "PATCH DELETE GET GET PATCH",
        ),
        ("denied", [MARKED, DENIED, MARKED, pod()], WriteOutcome.REFUSED, "PATCH DELETE GET PATCH"),
        (
            "a role is missing",
            [MARKED, NO_ROLE, MARKED, pod()],
            WriteOutcome.FORBIDDEN,
            "PATCH DELETE GET PATCH",
        ),
        ("its marks are denied", [DENIED, pod()], WriteOutcome.REFUSED, "PATCH GET"),
        ("put off, then taken", [MARKED, BUSY, DONE], WriteOutcome.CONFIRMED, "PATCH DELETE DELETE"),
        ("no answer, but deleted", [MARKED, CUT, LEAVING], WriteOutcome.CONFIRMED, "PATCH DELETE GET"),
        ("no answer, and gone", [MARKED, CUT, CUT, NO_POD], WriteOutcome.GONE, "PATCH DELETE GET GET"),
        (
            "no answer, not deleted",
            [MARKED, CUT, MARKED, DONE],
            WriteOutcome.CONFIRMED,
            "PATCH DELETE GET DELETE",
        ),
        ("broke after deleting", [MARKED, BROKEN, LEAVING], WriteOutcome.CONFIRMED, "PATCH DELETE GET"),
    ],
)
def test_an_eviction_ends_as_the_facts_are(
    title: str, answers: list[Any], outcome: WriteOutcome, asked: str
) -> None:
    end, client = evicted(*answers)
    assert (end.outcome, methods(client)) == (outcome, asked), title


def test_only_the_pod_of_this_uid_is_deleted() -> None:
    _, client = evicted(MARKED, DONE)
    assert client.bodies[1]["preconditions"] == {"uid": "uid-a"}
    _, client = evicted(DONE, keeps_budgets=True)
    assert client.bodies[0]["deleteOptions"]["preconditions"] == {"uid": "uid-a"}


def test_the_conditions_of_a_pod_that_stays_are_what_they_were() -> None:
    _, client = evicted(MARKED, DENIED, MARKED, pod())
    assert client.bodies[-1] == {
        "metadata": {"uid": "uid-a"},
        "status": {
            "conditions": [
                {"reason": None, "message": None, "type": "Ready", "status": "True"},
                {"type": "DisruptionTarget", "$patch": "delete"},
            ]
        },
    }


def test_a_condition_that_has_changed_since_is_left_alone() -> None:
    ready_again = ({"type": "Ready", "status": "True", "reason": ""}, MARKS[1])
    _, client = evicted(MARKED, DENIED, pod(marks=ready_again), pod())
    assert client.bodies[-1]["status"]["conditions"] == [{"type": "DisruptionTarget", "$patch": "delete"}]


def test_a_pod_that_was_refused_before_is_marked_only_after_a_dry_run() -> None:
    end, client = evicted(DENIED, is_doubtful=True)
    assert (end.outcome, methods(client)) == (WriteOutcome.REFUSED, "DELETE")
    assert client.bodies[0]["dryRun"] == ["All"]
    end, client = evicted(pod(), MARKED, DONE, is_doubtful=True)
    assert (end.outcome, methods(client)) == (WriteOutcome.CONFIRMED, "DELETE PATCH DELETE")
    assert "dryRun" not in client.bodies[-1]


def test_a_budget_that_would_be_violated_refuses_and_says_for_how_long() -> None:
    end, client = evicted(BUDGET, keeps_budgets=True)
    assert (end.outcome, end.retry_after) == (WriteOutcome.REFUSED, 10)
    assert client.asked == [("POST", "/api/v1/namespaces/x/pods/a/eviction")]
    end, client = evicted(BUSY, DONE, keeps_budgets=True)
    assert (end.outcome, methods(client)) == (WriteOutcome.CONFIRMED, "POST POST")


def test_nothing_is_sent_by_a_replica_that_does_not_lead_or_against_the_facts() -> None:
    for end, client in (
        evicted(leads=False),
        evicted(leads=False, keeps_budgets=True),
        evicted(why_not="it is gone", keeps_budgets=True),
    ):
        assert (end.outcome, client.asked) == (WriteOutcome.SUPERSEDED, [])
