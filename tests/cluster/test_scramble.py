"""A scrambled cluster is decided as the plain one is, and gives no names away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekla.cluster.export import as_data, as_scenario, listed
from hekla.cluster.kubernetes.api.resources import RESOURCES
from hekla.cluster.scramble import RULES, ScrambledNames, scramble
from hekla.cluster.scramble.names import Pseudonyms
from hekla.conf import Conf
from hekla.conf import as_data as conf_as_data
from hekla.engine.framework.decisions import Bind, Evict
from hekla.engine.state.snapshot import Snapshot, take_snapshot
from hekla.objects import HyperNode, Manifest, Pod
from hekla.objects.keys import is_read
from hekla.objects.node import HyperNodeSpec, Member, MemberSelector, RegexMatch
from hekla.objects.pod import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
)
from hekla.objects.read import read_text
from hekla.objects.scenario import read_scenario
from hekla.scheduler.cycle import CycleReport, run_cycle
from hekla.testing import conf_of
from hekla.testing.builders import job, node, queue
from hekla.testing.conf_strategies import confs
from hekla.testing.pods import metadata
from hekla.testing.strategies import NOW, RandomCluster, clusters
from properties.effort import examples

NO_ORDER = conf_of("allocate", ("gang", "predicates"))


def read_again(objects: list[dict[str, Any]]) -> list[Manifest]:
    reading = read_text(listed(objects), "scrambled")
    assert reading.complaints == []
    return reading.objects


def decided(report: CycleReport) -> tuple[dict[str, str], list[str]]:
    binds = {d.pod: d.node for d in report.decisions if isinstance(d, Bind)}
    return binds, sorted(d.pod for d in report.decisions if isinstance(d, Evict))


def translated(
    found: tuple[dict[str, str], list[str]], names: ScrambledNames
) -> tuple[dict[str, str], list[str]]:
    def key(pod: str) -> str:
        namespace, _, name = pod.partition("/")
        return f"{names.of('namespace', namespace)}/{names.of('pod', name)}"

    binds, evictions = found
    return {key(pod): names.of("node", at) for pod, at in binds.items()}, sorted(map(key, evictions))


@examples(2.4)
@given(clusters(), confs(), st.integers(0, 1000))
def test_what_is_decided_is_the_same_up_to_names(cluster: RandomCluster, conf: Conf, seed: int) -> None:
    manifests = [*cluster.nodes, *cluster.others]
    plain = cluster.cycle(conf)
    objects, names = scramble(manifests, map(as_data, manifests), seed, conf=json.dumps(conf_as_data(conf)))
    again = take_snapshot(read_again(objects))
    again.load = {names.of("node", name): load for name, load in cluster.load.items()}
    assert decided(_cycle(again, conf)) == translated(decided(plain), names)


def _cycle(snapshot: Snapshot, conf: Conf) -> CycleReport:
    from hekla.engine.plugins.rescheduling import LAST_RUN  # noqa: PLC0415
    from hekla.engine.plugins.tdm import LAST_EVICTION  # noqa: PLC0415

    return run_cycle(snapshot, conf, now=NOW, memory={LAST_RUN: 0.0, LAST_EVICTION: 0.0})


@given(
    st.sets(st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,6}[a-z0-9])?", fullmatch=True), max_size=12),
    st.sets(st.sampled_from(["default", "kube-system", "root", "m"])),
    st.integers(0, 9),
)
def test_pseudonyms_sort_as_names_do(names: set[str], kept: set[str], seed: int) -> None:
    pseudonyms = Pseudonyms(seed, {"queue": kept})
    for name in names | kept:
        pseudonyms.of("queue", name)
    pseudonyms.settle()
    ordered = [pseudonyms.of("queue", name) for name in sorted(names | kept)]
    assert ordered == sorted(ordered)
    assert len(set(ordered)) == len(ordered)


def test_no_name_is_given_away() -> None:
    secret = job(
        "acme-train",
        tasks=2,
        cpu=1,
        queue="acme-queue",
        namespace="acme-space",
        labels={"acme.io/team": "acme-team", "app": "acme-app"},
        node_selector={"acme.io/pool": "acme-pool"},
        annotations={"kubectl.kubernetes.io/last-applied-configuration": "acme-env"},
    )
    manifests = [
        node("acme-node", labels={"acme.io/pool": "acme-pool"}),
        queue("acme-queue"),
        *secret.objects,
    ]
    objects, _ = scramble(manifests, map(as_data, manifests), 7)
    assert "acme" not in json.dumps(objects)
    pods = [found for found in read_again(objects) if isinstance(found, Pod)]
    assert len(pods) == 2


def test_numbers_in_labels_are_scrambled_too() -> None:
    badge = "8675309"
    secret = job("train", labels={"employee": badge}, node_selector={"rack": badge})
    manifests = [node("n1", labels={"rack": badge}), queue("default"), *secret.objects]
    objects, names = scramble(manifests, map(as_data, manifests), 7)
    assert badge not in json.dumps(objects)
    assert decided(_cycle(take_snapshot(read_again(objects)), NO_ORDER)) == translated(
        decided(_cycle(take_snapshot(manifests), NO_ORDER)), names
    )


def test_numbers_that_are_compared_keep_their_order() -> None:
    requirement = NodeSelectorRequirement(key="generation", operator="Gt", values=("9",))
    wish = Affinity(
        node_affinity=NodeAffinity(
            required=NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(requirement,)),))
        )
    )
    nodes = [node(f"n{number}", labels={"generation": str(number)}) for number in (8, 9, 10, 100)]
    manifests = [*nodes, queue("default"), *job("train", tasks=2, affinity=wish).objects]
    objects, names = scramble(manifests, map(as_data, manifests), 7)
    found = {
        d["metadata"]["name"]: d["metadata"]["labels"][names.key("generation")]
        for d in objects
        if d["kind"] == "Node"
    }
    numbers = [int(found[names.of("node", one.metadata.name)]) for one in nodes]
    assert numbers == sorted(set(numbers))
    assert numbers != [8, 9, 10, 100]
    assert decided(_cycle(take_snapshot(read_again(objects)), NO_ORDER)) == translated(
        decided(_cycle(take_snapshot(manifests), NO_ORDER)), names
    )


def test_the_plain_form_leaves_out_what_scheduling_does_not_read() -> None:
    secret = job("train", annotations={"kubectl.kubernetes.io/last-applied-configuration": "secret"})
    assert "secret" not in json.dumps([as_data(manifest) for manifest in secret.objects])
    assert is_read("scheduling.k8s.io/group-name")
    assert is_read("volcano.sh/task-spec")
    assert not is_read("notvolcano.sh/x")


def test_regular_expressions_of_hypernodes_become_the_nodes_they_mean() -> None:
    selector = MemberSelector(regex_match=RegexMatch(pattern="^rack1-"))
    rack = HyperNode(
        metadata=metadata("rack1"),
        spec=HyperNodeSpec(tier=1, members=(Member(type="Node", selector=selector),)),
    )
    manifests = [node("rack1-a"), node("rack2-a"), node("rack1-b"), rack]
    objects, names = scramble(manifests, map(as_data, manifests), 1)
    (found,) = [thing for thing in read_again(objects) if isinstance(thing, HyperNode)]
    exact = [m.selector.exact_match.name for m in found.spec.members if m.selector.exact_match is not None]
    assert exact == [names.of("node", "rack1-a"), names.of("node", "rack1-b")]


def test_a_snapshot_with_a_configuration_is_a_scenario(tmp_path: Path) -> None:
    manifests = [node("n1"), queue("default"), *job("train").objects]
    file = tmp_path / "state.json"
    file.write_bytes(as_scenario(map(as_data, manifests), "actions: allocate\n", "state"))
    scenario = read_scenario(file)
    assert (scenario.name, scenario.conf, scenario.complaints) == ("state", "actions: allocate\n", [])
    assert len(scenario.objects) == len(manifests)


@pytest.mark.parametrize("kind", RULES)
def test_every_kind_has_rules_for_all_its_texts(kind: str) -> None:
    """A text without a rule is left out, which is safe, and may change decisions, which is not."""
    found = next(r.kind for r in RESOURCES.values() if r.name == kind and kind != "Job")
    lacking = [path for path in _texts(found, RULES[kind]) if path not in LEFT_OUT]
    assert lacking == []


LEFT_OUT = {
    "metadata.resourceVersion",
    "spec.extendClusters",
    "status.conditions.message",
    "status.conditions.transitionID",
}


def _texts(struct: type, rules: Any, path: str = "") -> list[str]:
    """The paths of fields that hold text and have no rule."""
    found: list[str] = []
    for field in msgspec.structs.fields(struct):
        here = f"{path}.{field.encode_name}".strip(".")
        rule = rules.get(field.encode_name)
        if callable(rule):
            continue
        inner = _struct_in(field.type)
        if rule is None:
            if inner is not None or "str" in str(field.type) or "datetime" in str(field.type):
                found.append(here)
        elif inner is not None:
            found += _texts(inner, rule, here)
    return found


def _struct_in(hint: Any) -> type | None:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return hint
    for part in getattr(hint, "__args__", ()):
        if (found := _struct_in(part)) is not None:
            return found
    return None
