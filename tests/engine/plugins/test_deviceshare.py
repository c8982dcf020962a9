"""Stories of deviceshare: which cards a task gets, which nodes have none for it, and how good they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugin_stage import FITS, GROUP, U, read

from hekla.conf import read_arguments
from hekla.engine.framework.session import Session
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.engine.plugins.deviceshare import DeviceShare
from hekla.errors import ConfError
from hekla.objects import Node, Pod
from hekla.testing import Story, check_plugin, job, queue, session_of
from hekla.testing import plugin as entry
from hekla.testing.samples import Sample

SHARING = {"deviceshare.GPUSharingEnable": True}
NUMBER = {"deviceshare.GPUNumberEnable": True}
VGPU = {"deviceshare.VGPUEnable": True}
BINPACK = {**VGPU, "deviceshare.SchedulePolicy": "binpack", "deviceshare.ScheduleWeight": 10}
SPREAD = {**VGPU, "deviceshare.SchedulePolicy": "spread", "deviceshare.ScheduleWeight": 10}


def machine(
    name: str, cards: int = 2, memory: int = 8000, *, notes: dict[str, str] | None = None, **more: Any
) -> Node:
    """A node with so many cards of so much memory each."""
    offered = {
        "cpu": 64,
        "memory": "64Gi",
        "pods": 110,
        "volcano.sh/gpu-number": cards,
        "volcano.sh/gpu-memory": cards * memory,
        **more,
    }
    return read(
        Node,
        {
            "metadata": {"name": name, "annotations": notes or {}},
            "status": {"allocatable": offered, "capacity": offered},
        },
    )


def cut(name: str, *cards: tuple[str, int, int, str], **more: Any) -> Node:
    """A node whose cards are cut into virtual ones: uuid, slots, MiB, type."""
    text = "".join(f"{uuid},{slots},{memory},{kind},true,hami-core:" for uuid, slots, memory, kind in cards)
    offered = {"volcano.sh/vgpu-number": 10, "volcano.sh/vgpu-memory": 100000, "volcano.sh/vgpu-cores": 800}
    return machine(name, 0, 0, notes={"volcano.sh/node-vgpu-register": text}, **{**offered, **more})


def two_cards(name: str = "n1") -> Node:
    return cut(name, (f"{name}-c0", 10, 8000, "NVIDIA-A100"), (f"{name}-c1", 10, 8000, "NVIDIA-V100"))


def pod(
    name: str,
    *containers: dict[str, object],
    on: str = "",
    notes: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    init: tuple[dict[str, object], ...] = (),
    phase: str = "",
    namespace: str = "default",
) -> Pod:
    """A pod whose containers are limited to these devices; short names stand for `volcano.sh/<name>`."""

    def made(limits: dict[str, object]) -> dict[str, Any]:
        devices = {f"volcano.sh/{key}": value for key, value in limits.items()}
        return {"resources": {"requests": {"cpu": "100m"}, "limits": devices}}

    return read(
        Pod,
        {
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": name,
                "labels": labels or {},
                "annotations": {"scheduling.k8s.io/group-name": GROUP, **(notes or {})},
            },
            "spec": {
                "nodeName": on,
                "containers": list(map(made, containers)),
                "initContainers": list(map(made, init)),
            },
            "status": {"phase": phase or ("Running" if on else "Pending")},
        },
    )


def vgpu(name: str, memory: int = 0, *, number: int = 1, cores: int = 0, **rest: Any) -> Pod:
    limits: dict[str, object] = {"vgpu-number": number}
    if memory:
        limits["vgpu-memory"] = memory
    if cores:
        limits["vgpu-cores"] = cores
    return pod(name, limits, **rest)


def holding(*slices: tuple[str, int, int]) -> dict[str, str]:
    """The annotation of a pod that holds MiB and cores of cards."""
    return {
        "volcano.sh/vgpu-ids-new": "".join(f"{uuid},NVIDIA,{mib},{cores}:" for uuid, mib, cores in slices)
    }


class Stage:
    def __init__(self, arguments: dict[str, Any], *objects: Any) -> None:
        self.session: Session = session_of(
            queue("default"),
            job(GROUP, tasks=0, min_available=0),
            *objects,
            tiers=[[entry("deviceshare", arguments)]],
            plugins=[DeviceShare],
        )
        self.plugin: Any = self.session.plugins[0]

    def task(self, name: str) -> Task:
        return next(task for task in self.session.tasks if task.name == name)

    def put(self, name: str, on: str = "n1") -> bool:
        return self.session.put(self.task(name), self.session.nodes.row_of[on], Status.ALLOCATED)

    def verdicts(self, name: str) -> dict[str, str]:
        scoring, task = self.session.scoring, self.task(name)
        is_open, curable = scoring.open_nodes(task), scoring.curable_nodes(task)
        names = self.session.nodes.names
        return {n: FITS if is_open[row] else U if curable[row] else "UU" for row, n in enumerate(names)}

    def scores(self, name: str) -> dict[str, float]:
        task, everywhere = self.task(name), np.ones(len(self.session.nodes), dtype=np.bool_)
        scores = self.session.scoring.class_of(task).scores_of(task, everywhere)
        return dict(zip(self.session.nodes.names, scores.tolist(), strict=True))

    def given(self, name: str, on: str = "n1") -> str:
        """Where the task is put, what it gets there."""
        assert self.put(name, on)
        return str(self.plugin.assignments[name])


class TestConfiguration:
    @pytest.mark.parametrize(
        ("modes", "said"),
        [
            (
                SHARING | NUMBER,
                "deviceshare.GPUSharingEnable and deviceshare.GPUNumberEnable exclude each other",
            ),
            (SHARING | VGPU, "deviceshare.GPUSharingEnable and deviceshare.VGPUEnable exclude each other"),
            (NUMBER | VGPU, "deviceshare.GPUNumberEnable and deviceshare.VGPUEnable exclude each other"),
        ],
    )
    def test_cards_are_shared_in_one_way(self, modes: dict[str, bool], said: str) -> None:
        with pytest.raises(ConfError, match=said):
            read_arguments(DeviceShare.Arguments, modes, "deviceshare")

    def test_without_a_mode_it_has_no_opinion(self) -> None:
        stage = Stage({}, machine("n1", cards=0), pod("a", {"gpu-number": 4}))
        assert stage.verdicts("a") == {"n1": FITS}
        assert stage.put("a")
        assert stage.plugin.assignments == {}


class TestMemorySharing:
    def test_a_pod_gets_a_part_of_the_first_card_with_enough_memory(self) -> None:
        stage = Stage(SHARING, machine("n1"), *(pod(name, {"gpu-memory": 5000}) for name in "abc"))
        assert [stage.given("a"), stage.given("b")] == ["card 0", "card 1"]
        assert stage.verdicts("c") == {"n1": U}

    def test_no_pod_is_spread_over_cards(self) -> None:
        stage = Stage(
            SHARING,
            machine("n1"),
            machine("n2", memory=9000),
            machine("n3", cards=0),
            pod("a", {"gpu-memory": 9000}),
        )
        assert stage.verdicts("a") == {"n1": U, "n2": FITS, "n3": U}

    def test_containers_add_up_and_a_larger_init_container_counts_alone(self) -> None:
        stage = Stage(
            SHARING,
            machine("n1"),
            pod("sum", {"gpu-memory": 4000}, {"gpu-memory": 5000}),
            pod("init", {"gpu-memory": 10}, init=({"gpu-memory": 9000}, {"gpu-memory": 1})),
            pod("both", {"gpu-memory": 4000}, {"gpu-memory": 4000}, init=({"gpu-memory": 8000},)),
        )
        assert [stage.verdicts(name) for name in ("sum", "init", "both")] == [
            {"n1": U},
            {"n1": U},
            {"n1": FITS},
        ]

    def test_running_pods_hold_their_cards_and_finished_ones_do_not(self) -> None:
        stage = Stage(
            SHARING,
            machine("n1"),
            pod("runs", {"gpu-memory": 6000}, on="n1", notes={"volcano.sh/gpu-index": "0"}),
            pod(
                "done", {"gpu-memory": 6000}, on="n1", notes={"volcano.sh/gpu-index": "1"}, phase="Succeeded"
            ),
            pod("lost", {"gpu-memory": 6000}, on="n1", notes={"volcano.sh/gpu-index": "7"}),
            pod("a", {"gpu-memory": 3000}),
        )
        assert stage.given("a") == "card 1"

    def test_unhealthy_cards_are_not_there(self) -> None:
        sick = machine("n1", cards=3, notes={"volcano.sh/gpu-unhealthy-ids": "0,2"})
        stage = Stage(SHARING, sick, pod("a", {"gpu-memory": 5000}), pod("b", {"gpu-memory": 5000}))
        assert stage.given("a") == "card 1"
        assert stage.verdicts("b") == {"n1": U}

    def test_an_overfull_card_has_nothing_left(self) -> None:
        stage = Stage(
            SHARING,
            machine("n1", cards=1),
            *(
                pod(f"r{at}", {"gpu-memory": 6000}, on="n1", notes={"volcano.sh/gpu-index": "0"})
                for at in (1, 2)
            ),
            pod("a", {"gpu-memory": 1}),
        )
        assert stage.verdicts("a") == {"n1": U}


class TestWholeCards:
    def test_a_pod_gets_idle_cards_for_itself(self) -> None:
        stage = Stage(
            NUMBER,
            machine("n1", cards=4),
            machine("n2", cards=1),
            pod("runs", {"gpu-number": 1}, on="n1", notes={"volcano.sh/gpu-index": "1"}),
            pod("a", {"gpu-number": 2}),
            pod("b", {"gpu-number": 1}, {"gpu-number": 1}),
        )
        assert stage.verdicts("a") == {"n1": FITS, "n2": U}
        assert stage.given("a") == "cards 0, 2"
        assert stage.verdicts("b") == {"n1": U, "n2": U}

    def test_a_pod_without_a_wish_is_left_alone(self) -> None:
        stage = Stage(NUMBER, machine("n1", cards=0), pod("plain", {}), pod("a", {"gpu-number": 1}))
        assert stage.verdicts("plain") == {"n1": FITS}
        assert stage.put("plain")
        assert not stage.put("a")
        notes = [str(note) for note in stage.session.trace.jobs[f"default/{GROUP}"]]
        assert notes == [': a: plugin "deviceshare" objects to node "n1": no cards are left for it']


class TestVirtualCards:
    BUSY = holding(("n1-c0", 5000, 10))

    def test_a_card_must_have_the_memory(self) -> None:
        """Two cards of 8000 MiB, 5000 of card 0 used; 4000 go to card 1 only, 3000 fill card 0 up."""
        stage = Stage(
            BINPACK,
            two_cards(),
            vgpu("runs", on="n1", notes=self.BUSY),
            vgpu("a", 4000),
            vgpu("b", 3000),
            vgpu("c", 9000),
        )
        assert stage.scores("a") == {"n1": 500}  # half of card 1, times 10
        assert stage.scores("b") == {"n1": 1000}
        assert stage.scores("c") == {"n1": 0}
        assert stage.verdicts("c") == {"n1": U}
        assert stage.given("b") == "3000 MiB and 0% cores of n1-c0"
        assert stage.given("a") == "4000 MiB and 0% cores of n1-c1"

    @pytest.mark.parametrize(
        ("arguments", "card"),
        [(BINPACK, "n1-c0"), (SPREAD, "n1-c1"), (VGPU, "n1-c2")],
        ids=["binpack takes the fullest", "spread the least shared", "else the last"],
    )
    def test_the_policy_says_which_card_is_tried_first(self, arguments: dict[str, Any], card: str) -> None:
        cards = cut("n1", *((f"n1-c{at}", 10, 8000, "NVIDIA") for at in range(3)))
        stage = Stage(
            arguments,
            cards,
            vgpu("r0", on="n1", notes=holding(("n1-c0", 3000, 0), ("n1-c0", 1000, 0))),
            vgpu("r2", on="n1", notes=holding(("n1-c2", 3000, 0))),
            vgpu("a", 1000),
        )
        assert stage.given("a").endswith(card)

    def test_only_binpack_scores_nodes(self) -> None:
        for arguments in (
            SPREAD,
            VGPU | {"deviceshare.ScheduleWeight": 10},
            BINPACK | {"deviceshare.ScheduleWeight": 0},
        ):
            stage = Stage(arguments, two_cards("n1"), two_cards("n2"), vgpu("a", 1000))
            assert stage.scores("a") == {"n1": 0, "n2": 0}

    def test_scores_of_several_cards_add_up_and_are_rounded(self) -> None:
        stage = Stage(BINPACK, two_cards(), vgpu("a", 1234, number=2), vgpu("b", 3))
        assert stage.scores("a") == {"n1": 310}  # 2 * 15.425 is 30.85
        assert stage.scores("b") == {"n1": 0}  # 0.0375

    def test_memory_may_be_a_percentage_and_without_any_it_is_the_whole_card(self) -> None:
        stage = Stage(
            VGPU,
            cut("n1", ("c0", 10, 1000, "NVIDIA"), ("c1", 10, 8000, "NVIDIA")),
            pod("half", {"vgpu-number": 2, "vgpu-memory-percentage": 50}),
            pod("only-memory", {"vgpu-memory": 100}),
            vgpu("whole"),
        )
        assert stage.given("half") == "4000 MiB and 0% cores of c1, 500 MiB and 0% cores of c0"
        assert stage.given("only-memory") == "100 MiB and 0% cores of c1"
        assert stage.verdicts("whole") == {"n1": U}

    def test_slots_run_out(self) -> None:
        stage = Stage(VGPU, cut("n1", ("c0", 2, 8000, "NVIDIA")), *(vgpu(name, 1) for name in "abc"))
        assert stage.put("a")
        assert stage.put("b")
        assert stage.verdicts("c") == {"n1": U}

    def test_cores_run_out_and_a_whole_card_is_for_one_alone(self) -> None:
        stage = Stage(
            VGPU,
            cut("n1", ("c0", 10, 8000, "NVIDIA")),
            vgpu("sixty", 1, cores=60),
            vgpu("fifty", 1, cores=50),
            vgpu("forty", 1, cores=40),
            vgpu("alone", 1, cores=100),
            vgpu("none", 1),
        )
        assert stage.verdicts("alone") == {"n1": FITS}
        assert stage.put("sixty")
        assert [stage.verdicts(name)["n1"] for name in ("fifty", "forty", "alone", "none")] == [
            U,
            FITS,
            U,
            FITS,
        ]
        assert stage.put("forty")
        assert stage.verdicts("none") == {"n1": U}  # all cores are spoken for

    def test_containers_of_a_pod_see_what_the_ones_before_them_took(self) -> None:
        stage = Stage(
            BINPACK,
            two_cards(),
            pod("a", {"vgpu-number": 1, "vgpu-memory": 5000}, {"vgpu-number": 1, "vgpu-memory": 5000}),
            pod("b", *[{"vgpu-number": 1, "vgpu-memory": 5000}] * 3),
        )
        assert stage.verdicts("b") == {"n1": U}
        assert stage.given("a") == "5000 MiB and 0% cores of n1-c0, 5000 MiB and 0% cores of n1-c1"

    @pytest.mark.parametrize(
        ("notes", "card"),
        [
            ({"nvidia.com/use-gputype": "a100,h100"}, "n1-c0"),
            ({"nvidia.com/nouse-gputype": "V100"}, "n1-c0"),
            ({"volcano.sh/vgpu-use-gpuuuid": "n1-c0,other"}, "n1-c0"),
            ({"volcano.sh/vgpu-nouse-gpuuuid": "n1-c1"}, "n1-c0"),
            ({"volcano.sh/vgpu-mode": "hami-core"}, "n1-c1"),
            ({"volcano.sh/vgpu-mode": "mig"}, ""),
            ({"nvidia.com/use-gputype": "H100"}, ""),
        ],
    )
    def test_a_pod_may_choose_its_cards(self, notes: dict[str, str], card: str) -> None:
        stage = Stage(VGPU, two_cards(), vgpu("a", 1, notes=notes))
        assert stage.verdicts("a") == {"n1": FITS if card else U}
        if card:
            assert stage.given("a").endswith(card)

    def test_pods_of_a_group_may_insist_on_a_card_each(self) -> None:
        apart = {"volcano.sh/vgpu-podgroup-policy": "spread"}
        stage = Stage(BINPACK, two_cards(), *(vgpu(name, 1, notes=apart) for name in "abc"), vgpu("easy", 1))
        assert [stage.given(name)[-5:] for name in ("a", "b")] == ["n1-c0", "n1-c1"]
        assert stage.verdicts("c") == {"n1": U}
        assert stage.verdicts("easy") == {"n1": FITS}

    def test_pods_that_match_the_same_rule_do_not_share_a_card(self) -> None:
        rules = BINPACK | {
            "deviceshare.GPUExclusiveRules": [{"app": "train", "tier": "gold"}, {"app": "web"}]
        }
        gold = {"app": "train", "tier": "gold"}
        stage = Stage(
            rules,
            two_cards(),
            vgpu("a", 1, labels=gold),
            vgpu("b", 1, labels=gold),
            vgpu("c", 1, labels=gold),
            vgpu("web", 1, labels={"app": "web"}),
            vgpu("half", 1, labels={"app": "train"}),
        )
        assert [stage.given(name)[-5:] for name in ("a", "b", "web", "half")] == [
            "n1-c0",
            "n1-c1",
            "n1-c0",
            "n1-c0",
        ]
        assert stage.verdicts("c") == {"n1": U}

    def test_a_node_needs_all_three_resources_and_a_register_that_can_be_read(self) -> None:
        stage = Stage(
            VGPU,
            two_cards("good"),
            cut("no-cores", ("c0", 10, 8000, "NVIDIA"), **{"volcano.sh/vgpu-cores": 0}),
            machine(
                "broken",
                notes={"volcano.sh/node-vgpu-register": "c0,10,8000:"},
                **{f"volcano.sh/vgpu-{name}": 1 for name in ("number", "memory", "cores")},
            ),
            machine("bare"),
            vgpu("a", 1),
        )
        assert stage.verdicts("a") == {"good": FITS, "no-cores": U, "broken": U, "bare": U}
        (complaint,) = stage.session.snapshot.complaints
        assert str(complaint) == (
            'node broken: volcano.sh/node-vgpu-register: "c0,10,8000" is no card; '
            'write it like "uuid,slots,memory,type,health,mode"'
        )


class TestEvents:
    def test_an_undone_eviction_gives_the_very_same_cards_back(self) -> None:
        stage = Stage(
            SHARING,
            machine("n1"),
            pod("r", {"gpu-memory": 6000}, on="n1", notes={"volcano.sh/gpu-index": "1"}),
            pod("a", {"gpu-memory": 6000}),
            pod("b", {"gpu-memory": 6000}),
        )
        assert stage.given("a") == "card 0"
        assert stage.verdicts("b") == {"n1": U}
        runs = stage.task("r")
        stage.session.start_release(runs)
        assert stage.verdicts("b") == {"n1": FITS}
        stage.session.take_back(stage.task("a"))
        stage.session.cancel_release(runs, Status.RUNNING)
        assert stage.given("b") == "card 0"

    def test_the_story_tells_which_cards_a_bound_task_gets(self) -> None:
        stage = Stage(NUMBER, machine("n1"), pod("a", {"gpu-number": 1}), pod("b", {"gpu-number": 1}))
        assert stage.put("a")
        assert stage.put("b")
        stage.session.bind(stage.task("a"))
        stage.plugin.on_close()
        notes = [str(note) for note in stage.session.trace.jobs[f"default/{GROUP}"]]
        assert notes == ["deviceshare: a gets card 0 on n1"]


def test_a_gang_that_needs_more_cards_than_are_idle_takes_none() -> None:
    gang = job("train", tasks=3, min_available=3, cpu=1)
    limited = [
        pod(f"train-{at}", {"gpu-number": 1}, notes={"scheduling.k8s.io/group-name": "train"})
        for at in range(3)
    ]
    for cards, expected in ((2, "pending"), (3, {"n1": 3})):
        story = Story(
            "three pods, a card each",
            nodes=[machine("n1", cards=cards)],
            objects=[gang.pod_group, *limited],
            jobs=[],
            queues=[queue("default")],
            tiers=["gang", [entry("deviceshare", NUMBER)]],
            actions="allocate",
            plugins=[DeviceShare],
        )
        assert story.play() == {"train": expected}


@given(st.data())
def test_no_card_is_ever_overbooked_and_undo_is_exact(data: st.DataObject) -> None:
    arguments = data.draw(st.sampled_from([SHARING, NUMBER, VGPU, BINPACK, SPREAD]))
    pods = [draw_pod(data, f"p{at}", arguments) for at in range(data.draw(st.integers(1, 6)))]
    node = two_cards() if "deviceshare.VGPUEnable" in arguments else machine("n1")
    stage = Stage(arguments, node, *pods)
    start = books(stage)
    placed: list[str] = []
    for _ in range(data.draw(st.integers(1, 12))):
        waiting = sorted({pod.metadata.name for pod in pods} - set(placed))
        if waiting and data.draw(st.booleans()):
            name = data.draw(st.sampled_from(waiting))
            may = stage.verdicts(name)["n1"] == FITS
            before = books(stage)
            assert stage.put(name) == may
            placed += [name] if may else []
            assert may or books(stage) == before
        elif placed:
            stage.session.take_back(stage.task(placed.pop(data.draw(st.integers(0, len(placed) - 1)))))
        assert within_bounds(stage)
    for name in placed:
        stage.session.take_back(stage.task(name))
    assert books(stage) == start


def draw_pod(data: st.DataObject, name: str, arguments: dict[str, Any]) -> Pod:
    if "deviceshare.GPUSharingEnable" in arguments:
        return pod(name, {"gpu-memory": data.draw(st.integers(1, 8000))})
    if "deviceshare.GPUNumberEnable" in arguments:
        return pod(name, {"gpu-number": data.draw(st.integers(1, 2))})
    return vgpu(
        name,
        data.draw(st.integers(0, 8000)),
        number=data.draw(st.integers(1, 2)),
        cores=data.draw(st.sampled_from([0, 30, 60, 100])),
    )


def books(stage: Stage) -> object:
    devices = stage.plugin.devices
    if hasattr(devices, "taken"):
        return devices.taken.tolist(), devices.pods.tolist()
    cards = devices.cards_of_row[0]
    return [(card.users, card.used_memory, card.used_cores, dict(card.tenants)) for card in cards]


def within_bounds(stage: Stage) -> bool:
    devices = stage.plugin.devices
    if not hasattr(devices, "taken"):
        return all(
            card.users <= card.slots and card.used_memory <= card.memory and card.used_cores <= 100
            for card in devices.cards_of_row[0]
        )
    is_alone = "deviceshare.GPUNumberEnable" in stage.session.conf.tiers[0].plugins[0].arguments
    return bool((devices.taken <= devices.size[:, None]).all() and (not is_alone or devices.pods.max() <= 1))


@pytest.mark.parametrize("arguments", [{}, SHARING, NUMBER, VGPU, BINPACK, SPREAD])
def test_it_keeps_the_contract_of_plugins(arguments: dict[str, Any]) -> None:
    check_plugin(DeviceShare, arguments)
    if "deviceshare.VGPUEnable" in arguments:
        nodes = (two_cards("n1"), machine("n2"), cut("n3", ("x", 1, 500, "NVIDIA")))
        pods = [vgpu(f"p{at}", 100 * at, cores=25 * at) for at in range(5)]
    else:
        nodes = (machine("n1"), machine("n2", cards=1, memory=500), machine("n3", cards=0))
        pods = [pod(f"p{at}", {"gpu-memory": 300 * at, "gpu-number": at}) for at in range(4)]
    group = job(GROUP, tasks=0, min_available=0)
    check_plugin(
        DeviceShare, arguments, clusters=[Sample("cards", nodes, (queue("default"), *group.objects, *pods))]
    )
