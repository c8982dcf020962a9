"""What the process needs to be allowed, and how it says what is missing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import product

import pytest

from cluster.kubernetes.api.scripted import ScriptedClient
from fakes.http_api import HttpApi
from hekla.cluster.kubernetes.api.client import Client, Refused
from hekla.cluster.kubernetes.api.lease import LeaseOptions
from hekla.cluster.kubernetes.cluster import WATCHED
from hekla.cluster.kubernetes.controllers import ALSO_WATCHED
from hekla.conf import Conf
from hekla.server.deploy.manifests import read_part
from hekla.server.permissions import REVIEWS, Permission, Permissions, needed
from hekla.testing import conf_of
from server.serving import until

PLAIN = conf_of("enqueue, allocate, backfill", ["gang"])
GATES = {"allocate": {"schedulingGatesQueueAdmission": "true"}}


def words(conf: object = PLAIN, lease: LeaseOptions | None = None, **options: bool) -> set[str]:
    return {str(one) for one in needed(WATCHED, conf, lease, **options)}  # type: ignore[arg-type]


def test_placing_alone_takes_little() -> None:
    said = words()
    assert {
        "list pods",
        "watch podgroups.scheduling.volcano.sh",
        "create pods/binding",
        "patch pods/status",
        "patch queues.scheduling.volcano.sh/status",
        "create events",
    } <= said
    assert not said & {"delete pods", "patch pods", "create pods"}


def test_what_is_configured_decides_what_more_is_needed() -> None:
    plain = words()
    for action in ("preempt", "reclaim", "shuffle", "gangpreempt", "gangreclaim"):
        assert words(conf_of(f"allocate, {action}", ["gang"])) - plain == {"delete pods"}
        by_api = words(conf_of(f"allocate, {action}", ["gang"]), keeps_budgets=True)
        assert by_api - plain == {"create pods/eviction"}
    assert words(evicts=True) - plain == {"delete pods"}
    assert words(keeps_budgets=True) == plain
    assert words(conf_of("allocate", ["gang"], GATES)) - plain == {"patch pods"}
    assert words(is_sharded=True) - plain == {"patch nodeshards.shard.volcano.sh/status"}
    assert words(lease=LeaseOptions("ours", "volcano")) - plain == {
        'create leases.coordination.k8s.io in namespace "ours"',
        'get leases.coordination.k8s.io "volcano" in namespace "ours"',
        'update leases.coordination.k8s.io "volcano" in namespace "ours"',
    }
    assert {"create pods", "delete pods", "patch jobs.batch.volcano.sh/status"} <= words(
        with_controllers=True
    )


def granted(*parts: str) -> Iterator[tuple[str, str, str]]:
    """Verb, group and resource of everything that the roles of these parts allow."""
    for part in parts:
        for manifest in read_part(part):
            for rule in manifest.get("rules", ()):
                yield from product(rule["verbs"], rule["apiGroups"], rule["resources"])


@pytest.mark.parametrize(
    ("parts", "conf", "options"),
    [
        (["base"], PLAIN, {}),
        (["base", "evictions"], conf_of("allocate, preempt, reclaim, shuffle", ["gang"]), {}),
        (["base", "evictions"], PLAIN, {"evicts": True}),
        (["base", "eviction-api"], PLAIN, {"evicts": True, "keeps_budgets": True}),
        (["base", "scheduling-gates"], conf_of("allocate", ["gang"], GATES), {}),
        (["base", "controllers"], PLAIN, {"with_controllers": True}),
    ],
)
def test_the_roles_that_are_shipped_grant_all_that_is_needed(
    parts: list[str], conf: Conf, options: dict[str, bool]
) -> None:
    kinds = (*WATCHED, *(ALSO_WATCHED if "with_controllers" in options else ()))
    wanted = needed(kinds, conf, LeaseOptions(), is_sharded=True, **options)
    allowed = set(granted(*parts))
    assert [str(one) for one in wanted if (one.verb, one.group, one.resource) not in allowed] == []


def test_each_missing_one_is_told_once_and_so_is_its_return(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")

    async def part() -> None:
        async with HttpApi() as api, Client(api.access()) as client:
            api.denied |= {("create", "pods/binding"), ("watch", "queues")}
            permissions = Permissions(client, lambda: needed(WATCHED, PLAIN, None), period=0.02)
            running = asyncio.create_task(permissions.run())
            await until(lambda: len(permissions.missing) == 2)
            assert [str(one) for one in permissions.missing] == [
                "watch queues.scheduling.volcano.sh",
                "create pods/binding",
            ]
            api.denied.clear()
            await until(lambda: not permissions.missing)
            asked = len(api.reviewed)
            await asyncio.sleep(0.1)
            assert len(api.reviewed) == asked  # while nothing is missing, nothing is asked
            running.cancel()

    asyncio.run(part())
    lines = [record.getMessage() for record in caplog.records if record.name == "hekla.serve"]
    assert lines == [
        "may not watch queues.scheduling.volcano.sh: grant it, see deploy",
        "may not create pods/binding: grant it, see deploy",
        "may watch queues.scheduling.volcano.sh now",
        "may create pods/binding now",
    ]


def test_a_token_that_is_not_taken_any_more_is_told() -> None:
    client = ScriptedClient(by_path={REVIEWS: Refused(401, "Unauthorized", "Unauthorized")})
    permissions = Permissions(client, list)  # type: ignore[arg-type]
    asyncio.run(permissions.ask([Permission("list", "pods")]))
    assert permissions.rejection == "Unauthorized"


def test_who_may_not_even_ask_says_so_and_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    client = ScriptedClient(by_path={REVIEWS: Refused(403, "Forbidden", "no reviews for you")})
    permissions = Permissions(client, list)  # type: ignore[arg-type]
    for _ in range(2):
        asyncio.run(permissions.ask([Permission("list", "pods")]))
    assert (permissions.missing, permissions.trouble) == ([], "no reviews for you")
    assert caplog.text.count("may not ask what is allowed") == 1
