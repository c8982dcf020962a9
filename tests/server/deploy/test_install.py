"""`hekla install`: what it prints, and what it says where it cannot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.calling import called as hekla
from hekla.cluster.kubernetes.api.client import Refused
from hekla.server.deploy.apply import change, path_of, reason_of

Object = dict[str, Any]


def printed(*arguments: str | Path) -> dict[tuple[str, str], Object]:
    told = hekla("install", *arguments)
    assert told.returncode == 0, told.stderr
    found = list(yaml.safe_load_all(told.stdout))
    return {(thing["kind"], thing["metadata"]["name"]): thing for thing in found}


def kinds(things: dict[tuple[str, str], Object]) -> set[str]:
    return {kind for kind, _ in things}


def args(things: dict[tuple[str, str], Object]) -> list[str]:
    container = things["Deployment", "hekla-scheduler"]["spec"]["template"]["spec"]["containers"][0]
    return [str(word) for word in container["args"]]


def test_alone_it_brings_definitions_and_controllers() -> None:
    things = printed()
    assert "CustomResourceDefinition" in kinds(things)
    assert ("ClusterRole", "hekla-controllers") in things
    assert args(things) == [
        "serve",
        "--scheduler-name=volcano",
        "--scheduler-conf=/etc/hekla/volcano-scheduler.conf",
        "--listen-address=:8080",
        "--healthz-address=:11251",
        "--leader-elect",
        "--leader-elect-resource-namespace=hekla-system",
        "--controllers",
    ]


def test_dropped_in_it_brings_the_scheduler_only() -> None:
    things = printed("--drop-in")
    assert "CustomResourceDefinition" not in kinds(things)
    assert ("ClusterRole", "hekla-controllers") not in things
    assert "--controllers" not in args(things)


def test_definitions_go_by_their_own_option() -> None:
    assert "CustomResourceDefinition" in kinds(printed("--drop-in", "--crds"))
    assert "CustomResourceDefinition" not in kinds(printed("--no-crds"))


def test_permissions_to_evict_and_to_open_gates_are_chosen() -> None:
    cautious = printed("--drop-in", "--no-eviction")
    assert ("ClusterRole", "hekla-evictions") not in cautious
    assert ("ClusterRoleBinding", "hekla-system:evictions") not in cautious
    assert ("ClusterRole", "hekla-scheduling-gates") not in cautious
    assert ("ClusterRole", "hekla-scheduling-gates") in printed("--drop-in", "--scheduling-gates")


def test_evictions_by_the_eviction_api_take_the_place_of_deletions() -> None:
    careful = printed("--drop-in", "--eviction-api")
    assert ("ClusterRole", "hekla-eviction-api") in careful
    assert ("ClusterRole", "hekla-evictions") not in careful
    for options, argument in (
        (["--eviction-api"], "--eviction-api"),
        (["--no-eviction"], "--partial-gang=keep"),
        (["--no-eviction", "--eviction-api"], "--partial-gang=keep"),
    ):
        deployment = printed("--drop-in", *options)["Deployment", "hekla-scheduler"]
        assert deployment["spec"]["template"]["spec"]["containers"][0]["args"][-1] == argument


def test_alone_it_warns_that_controllers_delete_pods_anyway() -> None:
    told = hekla("install", "--no-eviction")
    assert told.returncode == 0
    assert told.stderr.startswith("warning: the controllers of Jobs delete pods")
    assert hekla("install", "--drop-in", "--no-eviction").stderr == ""


def test_another_namespace_is_the_namespace_of_everything() -> None:
    told = hekla("install", "--namespace", "batch-7")
    assert "hekla-system" not in told.stdout
    things = list(yaml.safe_load_all(told.stdout))
    assert {thing["metadata"].get("namespace", "batch-7") for thing in things} == {"batch-7"}
    assert ("Namespace", "batch-7") in {(thing["kind"], thing["metadata"]["name"]) for thing in things}


def test_a_namespace_of_digits_stays_a_text() -> None:
    assert ("Namespace", "123") in printed("--namespace", "123")


def test_another_scheduler_name_has_a_lease_of_that_name() -> None:
    things = printed("--scheduler-name", "night")
    assert "--scheduler-name=night" in args(things)
    rules = things["Role", "hekla-scheduler"]["rules"]
    assert [rule["resourceNames"] for rule in rules if "resourceNames" in rule] == [["night"]]


def test_an_image_of_ones_own() -> None:
    deployment = printed("--image", "images.example/hekla@sha256:0")["Deployment", "hekla-scheduler"]
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "images.example/hekla@sha256:0"


def test_a_configuration_of_ones_own_travels_word_for_word(tmp_path: Path) -> None:
    conf = tmp_path / "scheduler.conf"
    conf.write_text('# mine\nactions: "allocate"   \ntiers:\n- plugins:\n  - name: gang\n')
    things = printed("--conf", conf)
    assert things["ConfigMap", "hekla-scheduler-configmap"]["data"] == {
        "volcano-scheduler.conf": conf.read_text()
    }


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--namespace", "Upper"), 'error: "Upper" cannot be the name of a namespace'),
        (("--scheduler-name", ""), 'error: "" cannot be the name of a scheduler'),
        (("--conf", "missing.conf"), 'error: cannot read "missing.conf"'),
        (("--apply", "--kubeconfig", "missing"), "error: no way to the cluster"),
    ],
)
def test_what_cannot_be_used_is_told_in_a_sentence(arguments: tuple[str, ...], complaint: str) -> None:
    told = hekla("install", *arguments)
    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr.startswith(complaint)
    assert len(told.stderr.splitlines()) == 1


def test_a_configuration_with_a_mistake_is_not_installed(tmp_path: Path) -> None:
    conf = tmp_path / "scheduler.conf"
    conf.write_text('actions: "alocate"\ntiers: []\n')
    told = hekla("install", "--conf", conf)
    assert (told.returncode, told.stdout) == (1, "")
    assert 'no action "alocate"' in told.stderr


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    told = hekla("install", "--apply", "--kubeconfig", tmp_path / "config")
    assert told.returncode == 1
    assert told.stderr.startswith("error: no answer from http://127.0.0.1:1")


def test_without_the_extra_it_prints_and_says_what_applying_needs() -> None:
    assert bare("install").returncode == 0
    told = bare("install", "--apply")
    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr == 'error: --apply needs more: pip install "hekla[kubernetes]"\n'


def bare(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command where nothing is installed that only `hekla[kubernetes]` brings."""
    missing = "import sys; sys.modules['aiohttp'] = sys.modules['kubernetes'] = None"
    command = [sys.executable, "-c", f"{missing}; from hekla.cli.main import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False, timeout=60)


def test_paths() -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}
    assert path_of(role | {"metadata": {"name": "r", "namespace": "n"}}) == (
        "/apis/rbac.authorization.k8s.io/v1/namespaces/n/roles/r"
    )
    assert path_of({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}) == (
        "/api/v1/namespaces/n"
    )


def test_a_new_version_alone_is_no_change() -> None:
    before = {"metadata": {"name": "a", "resourceVersion": "1"}, "spec": 1, "status": {"n": 1}}
    after = {"metadata": {"name": "a", "resourceVersion": "2"}, "spec": 1, "status": {"n": 2}}
    assert change(None, after) == "created"
    assert change(before, after) == "unchanged"
    assert change(before, after | {"spec": 2}) == "changed"


def test_a_refusal_in_one_sentence() -> None:
    said = 'clusterroles "r" is forbidden: user "u" is attempting to grant RBAC permissions not held:\n{...}'
    assert reason_of(Refused(403, "Forbidden", said)) == (
        'permission is missing: user "u" is attempting to grant RBAC permissions not held'
    )
    assert "does not know the user" in reason_of(Refused(401, "Unauthorized", "Unauthorized"))
