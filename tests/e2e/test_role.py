"""The roles against what a whole run has asked of the API server: nothing is missing, nothing too much.

These tests run last, for the log is then complete.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from harness import ControlPlane, Object
from harness.audit import Audited
from hekla.server.deploy.manifests import read_part

MANIFESTS = Path(__file__).parents[2] / "src" / "hekla" / "server" / "deploy" / "manifests"
Right = tuple[str, str, str]
"""Verb, API group, resource."""

READERS = {"hekla-reader"}
OUTSIDERS = {"nobody", "stranger"}
"""They are given rights of their own, or none."""
PARTS = sorted(folder.name for folder in MANIFESTS.iterdir() if folder.name != "crds")

# Granted although no test needs it, and why.
SELDOM_USED: dict[Right, str] = {
    ("update", "batch.volcano.sh", "jobs/finalizers"): "asked for by the admission plugin "
    "OwnerReferencesPermissionEnforcement, where it is on, of whoever makes objects that belong to a Job",
}
LOOKED_AT = "an audit looks at the object itself where list and watch disagree on it"
# Asked for although it is not granted, and why.
ASKED_IN_VAIN: dict[Right, str] = {
    ("get", "", "configmaps"): "--conf-from-cluster of somebody who may not read that ConfigMap is told so",
}


def roles() -> list[Object]:
    return [thing for part in PARTS for thing in read_part(part) if thing["kind"] in ("ClusterRole", "Role")]


def granted(*, to_readers: bool) -> set[Right]:
    return {
        right
        for role in roles()
        if (role["metadata"]["name"] == "hekla-reader") == to_readers
        for rule in role["rules"]
        for right in product(rule["verbs"], rule["apiGroups"], rule["resources"])
    }


def asked(plane: ControlPlane, *, by_readers: bool) -> set[Right]:
    """What hekla has asked for, whatever the answer."""
    return {
        (request.verb, request.group, request.resource)
        for request in plane.audit.read()
        if is_ours(request) and (request.user in READERS) == by_readers
    }


def is_ours(request: Audited) -> bool:
    return request.agent.startswith("hekla") and request.user not in OUTSIDERS


def seldom_used(rights: set[Right]) -> set[Right]:
    """The rights that need no proof; a `get` of all that is watched is one of them."""
    looked_at = {("get", group, resource) for verb, group, resource in rights if verb == "watch"}
    return looked_at | SELDOM_USED.keys()


def test_the_scheduler_asks_for_nothing_that_it_is_not_granted(plane: ControlPlane) -> None:
    assert asked(plane, by_readers=False) - granted(to_readers=False) == set()


def test_readers_ask_for_nothing_that_they_are_not_granted(plane: ControlPlane) -> None:
    assert asked(plane, by_readers=True) - granted(to_readers=True) - ASKED_IN_VAIN.keys() == set()


@pytest.mark.usefixtures("whole_run")
def test_the_scheduler_is_granted_nothing_that_it_does_not_use(plane: ControlPlane) -> None:
    rights = granted(to_readers=False)
    assert rights - asked(plane, by_readers=False) - seldom_used(rights) == set()
    assert SELDOM_USED.keys() <= rights, "what is not granted needs no reason"


@pytest.mark.usefixtures("whole_run")
def test_readers_are_granted_nothing_that_they_do_not_use(plane: ControlPlane) -> None:
    assert granted(to_readers=True) - asked(plane, by_readers=True) == set()
