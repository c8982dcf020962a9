from __future__ import annotations

from typing import Any

import pytest
from plugin_stage import FITS, UU, Stage, U, in_zone, node, pod, read

from hekla.objects import CSINode, Manifest, PersistentVolume, PersistentVolumeClaim, StorageClass

LOCAL, CLOUD = "local", "cloud"
ZONE = "topology.kubernetes.io/zone"


def claim(name: str, size: str = "1Gi", *, volume: str = "", of: str = LOCAL, **meta: Any) -> Manifest:
    return read(
        PersistentVolumeClaim,
        {
            "metadata": {"name": name, "namespace": "default", **meta},
            "spec": {
                "storageClassName": of,
                "volumeName": volume,
                "resources": {"requests": {"storage": size}},
            },
            "status": {"phase": "Bound" if volume else "Pending"},
        },
    )


def volume(
    name: str, size: str = "1Gi", *, on: str = "", labels: dict[str, str] | None = None, **spec: Any
) -> Manifest:
    if on:
        wanted = {"key": "kubernetes.io/hostname", "operator": "In", "values": [on]}
        terms = [{"matchExpressions": [wanted]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return read(
        PersistentVolume,
        {
            "metadata": {"name": name, "labels": labels or {}},
            "spec": {"capacity": {"storage": size}, "storageClassName": LOCAL, **spec},
        },
    )


def storage_class(
    name: str = LOCAL, provisioner: str = "kubernetes.io/no-provisioner", **rest: Any
) -> Manifest:
    wait = {"volumeBindingMode": "WaitForFirstConsumer"}
    return read(StorageClass, {"metadata": {"name": name}, "provisioner": provisioner, **wait, **rest})


def using(*claims: str) -> dict[str, Any]:
    return {"volumes": [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]}


NODES = [in_zone("n1", "z1"), in_zone("n2", "z1"), in_zone("n3", "z2")]


def objection(stage: Stage, name: str = "new") -> str:
    said = stage.session.objection_to(stage.task(name))
    return said.reason if said else ""


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        ([], 'plugin VolumeBinding pre-predicates failed persistentvolumeclaim "data" not found'),
        (
            [claim("data", of="slow"), storage_class("slow", "p", volumeBindingMode="Immediate")],
            "plugin VolumeBinding pre-predicates failed pod has unbound immediate PersistentVolumeClaims",
        ),
        (
            [claim("data", deletionTimestamp="2026-01-01T00:00:00Z"), storage_class()],
            'plugin VolumeBinding pre-predicates failed persistentvolumeclaim "data" is being deleted',
        ),
        ([claim("data"), storage_class()], ""),
    ],
    ids=["missing", "immediate but unbound", "being deleted", "waiting"],
)
def test_a_claim_that_cannot_be_served_is_objected_to(objects: list[Manifest], said: str) -> None:
    stage = Stage(
        *NODES, *objects, pod("new", **using("data")), predicates={"predicate.VolumeZoneEnable": False}
    )
    assert objection(stage) == said


def test_the_zone_filter_objects_first() -> None:
    stage = Stage(*NODES, pod("new", **using("data")))
    assert (
        objection(stage) == 'plugin VolumeZone pre-predicates failed persistentvolumeclaim "data" not found'
    )


def test_an_ephemeral_volume_waits_for_its_claim() -> None:
    ephemeral = pod("new", volumes=[{"name": "scratch", "ephemeral": {}}])
    assert "ephemeral volume controller" in objection(Stage(*NODES, ephemeral))
    stage = Stage(*NODES, claim("new-scratch"), storage_class(), volume("v", on="n2"), ephemeral)
    assert stage.verdicts("new") == {"n1": UU, "n2": FITS, "n3": UU}


def test_a_bound_volume_keeps_its_task_near() -> None:
    stage = Stage(*NODES, claim("data", volume="v"), volume("v", on="n3"), pod("new", **using("data")))
    assert stage.verdicts("new") == {"n1": UU, "n2": UU, "n3": FITS}
    assert "2 node(s) had volume node affinity conflict" in stage.diagnosis("new")


def test_a_free_volume_goes_to_the_first_task_and_comes_back_with_it() -> None:
    tasks = [pod("first", **using("a")), pod("new", **using("b"))]
    stage = Stage(*NODES, claim("a"), claim("b"), storage_class(), volume("v", on="n1"), *tasks)
    assert stage.verdicts("new") == {"n1": FITS, "n2": UU, "n3": UU}
    stage.put("first", "n1")
    assert stage.verdicts("new") == {"n1": UU, "n2": UU, "n3": UU}
    stage.take_back("first")
    assert stage.verdicts("new") == {"n1": FITS, "n2": UU, "n3": UU}


def test_two_claims_of_a_task_need_two_volumes_in_one_place() -> None:
    volumes = [volume("v1", on="n1"), volume("v2", on="n2"), volume("v3", on="n2", size="5Gi")]
    stage = Stage(*NODES, claim("a"), claim("b"), storage_class(), *volumes, pod("new", **using("a", "b")))
    assert stage.verdicts("new") == {"n1": UU, "n2": FITS, "n3": UU}


def test_small_claims_take_small_volumes_and_leave_the_large_ones() -> None:
    volumes = [volume("large", "5Gi"), volume("small", "1Gi")]
    tasks = [pod("first", **using("a")), pod("new", **using("b"))]
    stage = Stage(*NODES, claim("a"), claim("b", "4Gi"), storage_class(), *volumes, *tasks)
    stage.put("first", "n1")
    assert set(stage.verdicts("new").values()) == {FITS}


def test_a_volume_kept_for_a_claim_is_for_that_claim_alone() -> None:
    kept = volume("v", on="n2", claimRef={"namespace": "default", "name": "mine"})
    tasks = [pod("owner", **using("mine")), pod("new", **using("other"))]
    stage = Stage(*NODES, claim("mine"), claim("other"), storage_class(), kept, *tasks)
    assert stage.verdicts("owner") == {"n1": UU, "n2": FITS, "n3": UU}
    assert set(stage.verdicts("new").values()) == {UU}


def test_a_class_that_makes_volumes_makes_them_where_it_may() -> None:
    where = [{"matchLabelExpressions": [{"key": "zone", "values": ["z2"]}]}]
    stage = Stage(
        *NODES,
        claim("data", of=CLOUD),
        storage_class(CLOUD, "csi.example", allowedTopologies=where),
        pod("new", **using("data")),
    )
    assert stage.verdicts("new") == {"n1": UU, "n2": UU, "n3": FITS}


def test_a_claim_shared_by_two_tasks_keeps_them_on_one_node() -> None:
    tasks = [pod("first", **using("data")), pod("new", **using("data"))]
    stage = Stage(*NODES, claim("data", of=CLOUD), storage_class(CLOUD, "csi.example"), *tasks)
    assert set(stage.verdicts("new").values()) == {FITS}
    stage.put("first", "n2")
    assert stage.verdicts("new") == {"n1": UU, "n2": FITS, "n3": UU}


def test_a_volume_that_is_gone_fits_nowhere() -> None:
    off = {"predicate.VolumeZoneEnable": False}
    stage = Stage(*NODES, claim("data", volume="gone"), pod("new", **using("data")), predicates=off)
    assert set(stage.verdicts("new").values()) == {UU}


def test_zone_labels_of_a_volume_bind_nodes_that_have_any() -> None:
    nodes = [
        node("n1", labels={ZONE: "a"}),
        node("n2", labels={ZONE: "c"}),
        node("n3"),
        node("n4", labels={"failure-domain.beta.kubernetes.io/zone": "c", ZONE: "a"}),
    ]
    beta = {"failure-domain.beta.kubernetes.io/zone": "a__b"}
    stage = Stage(*nodes, claim("data", volume="v"), volume("v", labels=beta), pod("new", **using("data")))
    assert stage.verdicts("new") == {"n1": FITS, "n2": UU, "n3": FITS, "n4": UU}


def test_with_all_volume_filters_off_nothing_is_asked() -> None:
    off = {f"predicate.{name}Enable": False for name in ("VolumeZone", "VolumeBinding", "NodeVolumeLimits")}
    assert set(Stage(*NODES, pod("new", **using("data")), predicates=off).verdicts("new").values()) == {FITS}


def limit(name: str, count: int) -> Manifest:
    drivers = [{"name": "csi.example", "allocatable": {"count": count}}]
    return read(CSINode, {"metadata": {"name": name}, "spec": {"drivers": drivers}})


def disk(name: str) -> list[Manifest]:
    source = {"csi": {"driver": "csi.example", "volumeHandle": name}}
    return [claim(name, volume=name), volume(name, **source)]


def test_a_node_attaches_so_many_volumes_and_a_shared_one_counts_once() -> None:
    stage = Stage(
        *NODES,
        limit("n1", 1),
        limit("n2", 2),
        *disk("a"),
        *disk("b"),
        pod("runs", on="n1", **using("a")),
        pod("too", on="n1", **using("a")),
        pod("there", on="n2", **using("a")),
        pod("new", **using("b")),
        pod("shares", **using("a")),
    )
    assert stage.verdicts("new") == {"n1": U, "n2": FITS, "n3": FITS}
    assert stage.verdicts("shares") == {"n1": FITS, "n2": FITS, "n3": FITS}
    stage.session.start_release(stage.task("runs"))
    assert stage.verdicts("new")["n1"] == U
    stage.session.start_release(stage.task("too"))
    assert stage.verdicts("new")["n1"] == FITS
