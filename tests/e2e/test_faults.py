"""Every fault of the proxy is really seen by a client, and counted."""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
import pytest

from harness import Api, ApiError, Cluster, FaultProxy, wait_until
from harness.faults import (
    CutWatch,
    Delay,
    EndWatch,
    ExpireWatch,
    FreezeWatch,
    LoseAnswer,
    LoseAnswerSilently,
    Refuse,
    Request,
    Reset,
    Rule,
    Silence,
    binds,
    lists,
    unrest,
    watches,
    writes,
)
from harness.kinds import Object
from harness.manifests import node, pod


@pytest.fixture
def client(proxy: FaultProxy) -> Iterator[Api]:
    """A client that goes through the proxy and has little patience."""
    with Api(proxy.access(), timeout=0.5) as api:
        yield api


def note(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def test_without_rules_the_proxy_only_passes_on(cluster: Cluster, proxy: FaultProxy, client: Api) -> None:
    cluster.kubelet.add_nodes(node("n1"))
    [only] = client.create(pod("only"))
    client.bind(only, "n1")
    with client.watch("Pod") as watch:
        wait_until(lambda: "Running" in [p["status"]["phase"] for _, p in watch.events], what="the watch")
    assert {exchange.status for exchange in proxy.exchanges} == {200, 201}
    assert not proxy.injected


@pytest.mark.parametrize("status", [401, 403, 409, 410, 429, 500, 503])
def test_chosen_requests_are_refused(cluster: Cluster, proxy: FaultProxy, client: Api, status: int) -> None:
    rule = proxy.add(lists("configmaps"), Refuse(status, retry_after=7), times=1)
    with pytest.raises(ApiError, match="injected") as refusal:
        client.list("ConfigMap", "default")
    assert refusal.value.status == status
    assert refusal.value.body["details"] == {"retryAfterSeconds": 7}
    assert client.list("ConfigMap", "default") == []
    assert rule.hits == proxy.injected["refuse"] == 1


def test_a_refusal_says_when_to_come_back(proxy: FaultProxy) -> None:
    proxy.add(binds, Refuse(429, retry_after=3))
    connection = connected(proxy)
    connection.request("POST", "/api/v1/namespaces/default/pods/p/binding", headers=token(proxy))
    with connection.getresponse() as answer:
        assert (answer.status, answer.headers["Retry-After"]) == (429, "3")
    connection.close()


def test_a_request_without_an_answer_was_not_stored(cluster: Cluster, proxy: FaultProxy, client: Api) -> None:
    proxy.add(writes("configmaps"), Silence(), times=1)
    proxy.add(writes("configmaps"), Reset(), times=1)
    with pytest.raises(TimeoutError):
        client.create(note("silent"))
    with pytest.raises(aiohttp.ClientConnectionError):
        client.create(note("reset"))
    assert not cluster.api.find("ConfigMap", "silent")
    assert not cluster.api.find("ConfigMap", "reset")
    assert proxy.injected == {"silence": 1, "reset": 1}


def test_a_lost_answer_was_stored(cluster: Cluster, proxy: FaultProxy, client: Api) -> None:
    proxy.add(writes("configmaps"), LoseAnswer(), times=1)
    proxy.add(writes("configmaps"), LoseAnswerSilently(), times=1)
    with pytest.raises(aiohttp.ClientConnectionError):
        client.create(note("lost"))
    with pytest.raises(TimeoutError):
        client.create(note("lost-silently"))
    assert cluster.api.find("ConfigMap", "lost")
    assert cluster.api.find("ConfigMap", "lost-silently")
    assert proxy.injected == {"lose answer": 1, "lose answer silently": 1}


def test_a_slow_answer_comes(cluster: Cluster, proxy: FaultProxy, client: Api) -> None:
    proxy.add(writes("configmaps"), Delay(0.2), times=1)
    client.create(note("slow"))
    proxy.add(writes("configmaps"), Delay(0.7), times=1)
    with pytest.raises(TimeoutError):
        client.create(note("too-slow"))
    assert cluster.api.find("ConfigMap", "too-slow")


def test_a_watch_that_is_cut_ends_in_the_middle_of_a_line(cluster: Cluster, proxy: FaultProxy) -> None:
    cluster.api.create(note("a"), note("b"))
    proxy.add(watches("configmaps"), CutWatch(after_events=2), times=1)
    with watching(proxy) as answer:
        read_events(answer, 2)
        with pytest.raises((ConnectionError, http.client.IncompleteRead, ValueError)):
            read_events(answer, 1)


def test_a_watch_may_end_early_or_tell_that_its_version_is_gone(cluster: Cluster, proxy: FaultProxy) -> None:
    cluster.api.create(note("a"), note("b"))
    proxy.add(watches("configmaps"), EndWatch(after_events=1), times=1)
    with watching(proxy) as answer:
        read_events(answer, 1)
        assert answer.readline() == b""
    proxy.add(watches("configmaps"), ExpireWatch(after_events=1), times=1)
    with watching(proxy) as answer:
        [_, expired] = read_events(answer, 2)
        assert (expired["type"], expired["object"]["code"]) == ("ERROR", 410)
        assert answer.readline() == b""


def test_open_watches_are_struck_on_command(cluster: Cluster, proxy: FaultProxy) -> None:
    cluster.api.create(note("a"))
    with watching(proxy) as answer:
        read_events(answer, 1)
        assert proxy.strike_watches(ExpireWatch(), watches("configmaps")) == 1
        assert read_events(answer, 1)[0]["type"] == "ERROR"
    wait_until(lambda: proxy.open_watches() == 0, what="the end of the watch")


def test_a_frozen_watch_gives_no_bytes_and_no_error(cluster: Cluster, proxy: FaultProxy) -> None:
    cluster.api.create(note("a"))
    with watching(proxy, timeout=0.5) as answer:
        read_events(answer, 1)
        proxy.strike_watches(FreezeWatch())
        cluster.api.create(note("b"))
        with pytest.raises(TimeoutError):
            answer.readline()


def test_a_client_that_lists_again_sees_through_all_of_it(
    cluster: Cluster, proxy: FaultProxy, client: Api
) -> None:
    with client.watch("ConfigMap") as watch:
        for number, fault in enumerate((CutWatch(), EndWatch(), ExpireWatch())):
            wait_until(lambda: proxy.open_watches(watches("configmaps")), what="the watch")
            proxy.strike_watches(fault)
            cluster.api.create(note(f"note-{number}"))
        wait_until(lambda: "note-2" in {n["metadata"]["name"] for _, n in watch.events}, what="all notes")


def test_a_proxy_that_is_down_refuses_and_comes_back(proxy: FaultProxy, client: Api) -> None:
    client.list("ConfigMap")
    proxy.stop()
    with pytest.raises(aiohttp.ClientConnectionError):
        client.list("ConfigMap")
    proxy.start()
    client.list("ConfigMap")


def test_a_kubeconfig_leads_through_the_proxy(cluster: Cluster, proxy: FaultProxy) -> None:
    kubectl = cluster.plane.assets.kubectl
    command = [str(kubectl), "--kubeconfig", str(proxy.kubeconfig()), "get", "--raw", "/api/v1/nodes"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["kind"] == "NodeList"
    assert Request("GET", "/api/v1/nodes") in [exchange.request for exchange in proxy.exchanges]


def test_the_same_seed_strikes_the_same_requests_in_any_order() -> None:
    requests = [Request("POST", f"/pods/{number}/binding") for number in range(200)]

    def struck(order: list[Request]) -> set[Request]:
        rule = Rule(binds, Reset(), probability=0.1, seed=4)
        return {request for request in order if rule.strikes(request)}

    assert struck(requests) == struck(requests[::-1])
    assert 5 < len(struck(requests)) < 40
    assert len(unrest(seed=1)) == len({rule.fault for rule in unrest(seed=1)})


def connected(proxy: FaultProxy, timeout: float = 5.0) -> http.client.HTTPSConnection:
    trust = ssl.create_default_context(cafile=proxy.access().certificate)
    return http.client.HTTPSConnection("127.0.0.1", proxy.port, timeout=timeout, context=trust)


def token(proxy: FaultProxy) -> dict[str, str]:
    return {"Authorization": f"Bearer {proxy.access().token}"}


@contextmanager
def watching(proxy: FaultProxy, timeout: float = 5.0) -> Iterator[http.client.HTTPResponse]:
    """A bare watch of ConfigMaps, byte by byte, without the comfort of a client."""
    connection = connected(proxy, timeout)
    connection.request("GET", "/api/v1/namespaces/default/configmaps?watch=1", headers=token(proxy))
    try:
        with connection.getresponse() as answer:
            yield answer
    finally:
        connection.close()


def read_events(answer: http.client.HTTPResponse, count: int) -> list[Object]:
    return [json.loads(answer.readline()) for _ in range(count)]
