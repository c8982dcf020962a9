"""Every task that runs beside the cycles fails once, out of the blue; what then happens is in the docs."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from fakes.http_api import HttpApi
from hekla.cluster.kubernetes import KubernetesOptions
from hekla.cluster.kubernetes.api.client import Refused
from hekla.cluster.kubernetes.api.lease import Leadership, LeaseOptions
from hekla.cluster.kubernetes.api.reflector import Reflector, WatchPatience
from hekla.cluster.kubernetes.audit import Audit
from hekla.cluster.kubernetes.binding import Binds
from hekla.cluster.kubernetes.cluster import KubernetesCluster
from hekla.cluster.kubernetes.controllers import Controllers
from hekla.cluster.kubernetes.outbox import WriteRank
from hekla.cluster.kubernetes.volumes import Volumes
from hekla.errors import GaveUp
from hekla.insight.replay import CycleRecorder
from hekla.objects import Manifest, Pod, PodGroup
from hekla.server import endpoints as doors
from hekla.server import server as servers
from hekla.server.metrics import Metrics
from hekla.server.options import ConfFile
from hekla.server.permissions import Permissions
from hekla.server.server import Server
from hekla.testing import job, node, queue, stamped
from server.serving import ask, ready, serving, until

OBJECTS = stamped([queue("root"), queue("default"), node("n1", cpu=64), *job("a", cpu=1).objects])
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "background-tasks.md"
QUICK = WatchPatience(first_pause=0.01, longest_pause=0.02)
SCENES: dict[str, Callable[[pytest.MonkeyPatch, Path], Awaitable[None]]] = {}


def scene(name: str) -> Callable[[Any], Any]:
    """What happens when the task of this name fails."""

    def remembered(play: Any) -> Any:
        SCENES[name] = play
        return play

    return remembered


@pytest.mark.parametrize("name", re.findall(r"^\| ([a-z ]+) \|", PAGE.read_text("utf-8"), re.MULTILINE))
def test_a_task_that_fails(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def in_time() -> None:
        async with asyncio.timeout(20):
            await SCENES[name](monkeypatch, tmp_path)

    asyncio.run(in_time())


def test_every_scene_is_in_the_table() -> None:
    assert set(SCENES) == set(re.findall(r"^\| ([a-z ]+) \|", PAGE.read_text("utf-8"), re.MULTILINE))


def fails_once(
    patch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    if_: Callable[..., bool] = lambda *_, **__: True,
) -> list[int]:
    """The method raises when it is first called like that; how often it was, in a list."""
    real, calls = getattr(owner, name), [0]

    def wrapped(*given: Any, **also: Any) -> Any:
        if if_(*given, **also):
            calls[0] += 1
            if calls[0] == 1:
                raise RuntimeError("out of the blue")
        return real(*given, **also)

    patch.setattr(owner, name, wrapped)
    return calls


def is_bound(api: HttpApi, name: str) -> bool:
    return bool(api.find(Pod, f"default/{name}-0")["spec"].get("nodeName"))


async def schedules(api: HttpApi, name: str) -> None:
    """A new job is bound."""
    api.put(*stamped(job(name, cpu=1).objects))
    await until(lambda: is_bound(api, name))


def failures(server: Server) -> dict[str, int]:
    return dict(server.cluster.background.failures)


@scene("scheduling")
async def scheduling(patch: pytest.MonkeyPatch, _: Path) -> None:
    fails_once(patch, Server, "_is_fresh")
    async with HttpApi(*OBJECTS) as api:
        api.absent.add("leases")
        with pytest.raises(GaveUp, match="RuntimeError: out of the blue"):
            async with serving(api) as server:
                await until(lambda: server.is_stopping)


@scene("watch of a kind")
async def watch(patch: pytest.MonkeyPatch, _: Path) -> None:
    calls = fails_once(patch, Reflector, "_follow", lambda one, _: one._kind is Pod)
    async with HttpApi(*OBJECTS) as api, serving(api) as server:
        await until(lambda: calls[0] > 0)
        health = server.cluster.reflectors[Pod].health
        assert health.trouble == "following failed: RuntimeError: out of the blue"
        assert failures(server) == {"watch of pods": 1}
        await schedules(api, "b")
        assert (health.lists, health.trouble) == (2, "")


@scene("outbox")
async def outbox(patch: pytest.MonkeyPatch, _: Path) -> None:
    options = KubernetesOptions(in_flight=1, audit_period=0.0, patience=QUICK)
    async with HttpApi(*OBJECTS) as api, serving(api, cluster=options) as server:
        await until(lambda: is_bound(api, "a"))
        await until(lambda: server.cluster.outbox.is_empty)
        server.cluster.outbox._line.put_nowait((WriteRank.BIND, 0, "nobody put this"))
        await schedules(api, "b")
        assert failures(server) == {"outbox": 1}

        async def breaks() -> None:
            raise RuntimeError("out of the blue")

        server.cluster.outbox.put(WriteRank.BIND, "breaks", breaks)
        await schedules(api, "c")
        assert failures(server) == {"outbox": 1}


@scene("events")
async def events(patch: pytest.MonkeyPatch, _: Path) -> None:
    async with HttpApi(*OBJECTS) as api:
        api.refuse("POST", "/events", Refused(500, "Broken", "no events today"), 1)
        async with serving(api) as server:
            await until(lambda: server.cluster.recorder.lost == 1)
            assert "hekla_events_lost_total 1.0" in (await ask(server, "/metrics"))[1]
            await schedules(api, "b")


@scene("volumes of a pod")
async def volumes(patch: pytest.MonkeyPatch, _: Path) -> None:
    real, calls = Binds._send, [0]

    def with_volumes(self: Binds, intent: Any) -> None:
        calls[0] += 1
        if calls[0] > 1:
            return real(self, intent)
        pod = self._context.pod(intent.pod, intent.uid)
        assert pod is not None
        self._preparing.add(asyncio.create_task(self._after_volumes(intent, pod)))
        return None

    patch.setattr(Binds, "_send", with_volumes)
    fails_once(patch, Volumes, "prepare")
    options = KubernetesOptions(first_back_off=0.1, audit_period=0.0, patience=QUICK)
    async with HttpApi(*OBJECTS) as api, serving(api, cluster=options) as server:
        await until(lambda: is_bound(api, "a"))
        assert calls[0] == 2
        await until(lambda: not server.cluster.binding.open)
        assert {end.value: n for end, n in server.cluster.binding.ends.items()} == {
            "refused": 1,
            "confirmed": 1,
        }


@scene("audit")
async def audit(patch: pytest.MonkeyPatch, _: Path) -> None:
    rounds, runs = fails_once(patch, Audit, "audit"), fails_once(patch, Audit, "run")
    options = KubernetesOptions(audit_period=0.05, patience=QUICK)
    async with HttpApi(*OBJECTS) as api, serving(api, cluster=options) as server:
        await until(lambda: server.cluster.audit.rounds > 0)
        assert (rounds[0] > 1, runs[0], failures(server)) == (True, 2, {"audit": 1})
        await schedules(api, "b")


@scene("controllers")
async def controllers(patch: pytest.MonkeyPatch, _: Path) -> None:
    fails_once(patch, Controllers, "_wait_for_queues")
    async with HttpApi(*OBJECTS) as api, serving(api, with_controllers=True) as server:
        await until(lambda: server.controllers is not None and server.controllers.term is not None)
        assert failures(server) == {"controllers": 1}
        await schedules(api, "b")


@scene("lease renewal")
async def lease_renewal(patch: pytest.MonkeyPatch, _: Path) -> None:
    calls = fails_once(patch, Leadership, "_try")
    lease = LeaseOptions(duration=15, renew_deadline=10, retry_period=0.05)
    async with HttpApi(*OBJECTS) as api, serving(api, lease=lease) as server:
        await until(lambda: calls[0] > 1)
        assert failures(server) == {"lease renewal": 1}
        await until(lambda: server.leads)
        await schedules(api, "b")


@scene("permissions check")
async def permissions_check(patch: pytest.MonkeyPatch, _: Path) -> None:
    calls = fails_once(patch, Permissions, "ask")
    async with HttpApi(*OBJECTS) as api, serving(api) as server:
        await until(lambda: calls[0] > 1)
        assert failures(server) == {"permissions check": 1}
        await schedules(api, "b")


@scene("configuration")
async def configuration(patch: pytest.MonkeyPatch, folder: Path) -> None:
    file = folder / "scheduler.conf"
    file.write_text('actions: "enqueue, allocate"\ntiers:\n- plugins:\n  - name: gang\n')
    async with HttpApi(*OBJECTS) as api, serving(api, conf_file=file) as server:
        await ready(server)
        calls = fails_once(patch, ConfFile, "_understood")
        file.write_text('actions: "allocate"\n')
        await until(lambda: calls[0] > 0)
        status, text = await ask(server, "/readyz?verbose")
        assert (status, "[!]configuration warning: RuntimeError: out of the blue" in text) == (200, True)
        await schedules(api, "b")
        file.write_text('actions: "allocate, enqueue"\ntiers:\n- plugins:\n  - name: gang\n')
        await until(lambda: server.conf_file.is_good)


@scene("recording")
async def recording(patch: pytest.MonkeyPatch, folder: Path) -> None:
    fails_once(patch, CycleRecorder, "cycle_ends")
    async with HttpApi(*OBJECTS) as api, serving(api, record=folder / "cycles.gz") as server:
        await schedules(api, "b")
        await until(lambda: server.cycles > 3)
        assert server.failures == 0
        text = (await ask(server, "/readyz?verbose"))[1]
        assert "[!]recording warning: RuntimeError: out of the blue; the recording ends here" in text
        assert server.cycle_recorder is not None
        assert server.cycle_recorder._batches == []


@scene("figures of a cycle")
async def figures(patch: pytest.MonkeyPatch, _: Path) -> None:
    calls = fails_once(patch, Metrics, "_take")
    async with HttpApi(*OBJECTS) as api, serving(api) as server:
        await until(lambda: calls[0] > 1)
        assert server.failures == 0
        await schedules(api, "b")


@scene("endpoints")
async def endpoints(patch: pytest.MonkeyPatch, _: Path) -> None:
    fails_once(patch, doors, "figures_of")
    async with HttpApi(*OBJECTS) as api, serving(api) as server:
        assert (await ask(server, "/metrics"))[0] == 500
        assert (await ask(server, "/metrics"))[0] == 200
        await schedules(api, "b")


@scene("timers")
async def timers(patch: pytest.MonkeyPatch, _: Path) -> None:
    told: list[str] = []
    patch.setattr(servers.logger, "error", lambda text, *given, **_: told.append(text % given))
    async with HttpApi(*OBJECTS) as api, serving(api):
        asyncio.get_running_loop().call_later(0.0, lambda: 1 / 0)
        await until(lambda: any("ZeroDivision" in line or "callback" in line for line in told))
        await schedules(api, "b")


def test_an_object_that_cannot_be_taken_in_stops_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def is_bad(_: object, before: Manifest | None, after: Manifest | None) -> bool:
        return isinstance(after, PodGroup) and after.metadata.name == "bad"

    async def play() -> None:
        fails_once(monkeypatch, KubernetesCluster, "_heed", is_bad)
        objects = [*stamped(job("bad", cpu=1).objects), *OBJECTS]
        async with HttpApi(*objects) as api, serving(api):
            await until(lambda: is_bound(api, "a"))

    with caplog.at_level(logging.ERROR, "hekla"):
        asyncio.run(play())
    assert "podgroups default/bad: cannot be taken in" in caplog.text


def test_a_failing_process_gives_its_lease_back(monkeypatch: pytest.MonkeyPatch) -> None:
    released: list[bool] = []
    real = Leadership.release

    async def release(self: Leadership) -> None:
        released.append(self.leads)
        await real(self)

    async def play() -> None:
        monkeypatch.setattr(Leadership, "release", release)
        fails_once(monkeypatch, servers, "ensure_queues")
        async with HttpApi(*OBJECTS) as api, serving(api, lease=LeaseOptions(retry_period=0.05)) as server:
            await until(lambda: server.is_stopping)

    with pytest.raises(GaveUp):
        asyncio.run(play())
    assert released == [True]
