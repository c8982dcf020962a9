"""The presets are what they promise and free of mistakes."""

from __future__ import annotations

import pytest

from hekla.conf import BUILT_IN_DEFAULT, PRESETS, Preset, read_conf
from hekla.engine.framework.decisions import Bind, Evict
from hekla.engine.model.node import NodeLoad
from hekla.engine.state.snapshot import take_snapshot
from hekla.scheduler.builtin import BUILTIN
from hekla.scheduler.cycle import CycleReport, run_cycle
from hekla.testing import Story, job, node

ACTIONS = {
    "default": "enqueue allocate backfill",
    "helm": "enqueue allocate backfill",
    "basic": "enqueue allocate backfill",
    "fair-sharing": "enqueue allocate backfill reclaim",
    "everything": "enqueue allocate backfill reclaim preempt shuffle",
    "priority-first": "enqueue allocate preempt backfill",
}


@pytest.mark.parametrize("preset", PRESETS.values(), ids=lambda preset: preset.name)
def test_a_preset_runs_the_actions_it_promises_and_has_no_mistakes(preset: Preset) -> None:
    conf, mistakes = read_conf(preset.text, catalogue=BUILTIN.catalogue())
    assert mistakes == []
    assert " ".join(conf.actions) == ACTIONS[preset.name]
    assert preset.title
    assert preset.text.startswith("# ")


def test_every_preset_stands_under_its_name() -> None:
    assert {name: preset.name for name, preset in PRESETS.items()} == dict(zip(ACTIONS, ACTIONS, strict=True))


def tiers(text: str) -> list[list[str]]:
    return [[plugin.name for plugin in tier.plugins] for tier in read_conf(text)[0].tiers]


def test_the_default_is_the_one_of_volcano() -> None:
    assert PRESETS["default"].text == BUILT_IN_DEFAULT
    assert tiers(BUILT_IN_DEFAULT) == [
        ["priority", "gang", "conformance"],
        ["overcommit", "drf", "predicates", "proportion", "nodeorder"],
    ]


def test_helm_lets_gangs_be_preempted_and_packs_nodes() -> None:
    conf, _ = read_conf(PRESETS["helm"].text)
    assert tiers(PRESETS["helm"].text) == [
        ["priority", "gang", "conformance"],
        ["overcommit", "drf", "predicates", "proportion", "nodeorder", "binpack"],
    ]
    assert {plugin.name: dict(plugin.switches) for plugin in conf.plugins if plugin.switches} == {
        "gang": {"enablePreemptable": False},
        "drf": {"enablePreemptable": False},
    }


@pytest.mark.parametrize("name", ["fair-sharing", "everything"])
def test_all_who_have_a_say_in_a_reclaim_must_agree(name: str) -> None:
    conf, _ = read_conf(PRESETS[name].text)
    assert {"gang", "conformance", "proportion"} <= set(tiers(PRESETS[name].text)[0])
    assert conf.arguments_of("reclaim") == {"victimMode": "intersectAll"}


def cycle_of_everything(*, running: int, last_run: float) -> CycleReport:
    """A busy node and a quiet one, and of a job of two pods so many that run on the busy one."""
    story = Story(
        "",
        nodes=[node("busy", cpu=8, memory="8Gi"), node("quiet", cpu=8, memory="8Gi")],
        jobs=[job("web", tasks=2, min_available=1, running={"busy": running}, cpu=2)],
    )
    snapshot = take_snapshot(story.manifests())
    snapshot.load = {"busy": NodeLoad(95, 40, 1000.0), "quiet": NodeLoad(5, 5, 1000.0)}
    conf, _ = read_conf(PRESETS["everything"].text, catalogue=BUILTIN.catalogue())
    return run_cycle(snapshot, conf, now=1000.0, memory={"rescheduling.last-run": last_run})


def test_everything_relieves_a_node_that_is_too_busy() -> None:
    decided = cycle_of_everything(running=2, last_run=0.0).by_action["shuffle"]
    assert [one.pod for one in decided if isinstance(one, Evict)] == ["default/web-0"]


def test_everything_lets_pods_that_left_a_busy_node_go_elsewhere() -> None:
    decided = cycle_of_everything(running=1, last_run=999.0).decisions
    assert [one.node for one in decided if isinstance(one, Bind)] == ["quiet"]
