"""What a scheduler on a real API server tells of itself: metrics, readiness, missing rights."""

from __future__ import annotations

import json
import re

import pytest

from harness import Cluster, wait_until
from harness.manifests import node, pod, pod_group
from harness.process import free_port
from harness.scheduler import Scheduler, running

GROUP = "rbac.authorization.k8s.io"
READS = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["*"]},
]


def value(page: str, series: str) -> float:
    found = re.search(rf"^{re.escape(series)} (\S+)$", page, flags=re.MULTILINE)
    return float(found[1]) if found else 0.0


@pytest.mark.usefixtures("rights")
def test_metrics_tell_of_what_was_bound_and_forget_what_is_gone(cluster: Cluster) -> None:
    gang = [pod_group("a", 2), pod("a-0", group="a"), pod("a-1", group="a")]
    cluster.api.create(node("n1"), *gang)
    with running(cluster.plane, "--audit-period=1s") as scheduler:
        cluster.wait_for_phases(a_0="Running", a_1="Running")
        wait_until(lambda: value(scheduler.get("/metrics")[1], "hekla_audits_total") >= 1, what="an audit")
        status, page = scheduler.get("/metrics")
        assert status == 200
        assert value(page, 'hekla_binds_total{outcome="confirmed"}') == 2
        assert value(page, "hekla_is_leader") == 1
        assert value(page, 'volcano_queue_allocated_milli_cpu{queue_name="default"}') == 2000
        assert 'volcano_e2e_job_scheduling_last_time{job_name="a"' in page
        assert sum(value(page, f'hekla_audit_drift_total{{kind="{kind}"}}') for kind in ("Pod", "Node")) == 0
        assert value(page, 'hekla_accounting_differences_total{account="engine"}') == 0
        assert scheduler.get("/readyz") == (200, "ok\n")
        assert "[+]permissions ok" in scheduler.get("/readyz?verbose")[1]
        cluster.api.delete(*gang)
        wait_until(lambda: 'job_name="a"' not in scheduler.get("/metrics")[1], what="the series to go")


def test_rights_that_are_missing_are_named(cluster: Cluster) -> None:
    plane = cluster.plane
    role = {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": "reads"}, "rules": READS}
    binding = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "nobody-reads"},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "reads"},
        "subjects": [{"apiGroup": GROUP, "kind": "User", "name": "nobody"}],
    }
    for manifest in (role, binding):
        plane.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))
    with running(plane, kubeconfig=plane.kubeconfig("nobody")) as scheduler:
        scheduler.wait_for("may not create pods/binding: grant it, see deploy")
        scheduler.wait_for("in sync")
        status, text = scheduler.get("/readyz")
        assert status == 503
        assert "may not create pods/binding" in text
        assert "list pods" not in text


@pytest.mark.usefixtures("rights")
def test_a_port_in_use_ends_it_with_one_clear_line(cluster: Cluster) -> None:
    plane, port = cluster.plane, free_port()
    address = f"--listen-address=127.0.0.1:{port}"
    with running(plane, address) as first:
        first.wait_for("listening")
        second = Scheduler(plane, plane.kubeconfig(), address, name="two").start()
        wait_until(lambda: not second.server.is_running, what="the end of the second one")
        assert second.exit_code == 1
        assert f'error: --listen-address "127.0.0.1:{port}" cannot be used: another process' in second.text
        assert "Traceback" not in second.text
