"""One bind, whatever the server answers: it ends in exactly one way, and never twice."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cluster.kubernetes.api.scripted import ScriptedClient
from hekla.cluster.kubernetes.api.client import Refused, Unreachable
from hekla.cluster.kubernetes.binding import Binder, Intent
from hekla.cluster.kubernetes.facts import Facts
from hekla.cluster.kubernetes.intents import Attempts, WriteOutcome
from hekla.cluster.store import Store

INTENT = Intent("x/a", "uid-a", "n1", "x/job")
CREATED: dict[str, Any] = {"kind": "Status", "status": "Success"}
CONFLICT = Refused(409, "Conflict", "pod a is already assigned to node")
CUT = Unreachable("connection reset")
BROKEN = Refused(500, "InternalError", "something broke")
BUSY = Refused(429, "TooManyRequests", "later", 0.001)
NO_ROLE = Refused(
    403,
    "Forbidden",
    'pods "a" is forbidden: User "hekla" cannot create resource "pods/binding" in API group ""',
)
DENIED = 'pods "a" is forbidden: ValidatingAdmissionPolicy \'quiet\' denied request: User "x" cannot do that'
ENDING = Refused(
    403, "Forbidden", 'pods "a" is forbidden: unable to create new content', causes=["NamespaceTerminating"]
)


def pod(node: str = "", uid: str = "uid-a", **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", "namespace": "x", "uid": uid, **meta}, "spec": {"nodeName": node}}


LEAVING = pod(deletionTimestamp="2026-01-01T00:00:00Z")


def bound(
    *answers: Any, patience: float = 5.0, why_not: str = "", leads: bool = True
) -> tuple[WriteOutcome, list[str]]:
    """How it ended, and what was asked of the server."""
    client = ScriptedClient(*answers)
    attempts = Attempts(
        client,  # type: ignore[arg-type]
        Facts(Store()),
        may_write=lambda: leads,
        patience=patience,
        pauses=(0.0001, 0.0002),
    )
    end = asyncio.run(Binder(attempts, lambda _: why_not).bind(INTENT))
    return end.outcome, [method for method, _ in client.asked]


@pytest.mark.parametrize(
    ("title", "answers", "outcome", "asked"),
    [
        ("taken at once", [CREATED], WriteOutcome.CONFIRMED, "POST"),
        ("already bound to our node", [CONFLICT, pod("n1")], WriteOutcome.CONFIRMED, "POST GET"),
        ("already bound elsewhere", [CONFLICT, pod("n2")], WriteOutcome.ADOPTED, "POST GET"),
        ("made anew under its name", [CONFLICT, pod(uid="other")], WriteOutcome.GONE, "POST GET"),
        ("on its way out", [CONFLICT, LEAVING], WriteOutcome.GONE, "POST GET"),
        ("a conflict for another reason", [CONFLICT, pod()], WriteOutcome.REFUSED, "POST GET"),
        ("deleted", [Refused(404, "NotFound", "no pod")], WriteOutcome.GONE, "POST"),
        ("put off, then taken", [BUSY, BUSY, CREATED], WriteOutcome.CONFIRMED, "POST POST POST"),
        ("no answer, but stored", [CUT, pod("n1")], WriteOutcome.CONFIRMED, "POST GET"),
        ("no answer, and not stored", [CUT, pod(), CREATED], WriteOutcome.CONFIRMED, "POST GET POST"),
        ("broke after storing", [BROKEN, pod("n1")], WriteOutcome.CONFIRMED, "POST GET"),
        ("no answer for a while", [CUT, CUT, BROKEN, pod("n1")], WriteOutcome.CONFIRMED, "POST GET GET GET"),
        (
            "stored by a server that then forgot its roles",
            [CUT, NO_ROLE, pod("n1")],
            WriteOutcome.CONFIRMED,
            "POST GET GET",
        ),
        ("a role is missing", [NO_ROLE], WriteOutcome.FORBIDDEN, "POST"),
        ("a policy denies it", [Refused(403, "Forbidden", DENIED)], WriteOutcome.REFUSED, "POST"),
        ("its namespace is being deleted", [ENDING], WriteOutcome.GONE, "POST"),
        ("nonsense", [Refused(422, "Invalid", "no")], WriteOutcome.REFUSED, "POST"),
    ],
)
def test_a_bind_ends_as_the_facts_are(
    title: str, answers: list[Any], outcome: WriteOutcome, asked: str
) -> None:
    assert bound(*answers) == (outcome, asked.split()), title


def test_a_bind_that_is_put_off_for_too_long_expires() -> None:
    assert bound(*[BUSY] * 50, patience=0.0)[0] is WriteOutcome.EXPIRED


def test_nothing_is_sent_by_a_replica_that_does_not_lead() -> None:
    assert bound(CREATED, leads=False) == (WriteOutcome.SUPERSEDED, [])


def test_nothing_is_sent_against_the_newest_facts() -> None:
    assert bound(CREATED, why_not="the node is gone") == (WriteOutcome.SUPERSEDED, [])
