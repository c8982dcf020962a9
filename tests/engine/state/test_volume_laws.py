"""Storage that changes under pods: a state kept up to date is the one that is made anew."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from world import STARTING, assert_same, world_of

from hekla.cluster.kubernetes.recount import Disks, offered, taken_by_node
from hekla.cluster.node_usage import NodeUsage
from hekla.cluster.store import Store
from hekla.objects import Manifest, Node, Pod
from hekla.testing.builders import job, node, queue
from hekla.testing.pods import stamped
from hekla.testing.storage import claim, csi_node, storage_class, using, volume

CLAIMS = ("c1", "c2", "c3")
DRIVERS = ("fast", "slow")
STORAGE: list[Manifest] = [
    *(claim(name, of=of, volume=bound) for name in CLAIMS for of in ("", "s1", "s2") for bound in ("", "v1")),
    *(volume("v1", driver=driver) for driver in ("", *DRIVERS)),
    *(storage_class(name, driver) for name in ("s1", "s2") for driver in (*DRIVERS, "kubernetes.io/none")),
    *(csi_node(name, fast=fast) for name in ("n1", "n2") for fast in (None, 0, 1, 3)),
    *(csi_node(name, fast=1, slow=2) for name in ("n1", "n2")),
]


def people() -> list[Manifest]:
    """Pods with and without claims, some of them on nodes."""
    gangs = [
        job("a", tasks=3, cpu=1, min_available=1, running={"n1": 2}),
        job("b", tasks=3, cpu=1, min_available=1),
    ]
    found: list[Manifest] = [queue("default"), node("n1", cpu=4), node("n2", cpu=4)]
    for gang in gangs:
        for at, one in enumerate(gang.objects):
            found.append(using(one, *CLAIMS[at % 3 :]) if isinstance(one, Pod) else one)
    return list(stamped(found))


def events() -> st.SearchStrategy[list[list[tuple[Manifest, bool]]]]:
    """Rounds of changes: objects that come or change, or go."""
    change = st.tuples(st.sampled_from([*STORAGE, *people()]), st.sampled_from([True, True, False]))
    return st.lists(st.lists(change, max_size=6), min_size=1, max_size=4)


@given(events())
def test_storage_that_changes_leads_to_the_same_place(rounds: list[list[tuple[Manifest, bool]]]) -> None:
    world = world_of(people())
    assert_same(world, STARTING)
    for changes in rounds:
        for manifest, is_there in changes:
            if is_there:
                world.put(manifest)
            else:
                world.remove((type(manifest), manifest.key))
        for decision in assert_same(world, STARTING):
            world.carry_out(decision)


@given(events())
def test_no_bind_is_held_against_old_storage(rounds: list[list[tuple[Manifest, bool]]]) -> None:
    store = Store()
    rooms = NodeUsage(store.get)
    store.watch(rooms.heed)
    for manifest in people():
        store.put(manifest)
    for changes in rounds:
        for manifest, is_there in changes:
            (store.put if is_there else store.remove)(manifest)
    disks = Disks(store)
    counted = taken_by_node(store.all_of(Pod), disks)
    assert _without_zeros(rooms.used_by_node()) == _without_zeros(counted)
    given = {one.key: dict(offered(one, disks)) for one in store.all_of(Node)}
    assert _without_zeros(rooms._offered) == _without_zeros(given)


def _without_zeros(amounts: object) -> dict[str, dict[str, int]]:
    assert isinstance(amounts, dict)
    plain = {name: {key: value for key, value in one.items() if value} for name, one in amounts.items()}
    return {name: one for name, one in plain.items() if one}
