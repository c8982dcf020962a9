"""The definitions as an API server takes them: what it accepts, refuses, fills in and leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from harness import KINDS, Api, ApiError, ControlPlane, Object, clean
from hekla.server.deploy.manifests import read_part
from whole_objects import EVERYTHING, POD_TEMPLATE

DEFINITIONS = {definition["spec"]["names"]["kind"]: definition for definition in read_part("crds")}
WITH_STATUS_ENDPOINT = {"HyperNode", "Job", "NodeShard", "Queue"}
TRIAL = {"dryRun": "All", "fieldValidation": "Strict"}

# What has to be there for a field below it to be tried alone.
FRAMES: dict[str, Object] = {
    "PodGroup": {"spec": {}},
    "Queue": {"spec": {}},
    "Job": {
        "spec": {
            "volumes": [{"mountPath": "/data"}],
            "tasks": [{"partitionPolicy": {"totalPartitions": 1, "partitionSize": 1}}],
        }
    },
    "Command": {},
    "HyperNode": {"spec": {"tier": 1, "members": [{"type": "Node"}]}},
    "NodeShard": {"spec": {"nodesDesired": []}},
    "Numatopology": {},
}


@pytest.fixture
def api(plane: ControlPlane) -> Iterator[Api]:
    clean(plane)
    yield plane.admin
    clean(plane)


def thing(kind: str, **parts: Any) -> Object:
    return {"apiVersion": KINDS[kind].api_version, "kind": kind, "metadata": {"name": "it"}, **parts}


def with_value(kind: str, path: str, value: Any) -> Object:
    """The frame of a kind with one value in it; numbers in a path are places in lists."""
    made = thing(kind, **deepcopy(FRAMES[kind]))
    *steps, last = [int(step) if step.isdecimal() else step for step in path.split(".")]
    here: Any = made
    for step, following in zip(steps, [*steps, last][1:], strict=True):
        if step == len(here) or (isinstance(step, str) and step not in here):
            put(here, step, [] if isinstance(following, int) else {})
        here = here[step]
    put(here, last, value)
    return made


def put(where: Any, step: str | int, value: Any) -> None:
    """Into a mapping, or into a list, at its end or over what is there."""
    if step == len(where):
        where.append(value)
    else:
        where[step] = value


def tried(api: Api, made: Object) -> Object:
    """What the server would store. A status goes the way of the kind."""
    kind = KINDS[made["kind"]]
    if "status" in made and kind.name in WITH_STATUS_ENDPOINT:
        if api.find(kind.name, "it") is None:
            api.create({key: value for key, value in made.items() if key != "status"})
        body = {"status": made["status"]}
        path = kind.path("default", "it", "status")
        return api.request("PATCH", path, body, query=TRIAL, content_type="application/merge-patch+json")
    return api.request("POST", kind.path("default"), made, query=TRIAL)


def is_accepted(api: Api, kind: str, path: str, value: Any) -> bool:
    try:
        stored = tried(api, with_value(kind, path, value))
    except ApiError as error:
        if error.status != 422:
            raise
        return False
    assert value_at(stored, path) == value, "accepted, but not kept as it was given"
    return True


def value_at(found: Any, path: str) -> Any:
    for step in path.split("."):
        found = found[int(step)] if step.isdecimal() else found[step]
    return found


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_the_least_object_is_accepted(api: Api, kind: str) -> None:
    least: Object = {"spec": {"nodesDesired": []}} if kind == "NodeShard" else {}
    (stored,) = api.create(thing(kind, **least))
    assert {key for key in stored if key != "metadata"} == {"apiVersion", "kind", *least}


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_an_object_with_every_field_is_kept_whole(api: Api, kind: str) -> None:
    whole = EVERYTHING[kind] | {"metadata": {"name": "it"}}
    schema = DEFINITIONS[kind]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert defined(schema) <= used(whole), "the object leaves fields out"
    api.request("POST", KINDS[kind].path("default"), whole, query={"fieldValidation": "Strict"})
    if kind in WITH_STATUS_ENDPOINT:
        assert "status" not in api.get(kind, "it")
        api.patch(whole, {"status": whole["status"]}, subresource="status")
    stored = api.get(kind, "it")
    assert {key: stored[key] for key in whole if key != "metadata"} == EVERYTHING[kind]


def defined(schema: Object, path: str = "") -> set[str]:
    found: set[str] = set()
    for name, field in schema.get("properties", {}).items():
        found |= {f"{path}.{name}"} | defined(field, f"{path}.{name}")
    for inner in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict):
            found |= defined(inner, path)
    return found


def used(value: Any, path: str = "") -> set[str]:
    """All paths of an object; below a map with free keys, also those without the key."""
    if isinstance(value, list):
        return set().union(*(used(item, path) for item in value))
    if not isinstance(value, dict):
        return set()
    found: set[str] = set()
    for name, item in value.items():
        found |= {f"{path}.{name}"} | used(item, f"{path}.{name}") | used(item, path)
    return found


def test_the_status_of_a_pod_group_is_an_ordinary_part_of_it(api: Api) -> None:
    made = thing("PodGroup", spec={}, status={"phase": "Pending"})
    (stored,) = api.create(made)
    assert stored["status"] == {"phase": "Pending"}
    assert api.patch(made, {"status": {"phase": "Inqueue"}})["status"] == {"phase": "Inqueue"}
    with pytest.raises(ApiError, match="404"):
        api.patch(made, {"status": {"phase": "Running"}}, subresource="status")


@pytest.mark.parametrize("kind", sorted(WITH_STATUS_ENDPOINT))
def test_elsewhere_a_status_is_written_through_its_endpoint_only(api: Api, kind: str) -> None:
    status = EVERYTHING[kind]["status"]
    made = thing(kind, **FRAMES[kind])
    (stored,) = api.create(made | {"status": status})
    assert "status" not in stored
    assert "status" not in api.patch(made, {"status": status})
    assert api.patch(made, {"status": status}, subresource="status")["status"] == status


DEFAULTS = [
    ("PodGroup", {}, {}),
    ("PodGroup", {"spec": {}}, {"spec": {"queue": "default"}}),
    (
        "PodGroup",
        {"spec": {"networkTopology": {}, "subGroupPolicy": [{"name": "a"}]}},
        {
            "spec": {
                "queue": "default",
                "networkTopology": {"mode": "hard"},
                "subGroupPolicy": [{"name": "a", "subGroupSize": 1, "minSubGroups": 0}],
            }
        },
    ),
    ("Queue", {}, {}),
    ("Queue", {"spec": {}}, {"spec": {"weight": 1, "dequeueStrategy": "traverse"}}),
    ("Job", {}, {}),
    ("Job", {"spec": {}}, {"spec": {"queue": "default", "maxRetry": 3}}),
    (
        "Job",
        {"spec": {"tasks": [{"partitionPolicy": {"totalPartitions": 2, "partitionSize": 1}}]}},
        {
            "spec": {
                "queue": "default",
                "maxRetry": 3,
                "tasks": [
                    {"partitionPolicy": {"totalPartitions": 2, "partitionSize": 1, "minPartitions": 0}}
                ],
            }
        },
    ),
    ("HyperNode", {"spec": {"tier": 0}}, {"spec": {"tier": 0}}),
    ("PodGroup", {"spec": {"queue": None}}, {"spec": {"queue": "default"}}),
]


@pytest.mark.parametrize(("kind", "given", "kept"), DEFAULTS)
def test_defaults_are_read_back(api: Api, kind: str, given: Object, kept: Object) -> None:
    stored = tried(api, thing(kind, **given))
    assert {key: stored[key] for key in stored if key in ("spec", "status")} == kept


NOT_NEGATIVE = [
    *(("PodGroup", f"spec.{name}") for name in ("minMember", "networkTopology.highestTierAllowed")),
    ("PodGroup", "spec.subGroupPolicy.0.minSubGroups"),
    ("PodGroup", "spec.subGroupPolicy.0.networkTopology.highestTierAllowed"),
    *(("PodGroup", f"status.{name}") for name in ("running", "succeeded", "failed")),
    ("Queue", "spec.priority"),
    *(("Queue", f"status.{name}") for name in ("pending", "running", "unknown", "inqueue", "completed")),
    *(("Job", f"spec.{name}") for name in ("minAvailable", "maxRetry", "ttlSecondsAfterFinished")),
    *(("Job", f"spec.tasks.0.{name}") for name in ("replicas", "minAvailable")),
    ("Job", "spec.tasks.0.partitionPolicy.minPartitions"),
    *(("Job", f"status.{name}") for name in ("minAvailable", "pending", "running", "succeeded", "failed")),
    *(("Job", f"status.{name}") for name in ("unknown", "terminating", "version", "retryCount")),
    ("HyperNode", "spec.tier"),
    ("HyperNode", "status.nodeCount"),
    *(("Numatopology", f"spec.cpuDetail.cpu7.{name}") for name in ("numa", "socket", "core")),
]
POSITIVE = [
    ("PodGroup", "spec.subGroupPolicy.0.subGroupSize"),
    ("Queue", "spec.weight"),
    ("Job", "spec.minSuccess"),
    ("Job", "spec.tasks.0.partitionPolicy.totalPartitions"),
    ("Job", "spec.tasks.0.partitionPolicy.partitionSize"),
]
LONGEST = [
    ("PodGroup", "spec.queue", 253),
    ("PodGroup", "spec.priorityClassName", 253),
    ("PodGroup", "spec.networkTopology.highestTierName", 253),
    ("PodGroup", "spec.subGroupPolicy.0.name", 253),
    ("Queue", "spec.parent", 253),
    ("Queue", "spec.type", 253),
    ("Job", "spec.schedulerName", 63),
    ("Job", "spec.queue", 253),
    ("Job", "spec.priorityClassName", 253),
    ("Job", "spec.volumes.0.volumeClaimName", 253),
    ("Job", "spec.tasks.0.name", 63),
    ("HyperNode", "spec.tierName", 253),
    ("HyperNode", "spec.members.0.selector.exactMatch.name", 253),
]


@pytest.mark.parametrize(("kind", "path"), NOT_NEGATIVE)
def test_numbers_that_may_be_nought(api: Api, kind: str, path: str) -> None:
    assert is_accepted(api, kind, path, 0)
    assert not is_accepted(api, kind, path, -1)


@pytest.mark.parametrize(("kind", "path"), POSITIVE)
def test_numbers_from_one(api: Api, kind: str, path: str) -> None:
    assert is_accepted(api, kind, path, 1)
    assert not is_accepted(api, kind, path, 0)


def test_a_task_may_be_tried_for_ever(api: Api) -> None:
    """Different from Volcano, where -1 is meant to be written and refused (CW-17 in docs/compat.md)."""
    assert is_accepted(api, "Job", "spec.tasks.0.maxRetry", -1)
    assert not is_accepted(api, "Job", "spec.tasks.0.maxRetry", -2)


def test_a_weight_has_an_upper_bound(api: Api) -> None:
    assert is_accepted(api, "Queue", "spec.weight", 65535)
    assert not is_accepted(api, "Queue", "spec.weight", 65536)


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("PodGroup", "spec.minTaskMember.worker"),
        ("Job", "spec.policies.0.exitCode"),
        ("Queue", "spec.extendClusters.0.weight"),
        ("Numatopology", "spec.numares.cpu.capacity"),
    ],
)
def test_numbers_without_bounds(api: Api, kind: str, path: str) -> None:
    assert is_accepted(api, kind, path, -(2**31))
    assert is_accepted(api, kind, path, 2**31 - 1)


@pytest.mark.parametrize(("kind", "path", "longest"), LONGEST)
def test_names_have_a_longest_length(api: Api, kind: str, path: str, longest: int) -> None:
    assert is_accepted(api, kind, path, "a" * longest)
    assert not is_accepted(api, kind, path, "a" * (longest + 1))


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("PodGroup", "spec.queue"),
        ("Queue", "spec.parent"),
        ("Job", "spec.queue"),
        ("Job", "spec.priorityClassName"),
        ("HyperNode", "spec.members.0.selector.exactMatch.name"),
    ],
)
def test_names_of_objects(api: Api, kind: str, path: str) -> None:
    assert all(is_accepted(api, kind, path, name) for name in ("a", "a-1.b", "0"))
    assert not any(is_accepted(api, kind, path, name) for name in ("A", "-a", "a-", "a..b", "a_b", "a b"))


def test_names_of_tasks(api: Api) -> None:
    path = "spec.tasks.0.name"
    assert all(is_accepted(api, "Job", path, name) for name in ("a", "a-1", "0"))
    assert not any(is_accepted(api, "Job", path, name) for name in ("A", "a.b", "-a", "a-"))


def test_mount_paths(api: Api) -> None:
    path = "spec.volumes.0.mountPath"
    assert is_accepted(api, "Job", path, "relative or not")
    assert not is_accepted(api, "Job", path, "")
    assert not is_accepted(api, "Job", path, "/a:/b")


@pytest.mark.parametrize(
    ("kind", "path"), [("HyperNode", "spec.members"), ("Job", "spec.tasks")], ids=("members", "tasks")
)
def test_lists_that_may_be_absent_and_not_empty(api: Api, kind: str, path: str) -> None:
    assert not is_accepted(api, kind, path, [])


JOB_PHASES = "Pending Aborting Aborted Running Restarting Completing Completed Terminating Terminated Failed"
EVENTS = (
    "* PodPending PodRunning PodFailed PodEvicted Unknown TaskCompleted OutOfSync CommandIssued JobUpdated "
    "TaskFailed"
)
ENUMERATIONS = [
    ("PodGroup", "spec.networkTopology.mode", "hard soft"),
    ("PodGroup", "spec.subGroupPolicy.0.networkTopology.mode", "hard soft"),
    ("PodGroup", "status.phase", "Pending Running Unknown Inqueue Completed"),
    ("Queue", "spec.dequeueStrategy", "fifo traverse"),
    ("Queue", "status.state", "Open Closed Closing Unknown"),
    ("Job", "spec.networkTopology.mode", "hard soft"),
    ("Job", "spec.policies.0.event", EVENTS),
    ("Job", "spec.policies.0.events.0", EVENTS),
    ("Job", "spec.tasks.0.policies.0.event", EVENTS),
    ("Job", "spec.tasks.0.topologyPolicy", "none best-effort restricted single-numa-node"),
    ("Job", "spec.tasks.0.partitionPolicy.networkTopology.mode", "hard soft"),
    ("Job", "status.state.phase", JOB_PHASES),
    ("Job", "status.conditions.0.status", JOB_PHASES),
    ("HyperNode", "spec.members.0.type", "Node HyperNode"),
]


@pytest.mark.parametrize(("kind", "path", "words"), ENUMERATIONS)
def test_enumerations(api: Api, kind: str, path: str, words: str) -> None:
    assert [word for word in words.split() if not is_accepted(api, kind, path, word)] == []
    assert not is_accepted(api, kind, path, "Other")
    assert not is_accepted(api, kind, path, "")


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("PodGroup", "spec.minResources"),
        ("Queue", "spec.capability"),
        ("Queue", "spec.deserved"),
        ("Queue", "spec.guarantee.resource"),
        ("Queue", "status.allocated"),
    ],
)
def test_quantities_are_kept_as_they_are_written(api: Api, kind: str, path: str) -> None:
    good = [0, 1, -1, "1", "1000m", "+1.5Gi", ".5", "1.", "1e3", "1E-3", "12Ei", "5n", "3u", "7k"]
    assert [text for text in good if not is_accepted(api, kind, f"{path}.cpu", text)] == []
    bad = ["", "one", "1 Gi", "1gi", "1K", "--1", "1ee3", True, {}]
    assert [text for text in bad if is_accepted(api, kind, f"{path}.cpu", text)] == []


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_a_member_is_selected_in_exactly_one_way(api: Api, count: int) -> None:
    ways = {
        "exactMatch": {"name": "n1"},
        "regexMatch": {"pattern": "n"},
        "labelMatch": {"matchLabels": {"a": "b"}},
    }
    made = with_value("HyperNode", "spec.members.0.selector", dict(list(ways.items())[:count]))
    if count == 1:
        tried(api, made)
    else:
        with pytest.raises(ApiError, match="give exactly one of exactMatch, regexMatch and labelMatch"):
            tried(api, made)


@pytest.mark.parametrize(
    ("kind", "path", "whole"),
    [
        ("HyperNode", "spec", {"tier": 1}),
        ("HyperNode", "spec.members.0", {"type": "Node"}),
        ("HyperNode", "spec.members.0.selector.exactMatch", {"name": "n"}),
        ("HyperNode", "spec.members.0.selector.regexMatch", {"pattern": "n"}),
        ("NodeShard", "spec", {"nodesDesired": []}),
        ("Job", "spec.volumes.0", {"mountPath": "/data"}),
        ("Job", "spec.tasks.0.partitionPolicy", {"totalPartitions": 1, "partitionSize": 1}),
        ("Job", "status.conditions.0", {"status": "Running"}),
        ("Command", "target", {"apiVersion": "v1", "kind": "Job", "name": "n", "uid": "u"}),
        (
            "PodGroup",
            "spec.subGroupPolicy.0.labelSelector.matchExpressions.0",
            {"key": "a", "operator": "In"},
        ),
    ],
)
def test_what_is_required(api: Api, kind: str, path: str, whole: Object) -> None:
    tried(api, with_value(kind, path, whole))
    for name in whole:
        part = {key: value for key, value in whole.items() if key != name}
        with pytest.raises(ApiError, match=f"{name}: Required value"):
            tried(api, with_value(kind, path, part))


def test_conditions_of_hypernodes_have_the_usual_form(api: Api) -> None:
    (usual,) = EVERYTHING["HyperNode"]["status"]["conditions"]
    path = "status.conditions.0"
    good: list[Object] = [
        {"status": "True"},
        {"status": "False"},
        {"type": "a/" + "b" * 314},
        {"reason": "R" * 1024},
        {"message": "m" * 32768},
        {"observedGeneration": 0},
    ]
    bad: list[Object] = [
        {"status": "true"},
        {"type": "a/" + "b" * 315},
        {"reason": ""},
        {"reason": "two words"},
        {"reason": "R" * 1025},
        {"message": "m" * 32769},
        {"observedGeneration": -1},
        {"lastTransitionTime": "yesterday"},
    ]
    assert [change for change in good if not is_accepted(api, "HyperNode", path, usual | change)] == []
    assert [change for change in bad if is_accepted(api, "HyperNode", path, usual | change)] == []
    for name in ("type", "status", "reason", "message", "lastTransitionTime"):
        part = {key: value for key, value in usual.items() if key != name}
        assert not is_accepted(api, "HyperNode", path, part)


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_an_unknown_field_is_left_out_or_refused(api: Api, kind: str) -> None:
    made = with_value(kind, "spec.someday", 1)
    with pytest.raises(ApiError, match="unknown field"):
        tried(api, made)
    (stored,) = api.create(made)
    assert "someday" not in stored.get("spec", {})


def test_a_pod_template_is_kept_whole(api: Api) -> None:
    assert is_accepted(api, "Job", "spec.tasks.0.template", POD_TEMPLATE)
    assert is_accepted(api, "Job", "spec.tasks.0.template", {})


COLUMNS = {
    "PodGroup": "NAME STATUS MINMEMBER RUNNINGS AGE QUEUE",
    "Queue": "NAME PARENT",
    "Job": "NAME STATUS MINAVAILABLE RUNNINGS AGE QUEUE",
    "Command": "NAME AGE",
    "HyperNode": "NAME TIER TIERNAME NODECOUNT AGE",
    "NodeShard": "NAME AGE",
    "Numatopology": "NAME AGE",
}
SHORT_NAMES = {
    "PodGroup": "pg podgroup-v1beta1",
    "Queue": "q queue-v1beta1",
    "Job": "vcjob vj",
    "Command": "",
    "HyperNode": "hn",
    "NodeShard": "nsh",
    "Numatopology": "numatopo",
}


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_kubectl_shows_it_under_all_its_names(api: Api, plane: ControlPlane, kind: str) -> None:
    api.create(thing(kind, **FRAMES[kind]))
    group = KINDS[kind].api_version.partition("/")[0]
    for name in (f"{KINDS[kind].plural}.{group}", f"{kind.lower()}.{group}", *SHORT_NAMES[kind].split()):
        header, row = plane.kubectl("get", name, "-o", "wide").splitlines()
        assert header.split() == COLUMNS[kind].split()
        assert row.startswith("it ")


def test_kubectl_explains_every_kind(plane: ControlPlane) -> None:
    told = plane.kubectl("explain", "podgroups.spec.minMember")
    assert "The gang minimum." in told
