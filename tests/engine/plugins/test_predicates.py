from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from plugin_stage import FITS, REQUIRED, UU, Stage, U, apart, in_zone, near, node, pod, read, spread, term

from hekla.engine.model.status import Status
from hekla.engine.model.wait_reason import Verdict
from hekla.objects import Manifest, Namespace


@dataclass
class Story:
    title: str
    stage: list[Manifest]
    expect: dict[str, str]
    arguments: dict[str, object] = field(default_factory=dict)
    task: str = "new"

    def __str__(self) -> str:
        return self.title


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def chosen_by(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def listening(port: int, address: str = "", protocol: str = "TCP") -> dict[str, Any]:
    return {"ports": [{"hostPort": port, "hostIP": address, "protocol": protocol}]}


def sized(*sizes: int | str) -> list[Manifest]:
    return [node(f"n{i}", labels={"size": str(size)}) for i, size in enumerate(sizes)]


ZONES = [in_zone("n1", "z1"), in_zone("n2", "z1"), in_zone("n3", "z2")]
ADDRESS = ["n1", "n2", "n3"]


def everywhere(verdict: str = FITS) -> dict[str, str]:
    return dict.fromkeys(ADDRESS, verdict)


STORIES = [
    Story(
        "a node that runs as many pods as it may is refused, which an eviction could cure",
        [node("n1", pods=1), node("n2", pods=2), pod("a", on="n1"), pod("b", on="n2"), pod("new")],
        {"n1": U, "n2": FITS},
    ),
    Story(
        "a cordoned node is refused for good",
        [node("n1", cordoned=True), node("n2"), pod("new")],
        {"n1": UU, "n2": FITS},
    ),
    Story(
        "a task that tolerates the cordon gets in, even with all filters switched off",
        [
            node("n1", cordoned=True),
            pod("new", tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]),
        ],
        {"n1": FITS},
    ),
    Story(
        "a toleration with another value does not tolerate the cordon",
        [
            node("n1", cordoned=True),
            pod("new", tolerations=[{"key": "node.kubernetes.io/unschedulable", "value": "yes"}]),
        ],
        {"n1": UU},
    ),
    Story(
        "a node selector wants every label with its exact value",
        [*ZONES, pod("new", nodeSelector={"zone": "z1", "kubernetes.io/hostname": "n2"})],
        {"n1": UU, "n2": FITS, "n3": UU},
    ),
    Story(
        "terms are alternatives, expressions in one term must all hold",
        [
            *ZONES,
            pod(
                "new",
                affinity=chosen_by(
                    {"matchExpressions": [expression("zone", "In", "z2")]},
                    {
                        "matchExpressions": [
                            expression("zone", "Exists"),
                            expression("kubernetes.io/hostname", "NotIn", "n2"),
                        ]
                    },
                ),
            ),
        ],
        {"n1": FITS, "n2": UU, "n3": FITS},
    ),
    Story(
        "NotIn and DoesNotExist also match nodes without the label",
        [
            node("n1"),
            node("n2", labels={"zone": "z1"}),
            pod(
                "new",
                affinity=chosen_by(
                    {
                        "matchExpressions": [
                            expression("zone", "NotIn", "z1"),
                            expression("rack", "DoesNotExist"),
                        ]
                    }
                ),
            ),
        ],
        {"n1": FITS, "n2": UU},
    ),
    Story(
        "Gt compares whole numbers, and a label that is no number never matches",
        [
            *sized(3, 4, 10, "large"),
            pod("new", affinity=chosen_by({"matchExpressions": [expression("size", "Gt", "3")]})),
        ],
        {"n0": UU, "n1": FITS, "n2": FITS, "n3": UU},
    ),
    Story(
        "Lt is the other way round",
        [
            *sized(3, -4, 10),
            pod("new", affinity=chosen_by({"matchExpressions": [expression("size", "Lt", "3")]})),
        ],
        {"n0": UU, "n1": FITS, "n2": UU},
    ),
    Story(
        "a node may be asked for by name",
        [*ZONES, pod("new", affinity=chosen_by({"matchFields": [expression("metadata.name", "In", "n2")]}))],
        {"n1": UU, "n2": FITS, "n3": UU},
    ),
    Story(
        "an empty term and a term that makes no sense match nothing",
        [*ZONES, pod("new", affinity=chosen_by({}, {"matchExpressions": [expression("zone", "In")]}))],
        everywhere(UU),
    ),
    Story(
        "with the filter off, node affinity is not heeded",
        [*ZONES, pod("new", nodeSelector={"zone": "z2"})],
        everywhere(),
        {"predicate.NodeAffinityEnable": False},
    ),
    Story(
        "hard taints must be tolerated, soft ones need not be",
        [
            node("n1", taints=["gpu=reserved:NoSchedule"]),
            node("n2", taints=["old:PreferNoSchedule"]),
            node("n3", taints=["gpu=reserved:NoExecute", "disk:NoSchedule"]),
            pod("new", tolerations=[{"key": "gpu", "operator": "Exists"}]),
        ],
        {"n1": FITS, "n2": FITS, "n3": UU},
    ),
    Story(
        "an Equal toleration wants the value, an empty key with Exists tolerates everything",
        [
            node("n1", taints=["gpu=reserved:NoSchedule"]),
            node("n2", taints=["gpu=broken:NoSchedule"]),
            pod("new", tolerations=[{"key": "gpu", "value": "reserved"}]),
        ],
        {"n1": FITS, "n2": UU},
    ),
    Story(
        "with the filter off, taints are not heeded",
        [node("n1", taints=["gpu:NoSchedule"]), pod("new")],
        {"n1": FITS},
        {"predicate.TaintTolerationEnable": False},
    ),
    Story(
        "a host port is taken by the same protocol on the same or on every address",
        [
            node("n1"),
            node("n2"),
            node("n3"),
            pod("a", on="n1", container=listening(80, "10.0.0.1")),
            pod("b", on="n2", container=listening(80, protocol="UDP")),
            pod("c", on="n3", container=listening(80, "10.0.0.2")),
            pod("new", container=listening(80, "10.0.0.1")),
        ],
        {"n1": U, "n2": FITS, "n3": FITS},
    ),
    Story(
        "a wish for a port on every address meets all pods on that port",
        [
            node("n1"),
            pod("a", on="n1", container=listening(80, "10.0.0.1")),
            pod("new", container=listening(80)),
        ],
        {"n1": U},
    ),
    Story(
        "with the filter off, host ports are not heeded",
        [node("n1"), pod("a", on="n1", container=listening(80)), pod("new", container=listening(80))],
        {"n1": FITS},
        {"predicate.NodePortsEnable": False},
    ),
    Story(
        "a task that needs a database in its zone goes where one is",
        [*ZONES, pod("db", on="n1", labels={"app": "db"}), pod("new", affinity=near(term("db")))],
        {"n1": FITS, "n2": FITS, "n3": UU},
    ),
    Story(
        "company in another namespace does not count, unless it is asked for",
        [
            *ZONES,
            pod("db", on="n1", namespace="prod", labels={"app": "db"}),
            pod("new", affinity=near(term("db"))),
        ],
        everywhere(UU),
    ),
    Story(
        "namespaces may be listed",
        [
            *ZONES,
            pod("db", on="n1", namespace="prod", labels={"app": "db"}),
            pod("new", affinity=near(term("db", namespaces=["prod"]))),
        ],
        {"n1": FITS, "n2": FITS, "n3": UU},
    ),
    Story(
        "namespaces may be selected by their labels",
        [
            *ZONES,
            read(Namespace, {"metadata": {"name": "prod", "labels": {"team": "a"}}}),
            pod("db", on="n1", namespace="prod", labels={"app": "db"}),
            pod("other", on="n3", namespace="test", labels={"app": "db"}),
            pod("new", affinity=near(term("db", namespaceSelector={"matchLabels": {"team": "a"}}))),
        ],
        {"n1": FITS, "n2": FITS, "n3": UU},
    ),
    Story(
        "an empty namespace selector means every namespace",
        [
            *ZONES,
            pod("db", on="n3", namespace="prod", labels={"app": "db"}),
            pod("new", affinity=near(term("db", namespaceSelector={}))),
        ],
        {"n1": UU, "n2": UU, "n3": FITS},
    ),
    Story(
        "matchLabelKeys narrow a term to the task's own version",
        [
            *ZONES,
            pod("v1", on="n1", labels={"app": "db", "version": "1"}),
            pod("v2", on="n3", labels={"app": "db", "version": "2"}),
            pod("new", labels={"version": "2"}, affinity=near(term("db", matchLabelKeys=["version"]))),
        ],
        {"n1": UU, "n2": UU, "n3": FITS},
    ),
    Story(
        "the first of a group that wants to be together may start it anywhere with the label",
        [*ZONES, node("n4"), pod("new", labels={"app": "db"}, affinity=near(term("db")))],
        {**everywhere(), "n4": UU},
    ),
    Story(
        "a task that is not its own company waits for the company",
        [*ZONES, pod("new", affinity=near(term("db")))],
        everywhere(UU),
    ),
    Story(
        "one pod must match all terms at once",
        [
            *ZONES,
            pod("a", on="n1", labels={"app": "db"}),
            pod("b", on="n1", labels={"app": "web"}),
            pod("new", affinity=near(term("db"), term("web"))),
        ],
        everywhere(UU),
    ),
    Story(
        "a task stays out of the zones of pods it must be apart from",
        [
            *ZONES,
            node("n4"),
            pod("db", on="n1", labels={"app": "db"}),
            pod("new", affinity=apart(term("db"))),
        ],
        {"n1": U, "n2": U, "n3": FITS, "n4": FITS},
    ),
    Story(
        "pods that must be apart from the task keep it out",
        [*ZONES, pod("shy", on="n3", affinity=apart(term("db"))), pod("new", labels={"app": "db"})],
        {"n1": FITS, "n2": FITS, "n3": U},
    ),
    Story(
        "with the filter off, pod affinity is not heeded",
        [*ZONES, pod("db", on="n1", labels={"app": "db"}), pod("new", affinity=apart(term("db")))],
        everywhere(),
        {"predicate.PodAffinityEnable": False},
    ),
    Story(
        "a zone with two pods more than the emptiest takes no third",
        [
            *ZONES,
            pod("a", on="n1", labels={"app": "web"}),
            pod("b", on="n2", labels={"app": "web"}),
            pod("new", labels={"app": "web"}, topologySpreadConstraints=[spread("web")]),
        ],
        {"n1": U, "n2": U, "n3": FITS},
    ),
    Story(
        "pods that are leaving, of other namespaces or of other kinds do not count for the spread",
        [
            *ZONES,
            pod("a", on="n1", labels={"app": "web"}, leaving=True),
            pod("b", on="n2", labels={"app": "web"}, namespace="other"),
            pod("c", on="n2", labels={"app": "db"}),
            pod("new", labels={"app": "web"}, topologySpreadConstraints=[spread("web")]),
        ],
        everywhere(),
    ),
    Story(
        "a node without the label cannot be part of a spread, for good",
        [*ZONES, node("n4"), pod("new", labels={"app": "web"}, topologySpreadConstraints=[spread("web")])],
        {**everywhere(), "n4": UU},
    ),
    Story(
        "with too few domains the emptiest counts as empty",
        [
            *ZONES,
            *(pod(f"p{n}", on=n, labels={"app": "web"}) for n in ("n1", "n3")),
            pod("new", labels={"app": "web"}, topologySpreadConstraints=[spread("web", minDomains=3)]),
        ],
        everywhere(U),
    ),
    Story(
        "nodes the task cannot choose do not count as domains, unless the policy says so",
        [
            in_zone("n1", "z1"),
            in_zone("n3", "z2"),
            pod("a", on="n1", labels={"app": "web"}),
            pod(
                "new",
                labels={"app": "web"},
                nodeSelector={"zone": "z1"},
                topologySpreadConstraints=[spread("web")],
            ),
        ],
        {"n1": FITS, "n3": UU},
    ),
    Story(
        "a policy may let nodes count that the task cannot choose",
        [
            in_zone("n1", "z1"),
            in_zone("n3", "z2"),
            pod("a", on="n1", labels={"app": "web"}),
            pod(
                "new",
                labels={"app": "web"},
                nodeSelector={"zone": "z1"},
                topologySpreadConstraints=[spread("web", nodeAffinityPolicy="Ignore")],
            ),
        ],
        {"n1": U, "n3": UU},
    ),
    Story(
        "tainted domains count unless the policy honours taints",
        [
            in_zone("n1", "z1"),
            in_zone("n3", "z2", taints=["gpu:NoSchedule"]),
            pod("a", on="n1", labels={"app": "web"}),
            pod(
                "new",
                labels={"app": "web"},
                topologySpreadConstraints=[spread("web", nodeTaintsPolicy="Honor")],
            ),
        ],
        {"n1": FITS, "n3": UU},
    ),
    Story(
        "with the filter off, hard spread constraints are not heeded",
        [
            *ZONES,
            *(pod(f"p{n}", on=n, labels={"app": "web"}) for n in ("n1", "n2")),
            pod("new", labels={"app": "web"}, topologySpreadConstraints=[spread("web")]),
        ],
        everywhere(),
        {"predicate.PodTopologySpreadEnable": False},
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_predicates(story: Story) -> None:
    assert Stage(*story.stage, predicates=story.arguments).verdicts(story.task) == story.expect


def test_names_that_exclude_each_other_are_objected_to_before_any_node_is_looked_at() -> None:
    fields = [expression("metadata.name", "In", "n1"), expression("metadata.name", "In", "n2")]
    stage = Stage(*ZONES, pod("new", affinity=chosen_by({"matchFields": fields})))
    objection = stage.session.objection_to(stage.task("new"))
    assert objection is not None
    assert objection.reason == "plugin NodeAffinity pre-predicates failed pod affinity terms conflict"
    assert objection.verdict is Verdict.NEVER


def test_a_pod_placed_in_this_session_repels_no_task_where_no_such_pod_was_before() -> None:
    stage = Stage(
        *ZONES,
        pod("old", on="n3", affinity=apart(term("nobody"))),
        pod("shy", affinity=apart(term("db"))),
        pod("new", labels={"app": "db"}),
    )
    stage.put("shy", "n1")
    assert stage.verdicts("new") == everywhere()


def test_a_pod_placed_on_a_node_of_the_frozen_list_does_repel() -> None:
    stage = Stage(
        *ZONES,
        pod("old", on="n1", affinity=apart(term("nobody"))),
        pod("shy", affinity=apart(term("db"))),
        pod("new", labels={"app": "db"}),
    )
    stage.put("shy", "n1")
    assert stage.verdicts("new") == {"n1": U, "n2": U, "n3": FITS}


def test_two_that_must_be_apart_from_their_kind_see_each_other_at_once() -> None:
    kin = {"labels": {"app": "db"}, "affinity": apart(term("db"))}
    stage = Stage(*ZONES, pod("first", **kin), pod("new", **kin))
    stage.put("first", "n1")
    assert stage.verdicts("new") == {"n1": U, "n2": U, "n3": FITS}


def test_a_task_that_nothing_concerned_once_is_never_asked_about_again() -> None:
    stage = Stage(
        *ZONES,
        pod("old", on="n1", affinity=apart(term("nobody"))),
        pod("shy", affinity=apart(term("db"))),
        pod("new", labels={"app": "db"}),
        pod("late", labels={"app": "db"}),
    )
    assert stage.verdicts("new") == everywhere()
    stage.put("shy", "n1")
    assert stage.verdicts("new") == everywhere()
    assert stage.verdicts("late") == {"n1": U, "n2": U, "n3": FITS}


def test_a_promised_pod_counts_at_once_and_an_evicted_one_no_longer() -> None:
    stage = Stage(node("n1", pods=1), node("n2", pods=1), pod("runs", on="n2"), pod("a"), pod("new"))
    stage.put("a", "n1", Status.PIPELINED)
    assert stage.verdicts("new") == {"n1": U, "n2": U}
    stage.session.start_release(stage.task("runs"))
    assert stage.verdicts("new") == {"n1": U, "n2": FITS}
    stage.session.cancel_release(stage.task("runs"), Status.RUNNING)
    assert stage.verdicts("new") == {"n1": U, "n2": U}
    stage.take_back("a")
    assert stage.verdicts("new") == {"n1": FITS, "n2": U}


def test_placing_and_taking_back_leaves_no_trace() -> None:
    constraint = [spread("web")]
    kin = {"labels": {"app": "web"}, "topologySpreadConstraints": constraint, "container": listening(80)}
    stage = Stage(*ZONES, pod("first", **kin, affinity=apart(term("web", "rack"))), pod("new", **kin))
    before = stage.session.fingerprint(), stage.verdicts("new")
    stage.put("first", "n1")
    assert stage.verdicts("new") == {"n1": U, "n2": U, "n3": FITS}
    stage.take_back("first")
    assert (stage.session.fingerprint(), stage.verdicts("new")) == before


def test_the_diagnosis_counts_nodes_in_kubernetes_words() -> None:
    stage = Stage(
        node("n1", taints=["gpu=reserved:NoSchedule"]),
        node("n2", taints=["gpu=reserved:NoSchedule"]),
        node("n3", cordoned=True),
        node("n4", pods=0),
        pod("new"),
    )
    assert stage.diagnosis("new") == (
        "0/4 nodes are unavailable: 1 node(s) pod number exceeded, 1 node(s) were unschedulable, "
        "2 node(s) had untolerated taint(s)."
    )
    assert "2 taint gpu=reserved not tolerated" in stage.plainly("new")


def test_a_final_refusal_ends_a_nodes_list_of_reasons() -> None:
    stage = Stage(
        node("n1", cordoned=True, taints=["gpu:NoSchedule"], labels={"zone": "z"}),
        pod("db", on="n1", labels={"app": "db"}),
        pod("new", affinity=apart(term("db"))),
    )
    assert stage.diagnosis("new") == "0/1 nodes are unavailable: 1 node(s) were unschedulable."
