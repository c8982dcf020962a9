"""What a cycle fails on is put aside, and the others are scheduled; where nothing can be named, the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fakes.http_api import HttpApi
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import JOB_ORDER, answers
from hekla.engine.framework.registry import Registry
from hekla.engine.model.job import Job
from hekla.engine.model.task import Task
from hekla.engine.state.taking_in import TakingIn
from hekla.errors import BrokenPromise, GaveUp
from hekla.insight.replay import Recording, replay
from hekla.objects import Manifest, Pod, PodGroup
from hekla.scheduler.builtin import BUILTIN
from hekla.server import server as servers
from hekla.server.server import Server
from hekla.testing import job, node, pod, queue, stamped
from server.serving import ask, serving, until

POISON = {"example.com/poison": "yes"}
STANDING = [queue("root"), queue("default"), node("n1")]


def play(part: Coroutine[Any, Any, None]) -> None:
    asyncio.run(part)


def poisoned(manifest: Manifest) -> Manifest:
    meta = manifest.metadata
    return replace(manifest, metadata=replace(meta, annotations=meta.annotations | POISON))


def is_poisoned(manifest: Manifest) -> bool:
    return POISON.items() <= manifest.metadata.annotations.items()


class RaisesWhenOpened(Plugin):
    name = "gang"

    def on_open(self) -> None:
        for one in self.session.jobs.values():
            if is_poisoned(one.pod_group):
                raise ZeroDivisionError("of no use")


class RaisesInOrder(Plugin):
    name = "gang"

    @answers(JOB_ORDER)
    def key(self, one: Job) -> int:
        return 1 // (not is_poisoned(one.pod_group))


class RaisesOverPods(Plugin):
    name = "gang"

    def on_open(self) -> None:
        for task in self.session.tasks:
            if is_poisoned(task.pod):
                raise KeyError(task.name)


class RaisesOverNodes(Plugin):
    name = "gang"

    def on_open(self) -> None:
        for one in self.session.nodes.nodes:
            if is_poisoned(one.manifest):
                raise ValueError(one.name)


class RaisesOverQueues(Plugin):
    name = "gang"

    def on_open(self) -> None:
        for one in self.session.queues.values():
            if one.annotations.items() >= POISON.items():
                raise ValueError(one.name)


def with_plugin(plugin: type[Plugin]) -> Registry:
    return BUILTIN.with_class(plugin)


def is_bound(api: HttpApi, name: str) -> bool:
    return bool(api.find(Pod, f"default/{name}")["spec"].get("nodeName"))


def put_aside(server: Server) -> set[tuple[str, str]]:
    return {(kind.__name__, key) for kind, key in server.cluster.aside.reasons}


@pytest.mark.parametrize("plugin", [RaisesWhenOpened, RaisesInOrder])
def test_a_job_that_cycles_fail_on_stops_no_other(
    plugin: type[Plugin], caplog: pytest.LogCaptureFixture
) -> None:
    group, one = job("bad", cpu=1).objects

    async def part() -> None:
        objects = stamped([*STANDING, poisoned(group), one, *job("good", cpu=1).objects])
        async with HttpApi(*objects) as api, serving(api, with_plugin(plugin)) as server:
            await until(lambda: is_bound(api, "good-0") and server.cycles > 2)
            assert put_aside(server) == {("PodGroup", "default/bad")}
            assert not is_bound(api, "bad-0")
            assert server.failures == 1
            status, text = await ask(server, "/readyz?verbose")
            assert (status, "[!]objects warning: podgroup default/bad is put aside: " in text) == (200, True)
            assert 'hekla_put_aside{kind="PodGroup"} 1.0' in (await ask(server, "/metrics"))[1]
            await until(lambda: any(e["reason"] == "PutAside" for e in api.all_in("events").values()))
            api.put(*stamped([group]))
            await until(lambda: is_bound(api, "bad-0"))
            assert put_aside(server) == set()

    with caplog.at_level(logging.ERROR, "hekla"):
        play(part())
    (told,) = [record for record in caplog.records if "put aside" in record.message]
    assert told.message.startswith("cycle 1 failed, podgroup default/bad is put aside: ")
    assert told.exc_info is not None


def test_many_bad_jobs_are_put_aside_one_by_one() -> None:
    async def part() -> None:
        jobs = [job(f"bad{n}", cpu=1).objects for n in range(12)]
        bad = [manifest for group, one in jobs for manifest in (poisoned(group), one)]
        objects = stamped([*STANDING, *bad, *job("good", cpu=1).objects])
        async with HttpApi(*objects) as api, serving(api, with_plugin(RaisesWhenOpened)) as server:
            await until(lambda: is_bound(api, "good-0"))
            assert server.failures == len(put_aside(server)) == 12
            for n in range(12):
                api.remove(PodGroup, f"default/bad{n}")
                api.remove(Pod, f"default/bad{n}-0")
            await until(lambda: not put_aside(server))
            assert not server.cluster.aside._rests

    play(part())


def test_a_pod_on_a_node_is_put_aside_but_not_its_room() -> None:
    async def part() -> None:
        bad = poisoned(pod("bad", cpu=3, on="n1"))
        objects = stamped([*STANDING, bad, *job("good", cpu=1).objects, *job("large", cpu=3).objects])
        async with HttpApi(*objects) as api, serving(api, with_plugin(RaisesOverPods)) as server:
            await until(lambda: is_bound(api, "good-0") and server.cycles > 2)
            assert put_aside(server) == {("Pod", "default/bad")}
            assert not is_bound(api, "large-0")
            await server.cluster.audit.check_sums()
            assert not server.cluster.audit.differences.total()
            api.remove(Pod, "default/bad")
            await until(lambda: is_bound(api, "large-0"))

    play(part())


def test_a_node_that_cycles_fail_on_is_not_used() -> None:
    async def part() -> None:
        objects = stamped([*STANDING, poisoned(node("n2", cpu=64)), *job("good", cpu=1).objects])
        async with HttpApi(*objects) as api, serving(api, with_plugin(RaisesOverNodes)) as server:
            await until(lambda: is_bound(api, "good-0"))
            assert put_aside(server) == {("Node", "n2")}
            assert api.find(Pod, "default/good-0")["spec"]["nodeName"] == "n1"
            api.put(*stamped([node("n2", cpu=64), *job("large", cpu=60).objects]))
            await until(lambda: is_bound(api, "large-0"))

    play(part())


def test_a_queue_that_cycles_fail_on_waits() -> None:
    async def part() -> None:
        bad = queue("bad", annotations=POISON)
        jobs = [*job("good", cpu=1).objects, *job("other", cpu=1, queue="bad").objects]
        objects = stamped([*STANDING, bad, *jobs])
        async with HttpApi(*objects) as api, serving(api, with_plugin(RaisesOverQueues)) as server:
            await until(lambda: is_bound(api, "good-0"))
            assert put_aside(server) == {("Queue", "bad")}
            assert not is_bound(api, "other-0")
            api.put(*stamped([queue("bad")]))
            await until(lambda: is_bound(api, "other-0"))

    play(part())


def test_a_state_that_could_not_take_something_in_is_made_anew(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The recording goes on with the new state: what was decided on it is decided again."""
    lay_out = TakingIn._lay_out

    def raise_over_poison(intake: TakingIn, tasks: Iterable[Task]) -> None:
        laid_out = list(tasks)
        for task in laid_out:
            if is_poisoned(task.pod):
                raise RuntimeError("no way to lay it out")
        lay_out(intake, laid_out)

    async def part() -> None:
        objects = stamped([*STANDING, *job("good", cpu=1).objects])
        async with HttpApi(*objects) as api, serving(api, record=file) as server:
            first = server.cluster.state
            await until(lambda: is_bound(api, "good-0"))
            group, one = job("bad", cpu=1).objects
            api.put(*stamped([group, poisoned(one), *job("next", cpu=1).objects]))
            await until(lambda: is_bound(api, "next-0"))
            assert put_aside(server) == {("PodGroup", "default/bad")}
            assert server.cluster.state is not first
            await until(lambda: not server.cluster.binding.open)
            await server.cluster.audit.check_sums()
            assert not server.cluster.audit.differences.total()

    file = tmp_path / "cycles.gz"
    with monkeypatch.context() as patch:
        patch.setattr(TakingIn, "_lay_out", raise_over_poison)
        play(part())
    cycles = list(replay(Recording(file), BUILTIN))
    assert sum(cycle.binds for cycle in cycles) == 2
    assert [cycle.differences() for cycle in cycles if not cycle.is_identical] == []


class BreaksPromises(Plugin):
    name = "gang"

    def on_open(self) -> None:
        for one in self.session.jobs.values():
            if is_poisoned(one.pod_group):
                raise BrokenPromise("the accounts are wrong")


def test_a_state_whose_accounts_are_wrong_is_made_anew() -> None:
    async def part() -> None:
        group, one = job("bad", cpu=1).objects
        objects = stamped([*STANDING, poisoned(group), one, *job("good", cpu=1).objects])
        async with HttpApi(*objects) as api, serving(api, with_plugin(BreaksPromises)) as server:
            first = server.cluster.state
            await until(lambda: is_bound(api, "good-0"))
            assert put_aside(server) == {("PodGroup", "default/bad")}
            assert server.cluster.state is not first

    play(part())


class RaisesAlways(Plugin):
    name = "gang"

    def on_open(self) -> None:
        raise RuntimeError("no idea")


def test_where_nothing_can_be_named_the_process_ends() -> None:
    async def part() -> None:
        objects = stamped([*STANDING, *job("good", cpu=1).objects])
        async with HttpApi(*objects) as api, serving(api, with_plugin(RaisesAlways)) as server:
            await until(lambda: server.is_stopping)
            assert server.failures == servers.MOST_IN_VAIN

    with pytest.raises(GaveUp, match=r'10 cycles in a row failed, .*"gang" failed: RuntimeError: no idea'):
        play(part())
