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
NO_JOB_STARVES = "no plugin can call a job starving; add gang, priority or tdm with enableJobStarving"
NO_PREEMPTABLE = (
    "no plugin can name victims; "
    "add priority, gang, conformance, drf, tdm, pdb, cdp or extender with enablePreemptable"
)
NO_RECLAIMABLE = (
    "no plugin can name victims; "
    "add gang, conformance, proportion, capacity, drf, pdb, cdp or extender with enableReclaimable"
)
NO_POD_MOVES = (
    "no plugin can name victims; add tdm (with a revocable zone) or rescheduling with enabledVictim"
)
NO_LOAD = (
    "goes by measured load, and no section metrics says where to read it: only annotations of nodes count "
    "(hekla.dev/cpu-usage, hekla.dev/memory-usage); write metrics: {type: annotations} if these are meant"
)
RESERVED = "configurations:\n- {{name: backfill, arguments: {{kubeBatchBackfillEnable: true}}}}\n{}"
HOLD_IT = "set unreadyPolicy: hold for allocate, so that places of jobs that cannot start are held"
GANG_WITHOUT_VICTIMS = "{name: gang, enablePreemptable: false, enableReclaimable: false}"

COMPARING = "configurations:\n- {{name: preempt, arguments: {{enableTopologyAwarePreemption: true, {}}}}}\n"
COMPARES_NONE = "preempt compares no nodes with {}, and so never evicts; write a number above 0"

SENSE = [
    Sense(
        "preempt that compares no node at most never evicts",
        "preempt",
        more=COMPARING.format("maxCandidateNodesAbsolute: 0"),
        told=(f"5: configurations[0]: {COMPARES_NONE.format('maxCandidateNodesAbsolute: 0')}",),
    ),
    Sense(
        "nor does one that need not compare any",
        "preempt",
        more=COMPARING.format("minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0"),
        told=(
            "5: configurations[0]: "
            + COMPARES_NONE.format("minCandidateNodesPercentage: 0 and minCandidateNodesAbsolute: 0"),
        ),
    ),
    Sense(
        "a percentage of none leaves the least number",
        "preempt",
        more=COMPARING.format("minCandidateNodesPercentage: 0"),
    ),
    Sense(
        "where nodes are not compared their number does not matter",
        "preempt",
        more="configurations:\n- {name: preempt, arguments: {maxCandidateNodesAbsolute: 0}}\n",
    ),
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
            f"1: actions: preempt can never preempt: {NO_JOB_STARVES}",
            f"1: actions: gangreclaim can never reclaim: {NO_JOB_STARVES}",
        ),
    ),
    Sense(
        "a plugin whose switch is off makes no job starve",
        "preempt",
        ("{name: gang, enableJobStarving: false}",),
        told=(f"1: actions: preempt can never preempt: {NO_JOB_STARVES}",),
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
    Sense(
        "a gang action needs a plugin to name victims, too",
        "gangpreempt",
        ("{name: tdm}",),
        told=(
            "1: actions: gangpreempt can never preempt: "
            "no plugin can name victims; add priority, gang, conformance or capacity",
        ),
    ),
    Sense(
        "an extender names victims where it has a verb for it",
        "preempt",
        (f"{GANG_WITHOUT_VICTIMS}, {{name: extender, arguments: {{extender.preemptableVerb: p}}}}",),
    ),
    Sense(
        "an extender without a verb names no victim",
        "preempt",
        (f"{GANG_WITHOUT_VICTIMS}, {{name: extender}}",),
        told=(f"1: actions: preempt can never preempt: {NO_PREEMPTABLE}",),
    ),
    Sense("the gang actions name victims without a switch", "gangpreempt", (GANG_WITHOUT_VICTIMS,)),
    Sense("of a plugin that is not known here nothing is said", "preempt", ("{name: mine}",)),
    Sense(
        "a lower tier that may name whom others spare is told",
        "preempt",
        ("{name: priority}, {name: conformance}", "{name: drf}"),
        told=(
            "3: tiers[0].plugins[0]: preempt may evict pods that priority (jobs of the same or a higher "
            "priority) and conformance (system pods) spare: priority, conformance in tiers[0] and drf in "
            "tiers[1] answer preemptable, and the first tier that names a victim decides alone; "
            "set victimMode: intersectAll for preempt",
        ),
    ),
    Sense(
        "where two plugins are in each other's way, one tier is enough",
        "preempt",
        ("{name: conformance}", "{name: priority}"),
        told=(
            "3: tiers[0].plugins[0]: preempt may evict pods that conformance (system pods) and priority "
            "(jobs of the same or a higher priority) spare: conformance in tiers[0] and priority in tiers[1] "
            "answer preemptable, and the first tier that names a victim decides alone; "
            "put them into one tier, or set victimMode: intersectAll for preempt",
        ),
    ),
    Sense(
        "plugins of one tier that may start afresh are told",
        "reclaim",
        ("{name: gang}, {name: conformance}, {name: proportion}",),
        told=(
            "3: tiers[0].plugins[0]: reclaim may evict pods that gang (the minimum of a gang) and "
            "conformance (system pods) spare: gang, conformance and proportion in tiers[0] answer "
            "reclaimable, and where two of them have no victim in common, the next one starts afresh; "
            "set victimMode: intersectAll for reclaim",
        ),
    ),
    Sense(
        "gang actions have no mode, so one tier is the way out",
        "gangreclaim",
        ("{name: conformance}", "{name: gang}"),
        told=(
            "3: tiers[0].plugins[0]: gangreclaim may evict pods that conformance (system pods) spares: "
            "conformance in tiers[0] and gang in tiers[1] answer unified evictable, and the first tier that "
            "names a victim decides alone; put them into one tier, gang first",
        ),
    ),
    Sense(
        "in one tier, a gang action goes wrong where a plugin that spares no pod stands last",
        "gangreclaim",
        ("{name: conformance}, {name: capacity}, {name: gang}",),
        told=(
            "3: tiers[0].plugins[0]: gangreclaim may evict pods that conformance (system pods) and capacity "
            "(queues within what they deserve) spare: conformance, capacity and gang in tiers[0] answer "
            "unified evictable, and where two of them have no victim in common, the next one starts afresh; "
            "put gang before the other plugins",
        ),
    ),
    Sense(
        "shuffle without anyone to name victims is told",
        "shuffle",
        ("{name: gang}, {name: tdm}, {name: pdb, enabledVictim: false}",),
        told=(f"1: actions: shuffle can never move anything: {NO_POD_MOVES}",),
    ),
    Sense(
        "shuffle with pdb moves every pod that no budget keeps, which is told",
        "shuffle",
        ("{name: pdb}",),
        told=(
            "3: tiers[0].plugins[0]: shuffle evicts every running pod with labels that no disruption budget "
            "keeps, whatever other plugins name; set enabledVictim: false for pdb, unless that is meant",
        ),
    ),
    Sense(
        "pdb may spare pods from preemption without moving any",
        "shuffle",
        ("{name: pdb, enabledVictim: false}, {name: tdm, arguments: {tdm.revocable-zone.rz1: 10:00-21:00}}",),
    ),
    Sense(
        "shuffle with a revocable zone is fine",
        "shuffle",
        ("{name: tdm, arguments: {tdm.revocable-zone.rz1: 10:00-21:00}}",),
    ),
    Sense("shuffle with a plugin that is not known here may be fine", "shuffle", ("{name: mine}",)),
    Sense(
        "plugins that go by load without a source are told",
        "shuffle",
        ("{name: usage}, {name: rescheduling}",),
        told=(f"3: tiers[0].plugins[1]: rescheduling {NO_LOAD}", f"3: tiers[0].plugins[0]: usage {NO_LOAD}"),
    ),
    Sense(
        "annotations are a source where they are meant",
        "shuffle",
        ("{name: rescheduling}",),
        more="metrics: {type: annotations}\n",
    ),
    Sense(
        "a source without an address is none",
        "allocate",
        ("{name: usage}",),
        more="metrics:\n  type: prometheus\n",
        told=("4: metrics: type prometheus needs an address; without one no load is known",),
    ),
    Sense(
        "an address without a type is not read",
        "allocate",
        ("{name: usage}",),
        more="metrics:\n  address: http://there\n",
        told=("5: metrics.address: not read without a type; write type: prometheus or type: file",),
    ),
    Sense(
        "a source that is not known is told",
        "allocate",
        ("{name: usage}",),
        more="metrics:\n  type: elasticsearch\n  address: http://there\n",
        told=(
            '5: metrics.type: no source of load "elasticsearch"; '
            "known are annotations, file, prometheus; no load is known",
        ),
    ),
    Sense(
        "reserved room is told where only pods on their way out leave some",
        "allocate, backfill",
        more=RESERVED.format(""),
        told=(
            "5: configurations[0]: kubeBatchBackfillEnable gives nothing but places of jobs that wait for "
            f"pods on their way out: no other place is held; {HOLD_IT}",
        ),
    ),
    Sense(
        "reserved room is told where nothing is held at all",
        "allocate, backfill",
        more=RESERVED.format("- {name: allocate, arguments: {onPipelined: discard}}\n"),
        told=(
            f"5: configurations[0]: kubeBatchBackfillEnable has nothing to give: nothing is held; {HOLD_IT}",
        ),
    ),
    Sense(
        "reserved room is told where allocate has not run yet",
        "backfill, allocate",
        more=RESERVED.format("- {name: allocate, arguments: {unreadyPolicy: hold}}\n"),
        told=(
            "5: configurations[0]: kubeBatchBackfillEnable has nothing to give: "
            "allocate, which holds it, does not run before",
        ),
    ),
    Sense(
        "reserved room that is held is fine",
        "allocate, backfill",
        more=RESERVED.format("- {name: allocate, arguments: {unreadyPolicy: hold}}\n"),
    ),
    Sense(
        "of an action that is not known here nothing is said: it may hold room",
        "mine, backfill",
        more=RESERVED.format(""),
    ),
    Sense(
        "a configuration no action reads is told",
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
