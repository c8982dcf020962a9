"""The life of an action: taken in once, run in every cycle, let go once; wherever cycles are run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

import pytest

from cli.calling import called
from fakes.http_api import HttpApi
from hekla.clock import VirtualClock
from hekla.cluster.embedded import EmbeddedCluster
from hekla.conf import Conf, argument, read_conf, require
from hekla.engine.framework.action import Action
from hekla.engine.framework.session import Session
from hekla.engine.state.snapshot import take_snapshot
from hekla.errors import PluginError
from hekla.insight.shadow.candidate import Candidate
from hekla.scheduler.action_set import ActionSet
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import run_cycle
from hekla.scheduler.loop import Loop
from hekla.server.options import ConfFile
from hekla.simulation.simulate import simulate
from hekla.simulation.workloads import Workload
from hekla.testing import job, node, queue, stamped
from server.serving import serving, until
from simulation.plays import job as submission

TOLD: list[str] = []
"""What befell the actions of a test, in order."""


@dataclass(frozen=True)
class Arguments:
    pace: int = argument(1, key="pace", help="whatever")


class Tick(Action):
    name = "tick"
    Arguments = Arguments

    def initialize(self) -> None:
        TOLD.append(f"+{self.name}{self.arguments.pace}")

    def run(self, session: Session) -> None:
        TOLD.append(self.name)

    def uninitialize(self) -> None:
        TOLD.append(f"-{self.name}{self.arguments.pace}")


class Tock(Tick):
    name = "tock"


class Faulty(Tick):
    """Fails where its argument says."""

    name = "faulty"

    def initialize(self) -> None:
        if self.arguments.pace == 1:
            raise OSError("no such device")
        super().initialize()

    def run(self, session: Session) -> None:
        if self.arguments.pace == 2:
            raise ValueError("lost count")

    def uninitialize(self) -> None:
        super().uninitialize()
        raise RuntimeError("stuck")


REGISTRY = BUILTIN.with_class(Tick).with_class(Tock).with_class(Faulty)


def conf_of(actions: str, **pace: int) -> Conf:
    settings = "".join(f"- {{name: {name}, arguments: {{pace: {of}}}}}\n" for name, of in pace.items())
    text = f"actions: {actions}\ntiers: []\n" + (f"configurations:\n{settings}" if settings else "")
    return require(read_conf(text, "test", REGISTRY.catalogue()))


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    TOLD.clear()
    yield
    TOLD.clear()


def loop_of(conf: Conf) -> Loop:
    clock = VirtualClock()
    return Loop(EmbeddedCluster([node("n1")], clock), conf, clock, registry=REGISTRY, longest_nap=1.0)


def test_an_action_that_does_not_care_is_not_bothered() -> None:
    for action in BUILTIN.actions.values():
        assert action.initialize is Action.initialize
    run_cycle(take_snapshot([]), read_conf("")[0])


def test_a_single_cycle_takes_its_actions_in_and_lets_them_go() -> None:
    run_cycle(take_snapshot([]), conf_of('"tick, tock"'), registry=REGISTRY)
    assert TOLD == ["+tick1", "+tock1", "tick", "tock", "-tock1", "-tick1"]


def test_an_action_that_is_listed_twice_is_one_action() -> None:
    run_cycle(take_snapshot([]), conf_of('"tick, tock, tick"'), registry=REGISTRY)
    assert TOLD == ["+tick1", "+tock1", "tick", "tock", "tick", "-tock1", "-tick1"]


def test_a_run_has_one_life_however_many_cycles() -> None:
    loop_of(conf_of("tick")).run(max_cycles=3)
    assert TOLD == ["+tick1", "tick", "tick", "tick", "-tick1"]


def test_with_the_loop_it_lives_through_several_runs() -> None:
    with loop_of(conf_of("tick")) as loop:
        assert TOLD == ["+tick1"]
        loop.run(max_cycles=1)
        loop.step()
    assert TOLD == ["+tick1", "tick", "tick", "-tick1"]


def test_steps_take_it_in_and_closing_lets_it_go_once() -> None:
    loop = loop_of(conf_of("tick"))
    loop.step()
    loop.step()
    loop.close()
    loop.close()
    assert TOLD == ["+tick1", "tick", "tick", "-tick1"]


def test_a_cycle_that_fails_lets_it_go_all_the_same() -> None:
    with pytest.raises(PluginError, match='action "faulty" failed: ValueError: lost count'):
        run_cycle(take_snapshot([]), conf_of('"tick, faulty"', faulty=2), registry=REGISTRY)
    assert TOLD == ["+tick1", "+faulty2", "tick", "-faulty2", "-tick1"]


def test_another_configuration_exchanges_what_it_drops_or_changes() -> None:
    with loop_of(conf_of('"tick, tock"')) as loop:
        loop.step()
        loop.use(conf_of('"tock, tick"', tick=5))
        loop.step()
        loop.use(conf_of("tick", tick=5))
        loop.step()
    taken, changed, dropped = ["+tick1", "+tock1"], ["+tick5", "-tick1"], ["-tock1"]
    expected = [*taken, "tick", "tock", *changed, "tock", "tick", *dropped, "tick", "-tick5"]
    assert expected == TOLD


def test_another_configuration_before_the_first_cycle_costs_nothing() -> None:
    loop = loop_of(conf_of("tick"))
    loop.use(conf_of("tock"))
    loop.run(max_cycles=1)
    assert TOLD == ["+tock1", "tock", "-tock1"]


def test_what_an_action_keeps_lasts_as_long_as_its_configuration() -> None:
    conf = conf_of("tick")
    actions = ActionSet(conf, REGISTRY)
    [(_, first)] = actions.in_order()
    actions.use(conf_of('"tock, tick"'))
    assert actions.in_order()[1][1] is first
    actions.use(conf_of("tick", tick=2))
    assert actions.in_order()[0][1] is not first


def test_one_that_cannot_be_initialized_is_told_and_the_others_are_let_go() -> None:
    with pytest.raises(PluginError) as refusal:
        ActionSet(conf_of('"tick, faulty, tock"'), REGISTRY)
    assert str(refusal.value) == 'action "faulty" could not be initialized: OSError: no such device'
    assert TOLD == ["+tick1", "-tick1"]


def test_a_configuration_whose_action_cannot_be_initialized_is_not_taken() -> None:
    with loop_of(good := conf_of("tick")) as loop:
        with pytest.raises(PluginError, match="no such device"):
            loop.use(conf_of('"tock, faulty"'))
        assert loop.conf is good
        loop.step()
    assert TOLD == ["+tick1", "+tock1", "-tock1", "tick", "-tick1"]


def test_one_that_cannot_be_let_go_is_told_and_keeps_nobody(caplog: pytest.LogCaptureFixture) -> None:
    ActionSet(conf_of('"tick, faulty, tock"', faulty=3), REGISTRY).close()
    assert caplog.messages == ['action "faulty" failed in uninitialize: RuntimeError: stuck']
    assert TOLD[3:] == ["-tock1", "-faulty3", "-tick1"]


class Long(Tick):
    """Runs until it is told to end."""

    name = "long"
    begun, may_end = Event(), Event()

    def run(self, session: Session) -> None:
        self.begun.set()
        self.may_end.wait(10)
        super().run(session)


def test_a_cycle_that_is_under_way_ends_before_its_actions_are_let_go() -> None:
    clock = VirtualClock()
    conf = require(read_conf("actions: long\ntiers: []\n"))
    loop = Loop(EmbeddedCluster([node("n1")], clock), conf, clock, registry=BUILTIN.with_class(Long))
    deciding, closing = Thread(target=loop.decide), Thread(target=loop.close)
    deciding.start()
    assert Long.begun.wait(10)
    closing.start()
    closing.join(0.02)
    assert closing.is_alive()
    Long.may_end.set()
    deciding.join(10)
    closing.join(10)
    assert TOLD == ["+long1", "long", "-long1"]


def test_a_simulation_is_one_life() -> None:
    jobs = [submission("a", at=0, lasts=10), submission("b", at=0, lasts=10, cpu=64)]
    workload = Workload("two", lambda: iter(jobs), count=2)
    simulate(workload, conf_of('"enqueue, allocate, tick"'), nodes=[node("n1", cpu=4)], registry=REGISTRY)
    assert TOLD.count("tick") > 1
    assert (TOLD[0], set(TOLD[1:-1]), TOLD[-1]) == ("+tick1", {"tick"}, "-tick1")


def test_a_shadow_lets_go_when_it_is_closed() -> None:
    lane = Candidate("current", conf_of("tick"), VirtualClock(), REGISTRY)
    lane.decide()
    lane.decide()
    lane.close()
    assert TOLD == ["+tick1", "tick", "tick", "-tick1"]


WRITTEN = """
from hekla import Action

class Written(Action):
    name = "written"

    def initialize(self):
        print("taken in")

    def run(self, session):
        print("run")

    def uninitialize(self):
        print("let go")
"""


@pytest.mark.parametrize(
    ("command", "cycles"),
    [(("decide", "--cycles", 3), 3), (("explain",), 1), (("run", "--max-cycles", 2), 2)],
)
def test_commands_are_one_life(command: tuple[object, ...], cycles: int, tmp_path: Path) -> None:
    (tmp_path / "written.py").write_text(WRITTEN)
    (tmp_path / "own.conf").write_text("actions: written\ntiers: []\n")
    (tmp_path / "node.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n")
    options = ("--plugin", "written.py:Written", "--conf", "own.conf", "node.yaml")
    lines = called(*command, *options, folder=tmp_path).stdout.splitlines()
    told = [line for line in lines if line in ("taken in", "run", "let go")]
    assert told == ["taken in", *["run"] * told.count("run"), "let go"]
    assert 1 <= told.count("run") <= cycles


# On a real cluster


def test_a_server_reloads_and_ends_with_every_action_let_go(tmp_path: Path) -> None:
    async def part() -> None:
        file = tmp_path / "scheduler.conf"
        file.write_text("actions: tick\ntiers: []\n")
        objects = stamped([queue("root"), queue("default"), node("n1"), *job("a", cpu=1).objects])
        async with HttpApi(*objects) as api, serving(api, REGISTRY, conf_file=file) as server:
            await until(lambda: "tick" in TOLD)
            file.write_text("actions: faulty\ntiers: []\n")
            await until(lambda: not server.conf_file.is_good)
            assert "no such device" in server.conf_file.mistake
            file.write_text("actions: tock\ntiers: []\n")
            await until(lambda: "tock" in TOLD)
            assert server.conf_file.is_good

    asyncio.run(part())
    assert [told for told in TOLD if told not in ("tick", "tock")] == ["+tick1", "+tock1", "-tick1", "-tock1"]
    assert TOLD[-1] == "-tock1"


def test_a_file_whose_actions_are_refused_leaves_the_last_good_one(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.conf"
    path.write_text("actions: tick\ntiers: []\n")
    file = ConfFile(path, REGISTRY)
    path.write_text("actions: faulty\ntiers: []\n")
    with loop_of(file.conf) as loop:
        assert not file.refresh(loop.use)
    assert file.conf.actions == ("tick",)
    assert file.mistake == 'action "faulty" could not be initialized: OSError: no such device'
