"""Well written and yet senseless: combinations that are told."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from hekla.conf import read_conf


@dataclass(frozen=True)
class Sense:
    """Actions, plugins by tier as flow maps, and what is said about them."""

    title: str
    actions: str
    tiers: tuple[str, ...] = ("{name: gang}",)
    more: str = ""
    told: tuple[str, ...] = ()
    severity: str = "warning"

    def __str__(self) -> str:
        return self.title

    @property
    def text(self) -> str:
        tiers = "".join(f"- plugins: [{plugins}]\n" for plugins in self.tiers)
        return f"actions: {self.actions}\ntiers:\n{tiers}{self.more}"


HIERARCHY = "drf with enableHierarchy cannot be used with proportion; remove one of them"
SHARING = "capacity and proportion both divide the cluster between queues; remove one of them"
NOBODY_STARVES = "no plugin can call a job starving; add gang, priority or tdm with enableJobStarving"
NO_PREEMPTABLE = (
    "no plugin can name victims; "
    "add priority, gang, conformance, drf, tdm, pdb, cdp or extender with enablePreemptable"
)
NO_RECLAIMABLE = (
    "no plugin can name victims; "
    "add gang, conformance, proportion, capacity, drf, pdb, cdp or extender with enableReclaimable"
)
GANG_WITHOUT_VICTIMS = "{name: gang, enablePreemptable: false, enableReclaimable: false}"

SENSE = [
    Sense(
        "hierarchical drf beside proportion is refused",
        "allocate",
        ("{name: drf, enableHierarchy: true}, {name: proportion}",),
        told=(f"3: tiers[0].plugins[0]: {HIERARCHY}",),
        severity="error",
    ),
    Sense(
        "hierarchical drf and proportion in different tiers are refused too",
        "allocate",
        ("{name: proportion}", "{name: gang}, {name: drf, enableHierarchy: true}"),
        told=(f"4: tiers[1].plugins[1]: {HIERARCHY}",),
        severity="error",
    ),
    Sense("flat drf beside proportion is fine", "allocate", ("{name: drf}, {name: proportion}",)),
    Sense(
        "capacity beside proportion is told",
        "allocate",
        ("{name: capacity}", "{name: proportion}"),
        told=(f"3: tiers[0].plugins[0]: {SHARING}",),
    ),
    Sense(
        "an action twice is told, and allowed",
        "allocate, backfill, allocate",
        told=('1: actions: action "allocate" is listed 2 times',),
    ),
    Sense(
        "allocate before enqueue is told",
        "allocate, enqueue",
        told=(
            "1: actions: allocate runs before enqueue, so every job waits a cycle longer; put enqueue first",
        ),
    ),
    Sense("no enqueue at all is fine: allocate admits", "allocate, backfill"),
    Sense(
        "no enqueue is refused where it is insisted on",
        "allocate",
        more="configurations: [{name: allocate}, {name: enqueue, arguments: {strictEnqueue: true}}]\n",
        told=("1: actions: strictEnqueue is set, but enqueue is not among the actions",),
        severity="error",
    ),
    Sense(
        "gang actions beside the plain ones are told",
        "preempt, gangpreempt, reclaim, gangreclaim",
        told=(
            "1: actions: gangpreempt is meant to replace preempt; remove one of them",
            "1: actions: gangreclaim is meant to replace reclaim; remove one of them",
        ),
    ),
    Sense(
        "without anyone to starve nothing is ever evicted",
        "preempt, gangreclaim",
        ("{name: drf}, {name: conformance}",),
        told=(
            f"1: actions: preempt can never preempt: {NOBODY_STARVES}",
            f"1: actions: gangreclaim can never reclaim: {NOBODY_STARVES}",
        ),
    ),
    Sense(
        "a plugin whose switch is off makes nobody starve",
        "preempt",
        ("{name: gang, enableJobStarving: false}",),
        told=(f"1: actions: preempt can never preempt: {NOBODY_STARVES}",),
    ),
    Sense(
        "without anyone to name victims nothing is ever evicted",
        "preempt, reclaim",
        (GANG_WITHOUT_VICTIMS,),
        told=(
            f"1: actions: preempt can never preempt: {NO_PREEMPTABLE}",
            f"1: actions: reclaim can never reclaim: {NO_RECLAIMABLE}",
        ),
    ),
    Sense(
        "drf names reclaimable tasks only in its hierarchical mode",
        "reclaim",
        (f"{GANG_WITHOUT_VICTIMS}, {{name: drf}}",),
        told=(f"1: actions: reclaim can never reclaim: {NO_RECLAIMABLE}",),
    ),
    Sense(
        "hierarchical drf can reclaim",
        "reclaim",
        (f"{GANG_WITHOUT_VICTIMS}, {{name: drf, enableHierarchy: on}}",),
    ),
    Sense("one who starves and one who names victims is enough", "preempt", ("{name: tdm}",)),
    Sense("the gang actions name victims without a switch", "gangpreempt", (GANG_WITHOUT_VICTIMS,)),
    Sense("of a plugin that is not known here nothing is said", "preempt", ("{name: mine}",)),
    Sense(
        "a configuration nobody reads is told",
        "allocate",
        more="configurations:\n- name: preempt\n",
        told=('5: configurations[0]: arguments for "preempt", which is not among the actions',),
    ),
    Sense(
        "the gang actions read the configuration of allocate",
        "gangpreempt",
        more="configurations:\n- name: allocate\n",
    ),
]


@pytest.mark.parametrize("story", SENSE, ids=str)
def test_sense(story: Sense) -> None:
    _, mistakes = read_conf(story.text)
    told = tuple(str(mistake) for mistake in mistakes if mistake.severity == story.severity)
    assert told == tuple(f"conf.yaml:{line}" for line in story.told)
