"""Writes that the API server refuses: one pod, one namespace or one budget stops nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness import ApiError, Cluster, FaultProxy, Object, wait_until
from harness.faults import LoseAnswer, Refuse, Request, Reset
from harness.manifests import namespace, node, pod, pod_group
from harness.scheduler import USER, grant, running

pytestmark = pytest.mark.usefixtures("rights")
ADMISSION = "admissionregistration.k8s.io/v1"
HIGH: Object = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 1000,
}
EVICTING = """
actions: "enqueue, allocate, preempt"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
  - name: predicates
"""


@pytest.fixture
def evicting(tmp_path: Path) -> str:
    file = tmp_path / "volcano-scheduler.conf"
    file.write_text(EVICTING)
    return f"--scheduler-conf={file}"


def gang(name: str, size: int, space: str = "default", **more: Any) -> list[Object]:
    """A PodGroup and its pods; those of an important one say so."""
    of_group = {key: more[key] for key in ("priorityClassName",) if key in more}
    group = pod_group(name, 1 if name == "cheap" else size, namespace=space, **of_group)
    pods = [pod(f"{name}-{at}", group=name, namespace=space, **more) for at in range(size)]
    return [group, *pods]


@contextmanager
def denying(cluster: Cluster, operation: str, resource: str, expression: str) -> Iterator[None]:
    """While this lasts, requests for which the expression is false are forbidden by a policy."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": [operation], "resources": [resource]}
    validation = {"expression": expression, "message": "not this one", "reason": "Forbidden"}
    policy = {
        "apiVersion": ADMISSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "some-stay"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [validation],
        },
    }
    binding = {
        "apiVersion": ADMISSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "some-stay"},
        "spec": {"policyName": "some-stay", "validationActions": ["Deny"]},
    }
    cluster.api.create(policy, binding)
    try:
        yield
    finally:
        cluster.api.delete(binding, policy)


def is_denied(cluster: Cluster, method: str, path: str, body: Object) -> bool:
    """Whether the policy is in force, which takes a moment; by a request that changes nothing."""
    try:
        cluster.api.request(method, path, body)
    except ApiError as error:
        return "not this one" in str(error)
    return False


def deletes(request: Request) -> bool:
    return request.method == "DELETE" and "/pods/" in request.path


def count(proxy: FaultProxy, method: str, part: str) -> int:
    asked = (exchange.request for exchange in proxy.exchanges)
    return sum(request.method == method and part in request.path for request in asked)


def conditions(thing: Object) -> dict[str, str]:
    found = thing.get("status", {}).get("conditions", [])
    return {one["type"]: one["status"] for one in found}


def run_cheap(cluster: Cluster, **more: Any) -> None:
    cluster.api.create(node("n1", cpu=4), HIGH, *gang("cheap", 4, **more))


def test_a_victim_that_a_policy_keeps_is_left_alone_longer_and_longer_and_shows_no_mark(
    cluster: Cluster, proxy: FaultProxy, evicting: str
) -> None:
    run_cheap(cluster, labels={"keep": "me"})
    keep = "!has(oldObject.metadata.labels) || !('keep' in oldObject.metadata.labels)"
    options = {"dryRun": ["All"]}
    with running(cluster.plane, evicting, kubeconfig=proxy.kubeconfig(USER)) as scheduler:
        cluster.wait_for_phases(cheap_3="Running")
        with denying(cluster, "DELETE", "pods", keep):
            path = "/api/v1/namespaces/default/pods/cheap-0"
            wait_until(lambda: is_denied(cluster, "DELETE", path, options), what="the policy")
            cluster.api.create(*gang("dear", 2, priorityClassName="high"))
            scheduler.wait_for("eviction refused")
            time.sleep(10)
            # Each of the four is asked for at once, and after 5 seconds once more.
            assert 2 <= count(proxy, "DELETE", "/pods/cheap-") <= 8
            assert count(proxy, "PATCH", "/pods/cheap-") <= 8, "a mark and its end, each once"
            assert scheduler.get("/readyz")[0] == 200
            for name in ("cheap-0", "cheap-1", "cheap-2", "cheap-3"):
                assert conditions(cluster.pods()[name]).get("Ready") == "True"
                assert "DisruptionTarget" not in conditions(cluster.pods()[name])
            events = {one["reason"] for one in cluster.api.list("Event")}
            assert "FailedEviction" in events
            assert "Evict" not in events
        cluster.wait_for_phases(dear_0="Running", dear_1="Running", timeout=60)


def test_where_some_victims_are_kept_others_are_found(cluster: Cluster, evicting: str) -> None:
    run_cheap(cluster)
    keep = "!(oldObject.metadata.name in ['cheap-2', 'cheap-3'])"
    with running(cluster.plane, evicting):
        cluster.wait_for_phases(cheap_3="Running")
        with denying(cluster, "DELETE", "pods", keep):
            path = "/api/v1/namespaces/default/pods/cheap-3"
            wait_until(lambda: is_denied(cluster, "DELETE", path, {"dryRun": ["All"]}), what="the policy")
            cluster.api.create(*gang("dear", 2, priorityClassName="high"))
            cluster.wait_for_phases(dear_0="Running", dear_1="Running", timeout=20)
            assert {"cheap-2", "cheap-3"} < set(cluster.pods())


@pytest.mark.parametrize("fault", [Refuse(409), Refuse(500), Reset(), LoseAnswer()], ids=lambda one: one.name)
def test_an_eviction_that_meets_a_fault_is_made_and_no_other_in_its_place(
    cluster: Cluster, proxy: FaultProxy, evicting: str, fault: object
) -> None:
    run_cheap(cluster)
    with running(cluster.plane, evicting, kubeconfig=proxy.kubeconfig(USER)) as scheduler:
        cluster.wait_for_phases(cheap_3="Running")
        rule = proxy.add(deletes, fault, times=2)  # type: ignore[arg-type]
        cluster.api.create(*gang("dear", 2, priorityClassName="high"))
        cluster.wait_for_phases(dear_0="Running", dear_1="Running", timeout=60)
        assert rule.hits == 2
        assert sum(name.startswith("cheap-") for name in cluster.pods()) == 2
        assert "hekla_open_evictions 0.0" in scheduler.get("/metrics")[1]


def test_in_a_namespace_that_is_being_deleted_nothing_is_tried(cluster: Cluster, proxy: FaultProxy) -> None:
    cluster.api.create(namespace("doomed"))
    cluster.api.create(node("n1"), *gang("late", 2, "doomed"), *gang("fine", 2))
    cluster.api.delete(namespace("doomed"))
    with pytest.raises(ApiError) as refusal:
        cluster.api.bind(cluster.pods("doomed")["late-0"], "n1")
    assert refusal.value.body["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    with running(cluster.plane, kubeconfig=proxy.kubeconfig(USER)) as scheduler:
        cluster.wait_for_phases(fine_0="Running", fine_1="Running")
        time.sleep(2)
        assert scheduler.get("/readyz")[0] == 200
        for method in ("POST", "PATCH", "DELETE"):
            assert count(proxy, method, "/namespaces/doomed/") == 0
        assert "doomed" not in scheduler.text


def test_a_namespace_that_goes_while_its_pods_are_bound_is_no_lack_of_permission(
    cluster: Cluster, proxy: FaultProxy
) -> None:
    cluster.api.create(namespace("doomed"), node("n1", cpu=8))
    refused = Refuse(403, message="pods is forbidden: unable to create new content in namespace doomed")
    proxy.add(lambda request: request.path.endswith("/doomed/pods/late-0/binding"), refused)
    with running(cluster.plane, kubeconfig=proxy.kubeconfig(USER)) as scheduler:
        cluster.api.create(*gang("late", 1, "doomed"))
        scheduler.wait_for("bind to node n1 refused")
        assert scheduler.get("/readyz")[0] == 200
        cluster.api.delete(namespace("doomed"))
        cluster.api.create(*gang("fine", 2))
        cluster.wait_for_phases(fine_0="Running", fine_1="Running")
        time.sleep(1)
        tried = count(proxy, "POST", "/pods/late-0/binding")
        time.sleep(5)
        assert count(proxy, "POST", "/pods/late-0/binding") == tried


def test_a_gang_of_which_one_bind_is_denied_is_released_and_told(cluster: Cluster) -> None:
    cluster.api.create(node("n1", cpu=8))
    with running(cluster.plane, "--partial-gang-timeout=4s") as scheduler:
        scheduler.wait_for("in sync")
        with denying(cluster, "CREATE", "pods/binding", "request.name != 'torn-1'"):
            [probe] = cluster.api.create(pod("torn-1", scheduler="other"))
            path = "/api/v1/namespaces/default/pods/torn-1/binding?dryRun=All"
            body = {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": "torn-1"},
                "target": {"kind": "Node", "name": "n1"},
            }
            wait_until(lambda: is_denied(cluster, "POST", path, body), what="the policy")
            cluster.api.delete(probe, gracePeriodSeconds=0)
            cluster.api.create(*gang("torn", 2), *gang("fine", 2))
            cluster.wait_for_phases(torn_0="Running", fine_0="Running", fine_1="Running")
            wait_until(
                lambda: conditions(cluster.api.get("PodGroup", "torn")).get("Incomplete"), what="a word"
            )
            assert scheduler.get("/readyz")[0] == 200, "nobody lacks a permission"
            wait_until(lambda: "torn-0" not in cluster.pods(), 30, what="the end of what was bound")
            told = cluster.api.get("PodGroup", "torn")["status"]["conditions"]
            [incomplete] = [one["message"] for one in told if one["type"] == "Incomplete"]
            assert "1 of at least 2 pods were bound for 4 s and are released" in incomplete
            assert "not this one" in incomplete
            assert any(one["reason"] == "Incomplete" for one in cluster.api.list("Event"))
            assert {"fine-0", "fine-1"} <= set(cluster.pods())


def budget(allowed: int) -> Object:
    """As the controller of budgets would leave it, which is not there."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "four", "namespace": "default"},
        "spec": {"minAvailable": 4 - allowed, "selector": {"matchLabels": {"app": "web"}}},
        "status": {
            "observedGeneration": 10,
            "disruptionsAllowed": allowed,
            "currentHealthy": 4,
            "desiredHealthy": 4 - allowed,
            "expectedPods": 4,
        },
    }


def test_the_eviction_api_keeps_a_budget_and_needs_no_other_right(
    cluster: Cluster, proxy: FaultProxy, evicting: str
) -> None:
    grant(cluster.plane, "hekla-budgets", "eviction-api")
    run_cheap(cluster, labels={"app": "web"})
    [made] = cluster.api.create(budget(0))
    cluster.api.patch(made, {"status": budget(0)["status"]}, "status")
    kubeconfig = proxy.kubeconfig("hekla-budgets")
    with running(cluster.plane, evicting, "--eviction-api", kubeconfig=kubeconfig) as scheduler:
        cluster.wait_for_phases(cheap_3="Running")
        cluster.api.create(*gang("dear", 2, priorityClassName="high"))
        scheduler.wait_for("disruption budget")
        time.sleep(3)
        assert cluster.phases()["cheap-0"] == cluster.phases()["cheap-3"] == "Running"
        assert 1 <= count(proxy, "POST", "/eviction") <= 4
        assert count(proxy, "DELETE", "/pods/") == count(proxy, "PATCH", "/pods/cheap-") == 0
        assert scheduler.get("/readyz")[0] == 200, "no right to delete pods is asked for"
        cluster.api.patch(made, {"status": budget(2)["status"]}, "status")
        cluster.wait_for_phases(dear_0="Running", dear_1="Running", timeout=60)
        assert sum(name.startswith("cheap-") for name in cluster.pods()) == 2
