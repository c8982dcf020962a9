"""What pods and their owners keep to themselves is in no recording, snapshot, report or log."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hekla
from cli.calling import called
from fakes.http_api import ApiThread
from fakes.whole_manifests import spoiled, whole
from hekla.cluster.export import as_data, only_what_is_read
from hekla.objects import KINDS, Manifest, keys
from hekla.objects.keys import is_read
from hekla.objects.read import read_text

SECRET = "hunter2"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
NOTES = {LAST_APPLIED: SECRET, "example.com/token": SECRET, "notvolcano.sh/x": SECRET, "plain": SECRET}
CONTAINER: dict[str, Any] = {
    "name": "c",
    "image": "busybox",
    "command": [SECRET],
    "args": [f"--password={SECRET}"],
    "workingDir": f"/{SECRET}",
    "env": [
        {"name": "TOKEN", "value": SECRET},
        {"name": SECRET, "valueFrom": {"secretKeyRef": {"name": SECRET}}},
    ],
    "envFrom": [{"secretRef": {"name": SECRET}}, {"configMapRef": {"name": SECRET}}],
    "lifecycle": {"preStop": {"exec": {"command": [SECRET]}}},
    "livenessProbe": {"httpGet": {"path": f"/{SECRET}", "httpHeaders": [{"name": "A", "value": SECRET}]}},
    "volumeMounts": [{"name": "v", "mountPath": f"/{SECRET}"}],
    "securityContext": {"seLinuxOptions": {"user": SECRET}},
    "resources": {"requests": {"cpu": "1"}},
}
SPEC: dict[str, Any] = {
    "schedulerName": "volcano",
    "containers": [CONTAINER],
    "initContainers": [CONTAINER | {"name": "i"}],
    "imagePullSecrets": [{"name": SECRET}],
    "serviceAccountName": SECRET,
    "hostAliases": [{"ip": "127.0.0.1", "hostnames": [SECRET]}],
    "dnsConfig": {"searches": [SECRET]},
    "hostname": SECRET,
    "volumes": [
        {"name": "v", "secret": {"secretName": SECRET}},
        {"name": "w", "csi": {"driver": "d", "volumeAttributes": {"password": SECRET}}},
        {"name": "x", "projected": {"sources": [{"secret": {"name": SECRET}}]}},
        {"name": "y", "hostPath": {"path": f"/{SECRET}"}},
    ],
}
STATUS = {
    "phase": "Pending",
    "message": SECRET,
    "reason": SECRET,
    "conditions": [{"type": "Ready", "status": "False", "reason": "x", "message": SECRET}],
    "containerStatuses": [{"name": "c", "state": {"waiting": {"reason": "x", "message": SECRET}}}],
}


def thing(group: str, kind: str, name: str, **fields: Any) -> dict[str, Any]:
    notes = NOTES | ({"scheduling.k8s.io/group-name": "g"} if kind == "Pod" else {})
    meta = {"name": name, "annotations": notes, "managedFields": [{"manager": SECRET}]}
    return {"apiVersion": group, "kind": kind, "metadata": meta, **fields}


OBJECTS = [
    thing(
        "v1", "Node", "n1",
        status={"allocatable": {"cpu": "8", "memory": "8Gi", "pods": 9}, "conditions": STATUS["conditions"]},
    ),
    thing("scheduling.volcano.sh/v1beta1", "Queue", "default"),
    thing("scheduling.volcano.sh/v1beta1", "PodGroup", "g", spec={"minMember": 1, "queue": "default"}),
    thing("v1", "Pod", "p", spec=SPEC, status=STATUS),
    thing("v1", "Namespace", "default"),
    thing("v1", "PersistentVolumeClaim", "claim", spec={"dataSource": {"name": SECRET}}),
    thing(
        "batch.volcano.sh/v1alpha1", "Job", "j",
        spec={
            "minAvailable": 1,
            "queue": "default",
            "plugins": {"env": [], "ssh": [f"--key={SECRET}"]},
            "tasks": [
                {"name": "t", "replicas": 1, "template": {"metadata": {"annotations": NOTES}, "spec": SPEC}}
            ],
        },
        status={"state": {"phase": "Pending", "message": SECRET}},
    ),
]  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "objects.json"
    path.write_text("\n".join(map(json.dumps, OBJECTS)))
    return path


def test_nothing_in_a_recording(file: Path, tmp_path: Path) -> None:
    recording = tmp_path / "r"
    told = called("run", file, "--record", recording, "--until", 20)
    assert told.returncode == 0, told.stderr
    content = gzip.decompress(recording.read_bytes())
    assert b'"p"' in content
    assert SECRET.encode() not in content
    assert SECRET not in told.stdout + told.stderr
    assert recording.stat().st_mode & 0o777 == 0o600
    again = called("replay", recording)
    assert "0 not" in again.stdout
    shown = called("replay", recording, "--at", 1, "--save", tmp_path / "case.json")
    assert shown.returncode == 0, shown.stderr
    assert SECRET not in (tmp_path / "case.json").read_text()
    assert (tmp_path / "case.json").stat().st_mode & 0o777 == 0o600


@pytest.fixture
def server() -> Iterator[ApiThread]:
    reading = read_text("\n".join(map(json.dumps, OBJECTS)), "objects")
    assert reading.complaints == []
    with ApiThread(*reading.objects) as running:
        yield running


@pytest.mark.parametrize(
    "more", [[], ["--scramble", 7], ["--preset", "default"]], ids=["plain", "scrambled", "scenario"]
)
def test_nothing_in_a_snapshot(server: ApiThread, tmp_path: Path, more: list[object]) -> None:
    out = tmp_path / "snapshot.json"
    out.write_text("something that others may read")
    told = called("snapshot", "-O", out, *more, "--kubeconfig", server.kubeconfig(tmp_path))
    assert told.returncode == 0, told.stderr
    assert SECRET not in out.read_text() + told.stdout + told.stderr
    assert out.stat().st_mode & 0o777 == 0o600


def test_nothing_in_a_report_or_on_the_screen(file: Path, tmp_path: Path) -> None:
    page, results = tmp_path / "page.html", tmp_path / "results"
    told = called("simulate", file, "--until", 60, "--report", page, "--save", results)
    assert told.returncode == 0, told.stderr
    written = [page, *results.iterdir()]
    assert len(written) > 1
    assert SECRET not in "".join([told.stdout, told.stderr, *(one.read_text() for one in written)])
    for command in ("decide", "explain", "run", "forecast"):
        told = called(command, file, *(["--until", 20] if command == "run" else []))
        assert SECRET not in told.stdout + told.stderr


KEY = re.compile(
    r'"((?:[a-z.-]+\.)?(?:volcano\.sh|k8s\.io|kubernetes\.io|nvidia\.com|hekla\.dev)/[a-z-]+|sla-[a-z-]+)"'
)
NO_ANNOTATIONS = {
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/no-provisioner",
    "kubernetes.io/hostname",
    "node.kubernetes.io/unschedulable",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
}
"""Labels, taints and names of other things."""


def test_what_the_engine_reads_is_kept() -> None:
    """Keys of annotations that its code speaks of; without them, a replay would decide otherwise."""
    folder = Path(hekla.__file__).parent
    parts = ("engine", "scheduler")
    files = [Path(keys.__file__), *(file for part in parts for file in (folder / part).rglob("*.py"))]
    texts = [file.read_text() for file in files]
    found = {key for text in texts for key in KEY.findall(text)}
    assert "volcano.sh/task-priority" in found
    assert {key for key in found if not is_read(key)} <= NO_ANNOTATIONS


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.__name__)
def test_one_filter_for_all_that_leaves_the_process(kind: type[Manifest]) -> None:
    data = spoiled(whole(kind, "x"), ("metadata", "annotations"), NOTES | {"volcano.sh/kept": "yes"})
    (manifest,) = read_text(json.dumps(data), "x").objects
    kept = only_what_is_read(manifest)
    assert kept.metadata.annotations == {"volcano.sh/kept": "yes"}
    assert only_what_is_read(kept) == kept
    assert SECRET not in json.dumps(as_data(manifest))
