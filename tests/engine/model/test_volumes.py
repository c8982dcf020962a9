"""Volumes are part of what a pod asks for, and of what a node offers."""

from __future__ import annotations

import pytest

from hekla.cluster.store import Store
from hekla.engine.model.node import node_of
from hekla.engine.model.requests import VolumeRequests, offered_attachments
from hekla.objects import Manifest, Pod
from hekla.objects.pod import Ephemeral, PodSpec, Volume
from hekla.testing import node, pod
from hekla.testing.storage import claim, csi_node, storage_class, using, volume

FAST, SLOW = "attachable-volumes-csi-fast", "attachable-volumes-csi-slow"
CLASS = storage_class("s", "fast")


def asked(one: Pod, *objects: Manifest, ignored: tuple[str, ...] = ()) -> dict[str, int]:
    store = Store()
    for manifest in objects:
        store.put(manifest)
    return VolumeRequests(store.get, ignored).request_of(one)


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ((claim("c", of="s"), CLASS), {FAST: 1000}),
        ((claim("c", of="s", volume="v"), CLASS, volume("v", driver="slow")), {SLOW: 1000}),
        ((claim("c", of="s", volume="v"), CLASS, volume("v")), {}),
        ((claim("c", of="s", volume="v"), CLASS), {FAST: 1000}),
        ((claim("c", of="s"),), {}),
        ((claim("c"),), {}),
        ((CLASS,), {}),
        (
            (claim("c", of="s"), storage_class("s", "kubernetes.io/no-provisioner")),
            {"attachable-volumes-csi-kubernetes.io-no-provisioner": 1000},
        ),
    ],
    ids=[
        "unbound: the provisioner of its class",
        "bound: the driver of its volume",
        "bound to a volume without a driver: none",
        "its volume is missing: the provisioner of its class",
        "its class is missing: none",
        "without a class: none",
        "the claim is missing: none",
        "local volumes count while they are unbound",
    ],
)
def test_a_claim_counts_as_a_volume_of_its_driver(objects: tuple[Manifest, ...], expected: object) -> None:
    assert asked(using(pod("p"), "c"), *objects) == expected


def test_every_claim_of_a_pod_counts() -> None:
    claims = [claim(name, of="s") for name in ("a", "b", "c")]
    assert asked(using(pod("p"), "a", "b", "c"), CLASS, *claims) == {FAST: 3000}


def test_a_generic_ephemeral_volume_counts_by_the_claim_that_is_made_for_it() -> None:
    one = Pod(metadata=pod("p").metadata, spec=PodSpec(volumes=(Volume(name="tmp", ephemeral=Ephemeral()),)))
    assert asked(one, CLASS, claim("p-tmp", of="s")) == {FAST: 1000}


def test_ignored_provisioners_are_skipped() -> None:
    assert asked(using(pod("p"), "c"), CLASS, claim("c", of="s"), ignored=("fast",)) == {}


def test_a_pod_with_an_unknown_claim_counts_none_until_the_claim_comes() -> None:
    store = Store()
    requests = VolumeRequests(store.get)
    for manifest in (CLASS, claim("a", of="s")):
        store.put(manifest)
    assert requests.request_of(using(pod("p"), "a", "b")) == {}
    assert requests.pods_of(type(claim("b")), ["default/b"]) == ["default/p"]


def test_a_node_offers_what_its_csi_node_lists() -> None:
    assert offered_attachments(csi_node("n", fast=25, slow=None)) == {FAST: 25000, SLOW: (2**31 - 1) * 1000}
    assert offered_attachments(None) == {}
    offered = node_of(node("n", cpu=1), csi_node("n", fast=2))
    assert (offered.allocatable[FAST], offered.capacity[FAST], FAST in offered.reported) == (
        2000,
        2000,
        False,
    )
