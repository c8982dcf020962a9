"""The cluster read once: all pages, all kinds, and what is said where something cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.http_api import ApiThread
from hekla.cluster.kubernetes.api.access import Access, find_access
from hekla.cluster.kubernetes.api.reading import conf_in_cluster, read_cluster
from hekla.cluster.kubernetes.cluster import WATCHED
from hekla.errors import ClusterError, InputError
from hekla.objects import HyperNode, Node, Pod, PodGroup
from hekla.testing.builders import job, node, queue

TRAIN = job("train", tasks=3)


@pytest.fixture
def server() -> Iterator[ApiThread]:
    with ApiThread(*(node(f"n{at}") for at in range(7)), queue("default"), *TRAIN.objects) as running:
        yield running


@pytest.fixture
def access(server: ApiThread, tmp_path: Path) -> Access:
    return find_access(server.kubeconfig(tmp_path))


def test_all_pages_of_all_kinds_are_read_and_nothing_is_written(server: ApiThread, access: Access) -> None:
    server.api.page = 3
    counts: list[int] = []
    reading = read_cluster(access, WATCHED, on_progress=lambda count, _: counts.append(count))
    assert [found.metadata.name for found in reading.all_of(Node)] == [f"n{at}" for at in range(7)]
    assert len(reading.all_of(Pod)) == 3
    assert reading.complaints == []
    assert counts[-1] == len(reading.objects)
    assert server.api.methods == {"GET"}


def test_a_list_that_has_expired_half_way_is_read_anew(server: ApiThread, access: Access) -> None:
    server.api.page, server.api.expire_once = 3, True
    reading = read_cluster(access, [Node])
    assert len(reading.all_of(Node)) == 7


def test_kinds_that_scheduling_can_do_without_are_complained_of(server: ApiThread, access: Access) -> None:
    server.api.absent = {"hypernodes"}
    server.api.forbidden = {"persistentvolumes"}
    reading = read_cluster(access, WATCHED)
    assert [str(complaint) for complaint in reading.complaints] == [
        "hypernodes: not defined on this cluster; are Volcano's custom resources installed?",
        'persistentvolumes: may not be listed: persistentvolumes is forbidden: User "somebody" cannot list '
        'it; needs "list" on persistentvolumes',
    ]
    assert reading.all_of(HyperNode) == []
    assert len(reading.all_of(PodGroup)) == 1


def test_without_pods_there_is_nothing_to_say(server: ApiThread, access: Access) -> None:
    server.api.forbidden = {"pods"}
    with pytest.raises(ClusterError, match=r'^pods: may not be listed: .* needs "list" on pods$'):
        read_cluster(access, WATCHED)


def test_a_server_that_is_not_there_is_one_error(access: Access, tmp_path: Path) -> None:
    gone = tmp_path / "kubeconfig"
    text = gone.read_text()
    gone.write_text(text.replace(text[text.index("127.0.0.1:") :].split('"')[0], "127.0.0.1:1"))
    with pytest.raises(ClusterError, match=r"^no answer from http://127\.0\.0\.1:1: "):
        read_cluster(find_access(gone), WATCHED)


def test_the_configuration_is_found_where_volcano_and_hekla_keep_it(
    server: ApiThread, access: Access
) -> None:
    with pytest.raises(InputError, match="no configmap"):
        conf_in_cluster(access)
    server.put_config_map("hekla-system/hekla-scheduler-configmap", {"hekla.conf": "actions: allocate"})
    assert conf_in_cluster(access)[0] == "actions: allocate"
    server.put_config_map("volcano-system/volcano-scheduler-configmap", {"a.conf": "actions: enqueue"})
    assert conf_in_cluster(access) == (
        "actions: enqueue",
        "configmap volcano-system/volcano-scheduler-configmap",
    )
    server.put_config_map("me/mine", {"x": "1", "y": "2"})
    with pytest.raises(InputError, match=r"should hold one file \*.conf, and holds x, y"):
        conf_in_cluster(access, "me/mine")
