"""The referee's own sums and rules, on objects written by hand: no server needed."""

from __future__ import annotations

import pytest

from harness.demand import demand_of, thousandths
from harness.invariants import State, check, ports_clash
from harness.kinds import Object
from harness.manifests import node, pod, pod_group, queue
from harness.placement import objections


def bound(name: str, to: str, **words: object) -> Object:
    return pod(name, nodeName=to, **words)  # type: ignore[arg-type]


def told(state: State) -> list[str]:
    return [str(violation) for violation in check(state)]


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [
        ("1", 1000),
        ("100m", 100),
        ("0.0000000001", 1),
        ("1e3", 1_000_000),
        ("2Ki", 2_048_000),
        ("1.5Gi", 1_610_612_736_000),
        ("3k", 3_000_000),
        ("-4", -4000),
        (7, 7000),
    ],
)
def test_quantities_count_in_thousandths(quantity: str | int, expected: int) -> None:
    assert thousandths(quantity) == expected


@pytest.mark.parametrize("text", ["1.5.2", "NaN", "1Zi", "1e", "abc"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"quantity|Fraction"):
        thousandths(text)


def test_a_pod_asks_for_its_peak_or_its_containers_whichever_is_more() -> None:
    def container(cpu: str, **more: str) -> Object:
        return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "initContainers": [container("1"), container("2", restartPolicy="Always"), container("5")],
        "containers": [container("3"), container("1")],
        "overhead": {"cpu": "250m"},
    }
    assert demand_of({"spec": spec}) == {"cpu": 7250, "pods": 1000}


def test_a_sound_cluster_is_told_nothing() -> None:
    pods = [bound("a", "n1", cpu=2, group="g"), bound("b", "n2", cpu=4, group="g")]
    state = State(pods, [node("n1"), node("n2")], [pod_group("g", 2)], [queue("default")])
    assert told(state) == []


def test_pods_that_ended_hold_nothing() -> None:
    ended = [{**bound(name, "n1", cpu=4), "status": {"phase": "Succeeded"}} for name in "ab"]
    assert told(State([*ended, bound("c", "n1", cpu=4)], [node("n1", cpu=4)])) == []


def test_a_port_is_given_once_a_node() -> None:
    def with_port(name: str, to: str) -> Object:
        ports = [{"containerPort": 80, "hostPort": 8080}]
        return bound(name, to, containers=[{"name": "c", "ports": ports}])

    state = State(
        [with_port("a", "n1"), with_port("b", "n1"), with_port("c", "n2")], [node("n1"), node("n2")]
    )
    assert told(state) == ["I2 n1: port 8080/TCP is given to default/a and default/b"]
    assert not ports_clash(("10.0.0.1", "TCP", 80), ("10.0.0.2", "TCP", 80))


def test_a_gang_in_part_is_broken_and_a_gang_that_waits_is_not() -> None:
    pods = [
        bound("a-0", "n1", group="a"),
        pod("a-1", group="a"),
        pod("b-0", group="b"),
        pod("b-1", group="b"),
    ]
    state = State(pods, [node("n1")], [pod_group("a", 2), pod_group("b", 2)])
    assert told(state) == ["I4 default/a: 1 members placed of 2 needed; placed: default/a-0"]
    assert check(state, stranded={"default/a"}) == []


def test_each_task_of_a_gang_has_its_minimum() -> None:
    def member(name: str, task: str) -> Object:
        return bound(name, "n1", cpu=0, group="g", annotations={"volcano.sh/task-spec": task})

    group = pod_group("g", 2, minTaskMember={"master": 1, "worker": 1})
    state = State([member("w-0", "worker"), member("w-1", "worker")], [node("n1")], [group])
    assert told(state) == [
        'I4 default/g: 0 members of task "master" placed of 1 needed; placed: default/w-0, default/w-1'
    ]


def test_a_queue_and_those_above_it_stay_below_their_capability() -> None:
    queues = [
        queue("root"),
        queue("team", capability={"cpu": 3}, parent="root"),
        queue("left", capability={"cpu": 2}, parent="team"),
        queue("right", parent="team"),
    ]
    groups = [pod_group("l", 1, queue="left"), pod_group("r", 1, queue="right")]
    pods = [bound("l-0", "n1", cpu=2, group="l"), bound("r-0", "n1", cpu=2, group="r")]
    assert told(State(pods, [node("n1")], groups, queues)) == [
        "I7 team: holds 4 cpu and may hold 3; its pods: default/l-0, default/r-0"
    ]


@pytest.mark.parametrize(
    ("rule", "is_met"),
    [
        ({"key": "zone", "operator": "In", "values": ["a", "b"]}, True),
        ({"key": "zone", "operator": "NotIn", "values": ["a"]}, False),
        ({"key": "rack", "operator": "Exists"}, False),
        ({"key": "rack", "operator": "DoesNotExist"}, True),
        ({"key": "size", "operator": "Gt", "values": ["7"]}, True),
        ({"key": "size", "operator": "Lt", "values": ["7"]}, False),
    ],
)
def test_required_affinity_is_held_against_labels(rule: Object, is_met: bool) -> None:
    required = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    found = list(objections(pod("p", affinity=affinity), node("n1", labels={"zone": "a", "size": "8"})))
    assert found == ([] if is_met else ["its required node affinity does not match"])
