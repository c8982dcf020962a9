"""What a refusal means: a role is missing, one object is not wanted, or the server asks for patience."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from fakes.http_api import Settings
from hekla.cluster.kubernetes.api.access import Access
from hekla.cluster.kubernetes.api.client import Client, Refused

POD = 'pods "a" is forbidden: '


@pytest.mark.parametrize(
    ("status", "message", "is_missing"),
    [
        (
            403,
            POD + 'User "hekla" cannot create resource "pods/binding" in API group "" in the namespace "x"',
            True,
        ),
        (403, 'nodes is forbidden: User "system:serviceaccount:a:b" cannot list resource "nodes"', True),
        (401, "Unauthorized", True),
        (403, POD + "unable to create new content in namespace x because it is being terminated", False),
        (403, POD + "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", False),
        (403, POD + "exceeded quota: q, requested: pods=1", False),
        (
            403,
            'admission webhook "w" denied the request: x is forbidden: User "u" cannot create resource',
            False,
        ),
        (422, POD + 'User "hekla" cannot create resource', False),
    ],
)
def test_only_the_form_of_a_missing_permission_is_taken_for_one(
    status: int, message: str, is_missing: bool
) -> None:
    assert Refused(status, "Forbidden", message).lacks_permission is is_missing


def refused(status: int, **body: Any) -> Refused:
    """What a client makes of an answer."""

    async def ask() -> Refused:
        async def answer(_: web.Request) -> web.Response:
            return web.json_response({"kind": "Status", **body}, status=status)

        app = web.Application()
        app.router.add_get("/x", answer)
        async with (
            TestServer(app) as server,
            Client(Access(lambda: Settings(str(server.make_url(""))))) as client,
        ):
            with pytest.raises(Refused) as caught:
                await client.get("/x")
        return caught.value

    return asyncio.run(ask())


def test_the_causes_of_an_answer_are_read() -> None:
    ending = refused(
        403, message="no", details={"causes": [{"reason": "NamespaceTerminating", "field": "x"}]}
    )
    assert ending.is_namespace_ending
    budget = refused(429, message="no", details={"causes": [{"reason": "DisruptionBudget"}]})
    assert not budget.is_busy
    busy = refused(429, message="later", details={"retryAfterSeconds": 3})
    assert (busy.is_busy, busy.retry_after) == (True, 3)
