"""Deletions mean one object, and a conflict is no success."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from cluster.kubernetes.api.scripted import ScriptedClient
from cluster.kubernetes.scenes import pod
from hekla.clock import VirtualClock
from hekla.cluster.kubernetes.api.client import Refused
from hekla.cluster.kubernetes.facts import Facts
from hekla.cluster.kubernetes.writer import Writer
from hekla.cluster.store import Store
from hekla.objects import Manifest, Pod, PodGroup, VolcanoCommand, VolcanoJob

CONFLICT = Refused(409, "Conflict", "the object has been modified")
LEAVING = replace(
    pod("a"), metadata=replace(pod("a").metadata, deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC))
)
MADE_ANEW = replace(pod("a"), metadata=replace(pod("a").metadata, uid="other"))


def deleted(answer: object, known: Pod | None, kind: type[Manifest] = Pod) -> tuple[bool, ScriptedClient]:
    client, facts = ScriptedClient(answer), Facts(Store())  # type: ignore[arg-type]
    if known is not None:
        facts.put(known)
    writer = Writer(client, facts, VirtualClock())  # type: ignore[arg-type]
    return asyncio.run(writer.delete(kind, "x/a", "a")), client


@pytest.mark.parametrize("kind", [Pod, PodGroup, VolcanoCommand, VolcanoJob])
def test_only_the_object_of_this_uid_is_deleted(kind: type[Manifest]) -> None:
    was_there, client = deleted({"kind": "Status"}, None, kind)
    assert was_there
    assert client.bodies[0]["preconditions"] == {"uid": "a"}


@pytest.mark.parametrize("known", [None, LEAVING, MADE_ANEW], ids=["gone", "leaving", "made anew"])
def test_a_conflict_over_what_is_gone_anyway_is_no_trouble(known: Pod | None) -> None:
    assert not deleted(CONFLICT, known)[0]


def test_a_conflict_over_what_stays_is_a_refusal() -> None:
    with pytest.raises(Refused, match="has been modified"):
        deleted(CONFLICT, pod("a"))
