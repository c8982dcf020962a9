"""Leases: one leads, and knows when it does not."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from typing import Any

import pytest

from hekla.clock import VirtualClock
from hekla.cluster.kubernetes.api import lease as leases
from hekla.cluster.kubernetes.api.client import Refused, Unreachable
from hekla.cluster.kubernetes.api.lease import Leadership, LeaseOptions
from hekla.errors import InputError

OPTIONS = LeaseOptions(duration=15, renew_deadline=10, retry_period=2)


class LeaseServer:
    """Keeps one Lease as an API server would: a write from an older version is refused."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.is_up = True

    async def get(self, path: str) -> bytes:
        self._check()
        if self.lease is None:
            raise Refused(404, "NotFound", "no lease")
        return json.dumps(self.lease).encode()

    async def post(self, path: str, body: dict[str, Any]) -> bytes:
        self._check()
        if self.lease is not None:
            raise Refused(409, "AlreadyExists", "there is one")
        return self._keep(body, 1)

    async def put(self, path: str, body: dict[str, Any]) -> bytes:
        self._check()
        assert self.lease is not None
        if body["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            raise Refused(409, "Conflict", "somebody was quicker")
        return self._keep(body, int(self.lease["metadata"]["resourceVersion"]) + 1)

    def give_to(self, holder: str) -> None:
        """Another replica has taken the Lease."""
        assert self.lease is not None
        spec = self.lease["spec"] | {"holderIdentity": holder, "renewTime": "later"}
        self._keep({**self.lease, "spec": spec}, int(self.lease["metadata"]["resourceVersion"]) + 1)

    def _keep(self, body: dict[str, Any], version: int) -> bytes:
        self.lease = {**body, "metadata": {**body["metadata"], "resourceVersion": str(version)}}
        return b"{}"

    def _check(self) -> None:
        if not self.is_up:
            raise Unreachable("down")


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The stopwatch, set by hand."""
    now = [100.0]
    monkeypatch.setattr(leases, "stopwatch", lambda: now[0])
    return now


def contender(server: LeaseServer, name: str) -> Leadership:
    return Leadership(server, name, OPTIONS, VirtualClock(1000.0))  # type: ignore[arg-type]


def attempt(one: Leadership) -> bool:
    with contextlib.suppress(Refused, Unreachable):
        asyncio.run(one._try())
    return one.leads


def test_the_first_leads_and_the_second_waits(time: list[float]) -> None:
    server = LeaseServer()
    one, two = contender(server, "one"), contender(server, "two")
    assert attempt(one)
    assert not attempt(two)
    assert two.holder == "one"


def test_a_leader_that_cannot_renew_stops_leading_before_another_may(time: list[float]) -> None:
    server = LeaseServer()
    one, two = contender(server, "one"), contender(server, "two")
    attempt(one)
    attempt(two)
    time[0] += OPTIONS.renew_deadline + 0.1
    assert not one.leads
    assert not attempt(two)
    time[0] += OPTIONS.duration
    assert attempt(two)
    assert not attempt(one)


def test_a_renewal_seen_by_the_other_starts_its_waiting_anew(time: list[float]) -> None:
    server = LeaseServer()
    one, two = contender(server, "one"), contender(server, "two")
    attempt(one)
    for moment in range(1, 5):
        attempt(two)
        time[0] += 6
        one._clock.sleep(moment)
        assert attempt(one)
    assert not attempt(two)


def test_a_lease_that_was_given_back_is_taken_at_once(time: list[float]) -> None:
    server = LeaseServer()
    one, two = contender(server, "one"), contender(server, "two")
    attempt(one)
    asyncio.run(one.release())
    assert not one.leads
    assert attempt(two)


def test_of_two_that_take_a_stale_lease_at_the_same_time_one_loses(time: list[float]) -> None:
    server = LeaseServer()
    one, two, three = (contender(server, name) for name in ("one", "two", "three"))
    attempt(one)
    attempt(two)
    attempt(three)
    time[0] += OPTIONS.duration + 1
    old = asyncio.run(three._read())
    assert old is not None
    assert attempt(two)
    with pytest.raises(Refused):
        asyncio.run(three._write(old, is_new=True))


def test_time_during_an_outage_counts_against_the_leader(time: list[float]) -> None:
    server = LeaseServer()
    one = contender(server, "one")
    attempt(one)
    server.is_up = False
    time[0] += 9
    assert attempt(one)
    time[0] += 1.5
    assert not attempt(one)


class SlowLeaseServer(LeaseServer):
    """Stores a write at once, and takes its time to say so."""

    def __init__(self, time: list[float], seconds: float) -> None:
        super().__init__()
        self._time = time
        self._seconds = seconds

    def _keep(self, body: dict[str, Any], version: int) -> bytes:
        answer = super()._keep(body, version)
        self._time[0] += self._seconds
        return answer


def test_a_lease_is_valid_from_the_request_not_from_the_answer(time: list[float]) -> None:
    one = contender(SlowLeaseServer(time, 4), "one")
    for _ in ("made", "renewed"):
        began = time[0]
        assert attempt(one)
        time[0] = began + OPTIONS.renew_deadline - 0.1
        assert one.leads
        time[0] = began + OPTIONS.renew_deadline + 0.1
        assert not one.leads


def test_a_leader_that_sees_another_holder_stops_at_once(time: list[float]) -> None:
    server = LeaseServer()
    one = contender(server, "one")
    assert attempt(one)
    server.give_to("two")
    assert not attempt(one)
    assert one.holder == "two"


def test_a_leader_whose_renewal_is_refused_for_another_holder_stops_at_once(time: list[float]) -> None:
    server = LeaseServer()
    one = contender(server, "one")
    assert attempt(one)
    put = server.put

    async def too_late(path: str, body: dict[str, Any]) -> bytes:
        server.give_to("two")
        return await put(path, body)

    server.put = too_late  # type: ignore[method-assign]
    assert not attempt(one)
    assert one.holder == "two"


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ((10, 10, 2), 'the lease duration "10s" must be longer than the renew deadline "10s"'),
        ((5, 10, 2), 'the lease duration "5s" must be longer than the renew deadline "10s"'),
        ((15, 2, 2), 'the renew deadline "2s" must be longer than the retry period "2s" times 1.2'),
        ((15, 2.4, 2), 'the renew deadline "2.4s" must be longer than the retry period "2s" times 1.2'),
        ((15, 10, 0), 'the retry period "0s" must be longer than 0s'),
    ],
)
def test_times_that_contradict_each_other_are_refused(times: tuple[float, float, float], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        LeaseOptions("here", "volcano", *times)


def test_others_wait_for_whole_seconds_and_never_for_less_than_the_leader_counts_on(
    time: list[float],
) -> None:
    server = LeaseServer()
    options = LeaseOptions(duration=2.9, renew_deadline=2.5, retry_period=1)
    attempt(Leadership(server, "one", options, VirtualClock(1000.0)))  # type: ignore[arg-type]
    assert server.lease is not None
    assert server.lease["spec"]["leaseDurationSeconds"] == 3
