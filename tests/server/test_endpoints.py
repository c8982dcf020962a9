"""What the process answers to Prometheus, the kubelet and people."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest

from fakes.http_api import HttpApi
from hekla.clock import stopwatch
from hekla.cluster.kubernetes.api.lease import LeaseOptions
from hekla.engine.framework.plugin import Plugin
from hekla.errors import InputError
from hekla.objects import Manifest, Pod, PodGroup
from hekla.scheduler.builtin import BUILTIN
from hekla.server.endpoints import Address, read_address
from hekla.server.server import Server
from hekla.testing import job, node, queue, stamped
from server.serving import ANY, ask, ready, serving, until, until_status

OBJECTS: Sequence[Manifest] = stamped(
    [queue("root"), queue("default"), node("n1"), *job("a", tasks=2, cpu=1).objects]
)


def play(part: Coroutine[Any, Any, None]) -> None:
    asyncio.run(part)


def test_metrics_tell_of_cycles_and_binds() -> None:
    async def part() -> None:
        async with HttpApi(*OBJECTS) as api, serving(api) as server:
            await until(lambda: all(api.find(Pod, f"default/a-{n}")["spec"].get("nodeName") for n in (0, 1)))
            await until(lambda: not server.cluster.binding.open)
            status, page = await ask(server, "/metrics")
            assert status == 200
            assert 'hekla_binds_total{outcome="confirmed"} 2.0' in page
            assert "hekla_intents_total 2.0" in page
            assert "hekla_open_intents 0.0" in page
            assert 'hekla_objects{kind="Pod"} 2.0' in page
            assert 'hekla_lists_total{kind="Pod"} 1.0' in page
            assert "hekla_is_leader 1.0" in page
            assert "hekla_config_last_reload_success 1.0" in page
            assert f'hekla_config_info{{hash="{server.conf_file.hash}"}} 1.0' in page
            assert 'volcano_task_scheduling_latency_milliseconds_count{stage="Bound"} 2.0' in page
            assert 'volcano_e2e_job_scheduling_last_time{job_name="a"' in page
            api.remove(Pod, "default/a-0")
            api.remove(Pod, "default/a-1")
            api.remove(PodGroup, "default/a")
            cycles = server.cycles
            await until(lambda: server.cycles > cycles + 2)
            await asyncio.sleep(0.2)
            assert 'job_name="a"' not in (await ask(server, "/metrics"))[1]

    play(part())


def test_readiness_waits_for_the_first_lists_and_says_for_which() -> None:
    async def part() -> None:
        async with HttpApi(*OBJECTS) as api:
            api.hold("nodes")
            async with serving(api) as server:
                await until(
                    lambda: sum(not r.health.synced.is_set() for r in server.cluster.reflectors.values()) == 1
                )
                assert await ask(server, "/readyz") == (
                    503,
                    "[-]in-sync failed: not listed yet: Node\nreadyz check failed\n",
                )
                assert (await ask(server, "/livez"))[0] == (await ask(server, "/healthz"))[0] == 200
                api.let_go()
                await ready(server)
                assert await ask(server, "/readyz") == (200, "ok\n")
                assert await ask(server, "/readyz?verbose") == (
                    200,
                    "[+]in-sync ok\n[+]api-server ok\n[+]permissions ok\n[+]cycle ok\n[+]objects ok\n"
                    "[+]recording ok\n[+]configuration ok\n[+]leadership ok: leads\nreadyz check passed\n",
                )

    play(part())


def test_a_silent_api_server_makes_it_unready() -> None:
    async def part() -> None:
        async with HttpApi(*OBJECTS) as api, serving(api, staleness_limit=0.1) as server:
            await ready(server)
            reflector = next(iter(server.cluster.reflectors.values()))
            reflector._heard = lambda: ""  # type: ignore[method-assign]
            health = reflector.health
            health.trouble, health.heard_at = "no answer from the server", stopwatch() - 75
            status, text = await ask(server, "/readyz")
            assert status == 503
            assert "[-]api-server failed: not heard of for 75 s (Node): no answer from the server" in text

    play(part())


def test_a_replica_that_stands_by_is_ready() -> None:
    async def part() -> None:
        lease = LeaseOptions(retry_period=0.05)
        async with HttpApi(*OBJECTS) as api:
            api.absent.add("leases")  # nobody ever leads
            async with serving(api, lease=lease) as server:
                await ready(server)
                status, text = await ask(server, "/readyz?verbose")
                assert (status, server.leads, server.cycles) == (200, False, 0)
                assert "[+]leadership ok: stands by" in text
                assert "hekla_is_leader 0.0" in (await ask(server, "/metrics"))[1]

    play(part())


def test_a_missing_permission_makes_it_unready_until_it_is_granted() -> None:
    async def part() -> None:
        async with HttpApi(*OBJECTS) as api:
            api.denied.add(("create", "pods/binding"))
            async with serving(api) as server:
                await until(lambda: bool(server.permissions.missing))
                await server.cluster.synced()
                assert await ask(server, "/readyz") == (
                    503,
                    "[-]permissions failed: may not create pods/binding\nreadyz check failed\n",
                )
                assert "hekla_missing_permissions 1.0" in (await ask(server, "/metrics"))[1]
                await until(lambda: server.cycles > 0)  # deciding goes on
                api.denied.clear()
                await server.permissions.ask(server._needs())
                assert (await ask(server, "/readyz"))[0] == 200
                # One that is taken away later is noticed with the first write that is forbidden.
                api.denied.add(("create", "pods/binding"))
                server.cluster.attempts.on_forbidden()
                await until(lambda: bool(server.permissions.missing))
                assert (await ask(server, "/readyz"))[0] == 503

    play(part())


def test_a_refused_configuration_is_a_warning(tmp_path: Path) -> None:
    async def part() -> None:
        file = tmp_path / "scheduler.conf"
        file.write_text('actions: "allocate"\ntiers:\n- plugins:\n  - name: gang\n')
        async with HttpApi(*OBJECTS) as api, serving(api, conf_file=file) as server:
            await ready(server)
            file.write_text('actions: "alocate"\n')
            await until(lambda: not server.conf_file.is_good)
            status, text = await ask(server, "/readyz?verbose")
            assert status == 200
            assert "[!]configuration warning: " in text
            assert "hekla_config_last_reload_success 0.0" in (await ask(server, "/metrics"))[1]

    play(part())


class Broken(Plugin):
    name = "gang"

    def on_open(self) -> None:
        raise RuntimeError("no idea")


def test_cycles_that_fail_make_it_unready() -> None:
    async def part() -> None:
        registry = BUILTIN.with_class(Broken)
        async with HttpApi(*OBJECTS) as api, serving(api, registry) as server:
            await until(lambda: server.failures > 1)
            status, text = await ask(server, "/readyz")
            assert status == 503
            assert "[-]cycle failed: " in text
            assert "no idea" in text

    play(part())


class Slow(Plugin):
    name = "slow"
    lets_go = threading.Event()

    def on_open(self) -> None:
        while not self.lets_go.is_set():
            sum(range(1000))


def test_health_is_answered_while_a_long_cycle_runs(tmp_path: Path) -> None:
    async def part() -> None:
        file = tmp_path / "scheduler.conf"
        file.write_text('actions: "allocate"\ntiers:\n- plugins:\n  - name: slow\n')
        async with HttpApi(*OBJECTS) as api, serving(api, BUILTIN.with_class(Slow), conf_file=file) as server:
            await until(server.cluster.lock.locked)
            try:
                for _ in range(3):
                    assert (await ask(server, "/livez"))[0] == 200
                assert server.cluster.lock.locked()
            finally:
                Slow.lets_go.set()

    play(part())


class Hanging(Plugin):
    name = "slow"
    lets_go = threading.Event()

    def on_open(self) -> None:
        self.lets_go.wait(20)


def test_an_engine_that_hangs_is_not_alive(tmp_path: Path) -> None:
    async def part() -> None:
        file = tmp_path / "scheduler.conf"
        file.write_text('actions: "allocate"\ntiers:\n- plugins:\n  - name: slow\n')
        Hanging.lets_go.clear()
        registry = BUILTIN.with_class(Hanging)
        async with (
            HttpApi(*OBJECTS) as api,
            serving(api, registry, conf_file=file, stall_limit=0.2) as server,
        ):
            try:
                await until_status(server, "/livez", 503)
                for path in ("/livez", "/healthz", "/readyz"):
                    status, text = await ask(server, path)
                    assert (status, "no cycle has ended for 0 s" in text) == (503, True)
            finally:
                Hanging.lets_go.set()
            await until_status(server, "/livez", 200)

    play(part())


def test_who_stands_by_or_cannot_trust_the_facts_is_alive() -> None:
    async def part(lease: LeaseOptions | None, staleness: float) -> None:
        async with HttpApi(*OBJECTS) as api:
            api.absent.add("leases")
            options = {"lease": lease, "staleness_limit": staleness, "stall_limit": 0.1}
            async with serving(api, **options) as server:
                await until(lambda: server.moved_at is not None)
                for reflector in server.cluster.reflectors.values():
                    reflector._heard = lambda: ""  # type: ignore[method-assign]
                    reflector.health.trouble = "no answer from the server"
                await asyncio.sleep(0.1)
                cycles = server.cycles
                await asyncio.sleep(0.5)
                assert server.cycles == cycles
                assert (await ask(server, "/livez"))[0] == 200

    play(part(LeaseOptions(retry_period=0.05), 60.0))
    play(part(None, -1.0))


def test_nobody_can_send_anything() -> None:
    async def part() -> None:
        async with HttpApi() as api, serving(api) as server:
            assert (await ask(server, "/metrics", "POST", b"x" * 100_000))[0] == 405
            assert (await ask(server, "/healthz", "DELETE"))[0] == 405
            assert (await ask(server, "/readyz?verbose&" + "x" * 20_000))[0] == 400

    play(part())


def test_a_port_in_use_is_one_clear_error() -> None:
    async def part(port: int) -> None:
        async with HttpApi() as api:
            for option in ("metrics_address", "health_address"):
                with pytest.raises(InputError, match=f'"127.0.0.1:{port}" cannot be used: another process'):
                    async with serving(api, **{option: f"127.0.0.1:{port}"}):
                        pass

    with socket.create_server(("127.0.0.1", 0)) as taken:
        asyncio.run(part(taken.getsockname()[1]))


def test_equal_addresses_share_a_listener_and_others_do_not() -> None:
    async def part() -> None:
        async with HttpApi() as api:
            async with serving(api) as server:
                assert len({place(server, path) for path in server.endpoints.addresses}) == 1
            async with serving(api, health_address="localhost:0") as server:
                assert place(server, "/metrics") != place(server, "/healthz")
            async with serving(api, health_address="") as server:
                assert set(server.endpoints.addresses) == {"/metrics"}

    def place(server: Server, path: str) -> str:
        return server.endpoints.addresses[path].removesuffix(path)

    play(part())


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        (":8080", None, 8080),
        (ANY, "127.0.0.1", 0),
        ("[::1]:11251", "::1", 11251),
        ("localhost:1", "localhost", 1),
    ],
)
def test_addresses(text: str, host: str | None, port: int) -> None:
    assert read_address(text, "--listen-address") == Address(host, port)


@pytest.mark.parametrize("text", ["8080", "127.0.0.1", "localhost:http", ":70000", ":-1"])
def test_addresses_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="--listen-address"):
        read_address(text, "--listen-address")
