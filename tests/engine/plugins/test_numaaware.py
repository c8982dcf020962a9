"""Stories of numa-aware: which CPUs a task gets on a node, whether the node takes it, and how good it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugin_stage import FITS, GROUP, UU, node, read

from hekla.engine.framework.session import Session
from hekla.engine.model.requests import is_guaranteed
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.engine.plugins.numaaware import NumaAware
from hekla.engine.plugins.numaaware.cpu_topology import (
    CpuTopology,
    assign,
    fewest,
    lowest,
    members,
    pick,
    topology_of,
)
from hekla.objects import KINDS, Numatopology, Pod
from hekla.objects.node import CpuInfo
from hekla.testing import check_plugin, job, queue, session_of
from hekla.testing import plugin as entry
from hekla.testing.samples import Sample

POLICY = "volcano.sh/numa-topology-policy"


def details(sockets: int = 2, cores: int = 2, threads: int = 2, numa_per_socket: int = 1) -> dict[str, Any]:
    """CPUs numbered core by core: on the usual machine 0-3 are socket 0, 4-7 are socket 1."""
    made: dict[str, Any] = {}
    for core in range(sockets * cores):
        socket = core // cores
        numa = socket * numa_per_socket + (core % cores) * numa_per_socket // cores
        for _ in range(threads):
            made[str(len(made))] = {"numa": numa, "socket": socket, "core": core}
    return made


def numa(
    name: str, *, free: str = "0-7", policy: str = "restricted", cpu_policy: str = "static", **spec: Any
) -> Numatopology:
    return read(
        Numatopology,
        {
            "metadata": {"name": name},
            "spec": {
                "policies": {"CPUManagerPolicy": cpu_policy, "TopologyManagerPolicy": policy},
                "numares": {"cpu": {"allocatable": free, "capacity": 8}},
                "cpuDetail": details(),
                **spec,
            },
        },
    )


def pod(
    name: str, *cpus: object, policy: str = "", on: str = "", limits: bool = True, phase: str = ""
) -> Pod:
    """A Guaranteed pod with one container for each amount of cpu; None asks for memory alone."""
    containers = []
    for at, cpu in enumerate(cpus):
        asked = {"memory": "1Gi"} if cpu is None else {"cpu": cpu, "memory": "1Gi"}
        resources = {"requests": asked, "limits": asked} if limits else {"requests": asked}
        containers.append({"name": f"c{at}", "resources": resources})
    notes = {"scheduling.k8s.io/group-name": GROUP, **({POLICY: policy} if policy else {})}
    return read(
        Pod,
        {
            "metadata": {"name": name, "namespace": "default", "uid": name, "annotations": notes},
            "spec": {"containers": containers, "nodeName": on},
            "status": {"phase": phase or ("Running" if on else "Pending")},
        },
    )


class Stage:
    """A session with numa-aware alone in it."""

    def __init__(self, *objects: Any, weight: int = 1) -> None:
        group = job(GROUP, tasks=0, min_available=0)
        tiers = [[entry("numa-aware", {"weight": weight})]]
        self.session: Session = session_of(
            queue("default"), group, *objects, tiers=tiers, plugins=[NumaAware]
        )
        self.plugin: Any = self.session.plugins[0]

    def task(self, name: str) -> Task:
        return next(task for task in self.session.tasks if task.name == name)

    def put(self, name: str, on: str) -> None:
        assert self.session.put(self.task(name), self.session.nodes.row_of[on], Status.ALLOCATED)

    def verdicts(self, name: str) -> dict[str, str]:
        scoring, task = self.session.scoring, self.task(name)
        is_open, curable = scoring.open_nodes(task), scoring.curable_nodes(task)
        names = self.session.nodes.names
        return {n: FITS if is_open[row] else "U" if curable[row] else UU for row, n in enumerate(names)}

    def scores(self, name: str) -> dict[str, float]:
        task, everywhere = self.task(name), np.ones(len(self.session.nodes), dtype=np.bool_)
        scores = self.session.scoring.class_of(task).scores_of(task, everywhere)
        return dict(zip(self.session.nodes.names, scores.tolist(), strict=True))

    def why(self, name: str) -> str:
        scoring, task = self.session.scoring, self.task(name)
        return str(scoring.diagnose(task, ~scoring.open_nodes(task), with_room=False))

    def assigned(self) -> dict[str, dict[str, str]]:
        return {uid: dict(given.containers) for uid, given in self.plugin.assignments.items()}

    def free(self, name: str) -> str:
        cpus = self.plugin._cpus_of_row[self.session.nodes.row_of[name]]
        return cpus.topology.spelled(cpus.free)


def test_numatopology_is_a_kind_that_is_read() -> None:
    assert KINDS["nodeinfo.volcano.sh", "Numatopology"] is Numatopology
    bare = read(Numatopology, {"metadata": {"name": "n1"}})
    assert bare.spec.cpu_detail == {}
    full = numa(
        "n1", podAllocations=[{"uid": "a", "containerAllocations": [{"allocations": {"cpu": "0-1"}}]}]
    )
    assert full.spec.cpu_detail["7"] == CpuInfo(numa=1, socket=1, core=3)
    assert full.spec.pod_allocations[0].container_allocations[0].allocations == {"cpu": "0-1"}


class TestWhoIsJudged:
    def test_a_pod_that_is_not_guaranteed_passes_everywhere_and_gets_nothing(self) -> None:
        stage = Stage(node("n1"), numa("n1", free=""), pod("a", 2, policy="restricted", limits=False))
        stage.put("a", "n1")
        assert (stage.verdicts("a"), stage.assigned()) == ({"n1": FITS}, {})

    def test_a_pod_that_insists_on_a_policy_needs_a_node_that_has_it(self) -> None:
        stage = Stage(
            *(node(name) for name in ("bare", "shared", "other", "full", "good")),
            numa("shared", cpu_policy="none"),
            numa("other", policy="best-effort"),
            numa("full", free=""),
            numa("good"),
            pod("a", 2, policy="restricted"),
        )
        assert stage.verdicts("a") == {"bare": UU, "shared": UU, "other": UU, "full": UU, "good": FITS}
        assert stage.why("a") == (
            "0/4 nodes are unavailable: 1 node(s) didn't have the static cpu manager policy, "
            "1 node(s) had another topology manager policy, 1 node(s) had no NUMA topology, "
            "1 node(s) had no free CPUs of their own."
        )

    @pytest.mark.parametrize("policy", ["", "none"])
    def test_a_pod_without_a_policy_passes_nodes_that_do_not_care(self, policy: str) -> None:
        stage = Stage(
            *(node(name) for name in ("bare", "shared", "lax", "strict")),
            numa("shared", cpu_policy="none", free=""),
            numa("lax", policy="none", free=""),
            numa("strict", free=""),
            pod("a", 2, policy=policy),
        )
        assert stage.verdicts("a") == {"bare": FITS, "shared": FITS, "lax": FITS, "strict": UU}
        assert stage.scores("a") == {"bare": 0, "shared": 0, "lax": 0, "strict": 0}

    def test_a_part_of_a_cpu_is_no_cpu_of_ones_own(self) -> None:
        stage = Stage(
            node("n1"), numa("n1", free="0"), pod("a", "500m", "1500m", policy="restricted"), pod("b", 2)
        )
        stage.put("a", "n1")
        assert (stage.verdicts("a"), stage.assigned()) == ({"n1": FITS}, {})
        assert stage.verdicts("b") == {"n1": UU}

    def test_a_report_that_cannot_be_read_is_told_and_the_node_counts_as_having_none(self) -> None:
        stage = Stage(node("n1"), numa("n1", free="0-x"), pod("a", 2, policy="restricted"))
        assert stage.verdicts("a") == {"n1": UU}
        assert [str(one) for one in stage.session.snapshot.complaints] == [
            'numatopology n1: left out: "x" is no CPU id; write ids like "0,2-4"'
        ]


class TestPolicies:
    """Four CPUs to a socket; three of them are free on socket 0, two on socket 1."""

    FREE = "1-3,6-7"

    @pytest.mark.parametrize(
        ("policy", "cpus", "verdict", "given"),
        [
            ("restricted", 3, FITS, "1-3"),
            ("restricted", 4, UU, ""),
            ("restricted", 5, FITS, "1-3,6-7"),
            ("single-numa-node", 3, FITS, "1-3"),
            ("single-numa-node", 4, UU, ""),
            ("single-numa-node", 5, UU, ""),
            ("best-effort", 4, FITS, "2-3,6-7"),
            ("best-effort", 5, FITS, "1-3,6-7"),
            ("best-effort", 6, FITS, ""),
        ],
    )
    def test_a_node_takes_what_its_policy_allows(
        self, policy: str, cpus: int, verdict: str, given: str
    ) -> None:
        stage = Stage(
            node("n1", cpu=8), numa("n1", free=self.FREE, policy=policy), pod("a", cpus, policy=policy)
        )
        assert stage.verdicts("a") == {"n1": verdict}
        if verdict == FITS:
            stage.put("a", "n1")
            assert stage.assigned() == ({"a": {"c0": given}} if given else {})

    def test_one_container_after_another_takes_from_what_is_left(self) -> None:
        stage = Stage(node("n1", cpu=8), numa("n1"), pod("a", 2, "1500m", 4, 2, policy="restricted"))
        stage.put("a", "n1")
        assert stage.assigned() == {"a": {"c0": "0-1", "c2": "4-7", "c3": "2-3"}}
        assert stage.plugin.assignments["a"].per_numa_node == {0: 4, 1: 4}
        assert stage.free("n1") == ""

    def test_reserved_cpus_are_never_given(self) -> None:
        stage = Stage(node("n1", cpu=8), numa("n1", resReserved={"cpu": "1500m"}), pod("a", 4), pod("b", 2))
        stage.put("a", "n1")
        stage.put("b", "n1")
        assert stage.assigned() == {"a": {"c0": "4-7"}, "b": {"c0": "2-3"}}

    def test_a_pod_on_its_way_holds_its_cpus_until_the_agent_has_seen_it(self) -> None:
        seen = numa("seen", free="2-7", podAllocations=[{"uid": "s"}])
        stage = Stage(
            *(node(name, cpu=8) for name in ("seen", "unseen")),
            seen,
            numa("unseen"),
            pod("s", 2, on="seen", phase="Pending"),
            pod("u", 2, on="unseen", phase="Pending"),
            pod("r", 2, on="unseen"),
        )
        assert (stage.free("seen"), stage.free("unseen")) == ("2-7", "2-7")


class TestPicker:
    @pytest.mark.parametrize(
        ("free", "count", "picked"),
        [
            ("0-7", 4, "0-3"),
            ("0-7", 5, "0-4"),
            ("0-7", 6, "0-5"),
            ("1-7", 4, "4-7"),
            ("0-3,6-7", 2, "6-7"),
            ("0-1,3-7", 1, "3"),
            ("0-2,4-7", 3, "0-2"),
            ("1,3,5", 2, "1,5"),
            ("1,4", 1, "1"),
            ("0-2", 4, ""),
            ("0-2", 0, ""),
        ],
    )
    def test_whole_sockets_then_whole_cores_then_the_fullest_places(
        self, free: str, count: int, picked: str
    ) -> None:
        topology = machine()
        assert topology.spelled(pick(topology, topology.named(free), count)) == picked

    def test_cores_that_are_counted_anew_on_every_socket_are_different_cores(self) -> None:
        topology = topology_of(
            {str(cpu): CpuInfo(numa=cpu // 2, socket=cpu // 2, core=0) for cpu in range(4)}
        )
        assert len(topology.cores) == 2

    @given(st.sets(st.integers(0, 15)), st.integers(0, 16), st.sampled_from([1, 2]))
    def test_it_picks_exactly_so_many_of_the_free_ones_or_none(
        self, free: set[int], count: int, per_socket: int
    ) -> None:
        topology = machine(cores=4, numa_per_socket=per_socket)
        some = sum(1 << cpu for cpu in free)
        picked = pick(topology, some, count)
        assert picked & ~some == 0
        assert picked.bit_count() == (count if count <= len(free) else 0)


class TestHints:
    @given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.integers(1, 12))
    def test_the_hint_is_the_smallest_set_with_the_smallest_bits(self, counts: list[int], wish: int) -> None:
        feasible = [
            (bits.bit_count(), bits)
            for bits in range(1, 1 << len(counts))
            if sum(counts[at] for at in members(bits)) >= wish
        ]
        size = fewest(counts, wish)
        assert size == (min(feasible)[0] if feasible else None)
        if size is not None:
            assert lowest(counts, size, wish) == tuple(members(min(feasible)[1]))

    @given(st.sets(st.integers(0, 15)), st.lists(st.integers(0, 6), min_size=1, max_size=4))
    def test_containers_never_share_a_cpu(self, free: set[int], wishes: list[int]) -> None:
        some = sum(1 << cpu for cpu in free)
        given = assign(machine(cores=4), "best-effort", some, tuple(wishes))
        assert given is not None
        assert sum(cpus.bit_count() for cpus in given) == sum(given).bit_count()
        assert sum(given) & ~some == 0


class TestScores:
    def test_fewer_numa_nodes_are_better_measured_against_the_worst_candidate(self) -> None:
        """Raw 1, 2, 4 with weight 10 are 750, 500, 0."""
        four = {"cpuDetail": details(sockets=4, cores=2, threads=1)}
        stage = Stage(
            *(node(name, cpu=8) for name in ("one", "two", "four")),
            numa("one", policy="best-effort", cpuDetail=details(sockets=1, cores=4)),
            numa("two", policy="best-effort", free="0-3", **four),
            numa("four", policy="best-effort", free="0,2,4,6", **four),
            pod("a", 4, policy="best-effort"),
            weight=10,
        )
        assert stage.scores("a") == {"one": 750, "two": 500, "four": 0}

    def test_scores_follow_what_is_taken(self) -> None:
        stage = Stage(
            *(node(name, cpu=8) for name in ("n1", "n2")),
            numa("n1", policy="best-effort"),
            numa("n2", policy="best-effort"),
            *(pod(name, 3, policy="best-effort") for name in ("a", "b", "c")),
        )
        assert stage.scores("c") == {"n1": 0, "n2": 0}
        stage.put("a", "n1")
        stage.put("b", "n1")
        assert stage.verdicts("c") == {"n1": FITS, "n2": FITS}
        assert stage.scores("c") == {"n1": 100, "n2": 0}  # n1 has too few left and assigns none
        stage.session.take_back(stage.task("a"))
        assert stage.scores("c") == {"n1": 0, "n2": 0}

    def test_a_node_that_would_split_the_task_is_half_as_good(self) -> None:
        stage = Stage(
            *(node(name, cpu=8) for name in ("n1", "n2")),
            numa("n1", policy="best-effort", free="0-1,4-5"),
            numa("n2", policy="best-effort"),
            pod("a", 3, policy="best-effort"),
        )
        assert stage.scores("a") == {"n1": 0, "n2": 50}


class TestEvents:
    def test_an_undone_placement_returns_exactly_its_cpus(self) -> None:
        stage = Stage(node("n1", cpu=8), numa("n1"), pod("a", 2), pod("b", 2), pod("c", 2))
        for name in "abc":
            stage.put(name, "n1")
        stage.session.take_back(stage.task("b"))
        assert stage.free("n1") == "2-3,6-7"
        assert stage.assigned() == {"a": {"c0": "0-1"}, "c": {"c0": "4-5"}}

    def test_an_undone_eviction_takes_the_very_same_cpus_again(self) -> None:
        stage = Stage(node("n1", cpu=8), numa("n1"), pod("a", 2), pod("b", 2), pod("r", 2, on="n1"))
        stage.put("a", "n1")
        stage.put("b", "n1")
        stage.session.take_back(stage.task("a"))
        before = stage.free("n1"), stage.assigned()
        for name in "br":
            task = stage.task(name)
            status = task.status
            stage.session.start_release(task)
            stage.session.cancel_release(task, status)
        assert (stage.free("n1"), stage.assigned()) == before

    def test_the_story_tells_which_cpus_a_bound_task_gets(self) -> None:
        stage = Stage(node("n1", cpu=8), numa("n1"), pod("a", 2), pod("b", 2))
        stage.put("a", "n1")
        stage.put("b", "n1")
        stage.session.bind(stage.task("a"))
        stage.plugin.on_close()
        notes = [str(note) for note in stage.session.trace.jobs[f"default/{GROUP}"]]
        assert notes == ["numa-aware: a gets CPUs on n1: c0: 0-1"]


@given(st.data())
def test_no_cpu_is_ever_given_twice_and_undo_is_exact(data: st.DataObject) -> None:
    amounts = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    stage = Stage(
        *(node(name, cpu=8) for name in ("n1", "n2")),
        numa("n1", policy="best-effort", free=data.draw(st.sampled_from(["0-7", "1-6", "0,2,4,6"]))),
        numa("n2", policy="restricted"),
        *(pod(f"p{at}", cpus) for at, cpus in enumerate(amounts)),
    )
    names = {f"p{at}" for at in range(len(amounts))}
    start = stage.free("n1"), stage.free("n2")
    placed: list[str] = []
    for _ in range(data.draw(st.integers(1, 12))):
        waiting = sorted(names - set(placed))
        if waiting and data.draw(st.booleans()):
            name = data.draw(st.sampled_from(waiting))
            row = data.draw(st.integers(0, 1))
            if stage.session.scoring.open_nodes(stage.task(name))[row]:
                stage.put(name, f"n{row + 1}")
                placed.append(name)
        elif placed:
            stage.session.take_back(stage.task(placed.pop(data.draw(st.integers(0, len(placed) - 1)))))
        held = [(row, cpus) for row, given in stage.plugin._holdings.held.values() for cpus in given]
        for row in (0, 1):
            here = [cpus for at, cpus in held if at == row] + [stage.plugin._cpus_of_row[row].free]
            assert sum(cpus.bit_count() for cpus in here) == sum(here).bit_count()
    for name in placed:
        stage.session.take_back(stage.task(name))
    assert (stage.free("n1"), stage.free("n2")) == start


def test_only_exact_limits_make_a_pod_guaranteed() -> None:
    def made(**resources: Any) -> Pod:
        return read(Pod, {"spec": {"containers": [{"resources": resources}]}})

    both = {"cpu": "2", "memory": "1Gi"}
    assert is_guaranteed(made(limits=both))
    assert is_guaranteed(made(limits=both, requests={"cpu": 2, "memory": 2**30}))
    assert not is_guaranteed(made(requests=both))
    assert not is_guaranteed(made(limits={"cpu": 2}))
    assert not is_guaranteed(made(limits=both, requests={"cpu": 1}))
    assert not is_guaranteed(read(Pod, {}))


def test_it_keeps_the_contract_of_plugins() -> None:
    check_plugin(NumaAware, {"weight": 3})
    check_plugin(
        NumaAware,
        clusters=[
            Sample(
                "machines with NUMA nodes",
                (node("n1", cpu=8), node("n2", cpu=8), node("n3", cpu=8)),
                (
                    queue("default"),
                    *job(GROUP, tasks=0, min_available=0).objects,
                    numa("n1", free="0-5"),
                    numa("n2", policy="best-effort", free="0,2,4"),
                    *(pod(f"p{at}", 1 + at % 3, policy=("", "restricted")[at % 2]) for at in range(5)),
                ),
            )
        ],
    )


def machine(**shape: Any) -> CpuTopology:
    return topology_of(read_details(**shape))


def read_details(**shape: Any) -> dict[str, CpuInfo]:
    return {cpu: CpuInfo(**info) for cpu, info in details(**shape).items()}
