"""The manifests: sound, complete, the same by every way, and with no permission too many."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
import yaml

from hekla import __version__
from hekla.conf import PRESETS, read_conf
from hekla.objects import KINDS, Manifest
from hekla.scheduler.builtin import BUILTIN
from hekla.server.deploy import Installation
from hekla.server.deploy.manifests import CONF_KEY, read_part

Object = dict[str, Any]

ROOT = Path(__file__).parents[3]
MANIFESTS = ROOT / "src" / "hekla" / "server" / "deploy" / "manifests"
OVERLAYS = ROOT / "deploy" / "overlays"
PARTS = sorted(path.name for path in MANIFESTS.iterdir())
INSTALLATIONS = {
    "standalone": Installation(),
    "drop-in": Installation(has_definitions=False, has_controllers=False),
}
DEFINITIONS = list(read_part("crds"))


def named(thing: Object) -> str:
    return str(thing["metadata"]["name"])


def only(kind: str, installation: Installation = INSTALLATIONS["standalone"]) -> Object:
    (found,) = (thing for thing in installation.objects() if thing["kind"] == kind)
    return found


@pytest.mark.parametrize("part", PARTS)
def test_a_kustomization_lists_every_file_beside_it(part: str) -> None:
    listed = yaml.safe_load((MANIFESTS / part / "kustomization.yaml").read_text("utf-8"))["resources"]
    there = {path.name for path in (MANIFESTS / part).iterdir()} - {"kustomization.yaml"}
    assert sorted(listed) == sorted(there)


@pytest.mark.parametrize("overlay", INSTALLATIONS)
def test_an_overlay_names_parts_that_exist(overlay: str) -> None:
    text = (OVERLAYS / overlay / "kustomization.yaml").read_text("utf-8")
    listed = [(OVERLAYS / overlay / folder).resolve() for folder in yaml.safe_load(text)["resources"]]
    assert sorted(path.name for path in listed) == sorted(INSTALLATIONS[overlay].parts())
    assert all((folder / "kustomization.yaml").is_file() for folder in listed)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
@pytest.mark.parametrize("overlay", INSTALLATIONS)
def test_kustomize_and_hekla_install_say_the_same(overlay: str) -> None:
    command = ["kubectl", "kustomize", str(OVERLAYS / overlay)]
    built = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    by_kustomize = {(thing["kind"], named(thing)): thing for thing in yaml.safe_load_all(built)}
    ours = {(thing["kind"], named(thing)): thing for thing in INSTALLATIONS[overlay].objects()}
    assert by_kustomize == ours


def test_every_object_is_there_once_and_says_what_it_is() -> None:
    titles = [(thing["kind"], named(thing)) for thing in Installation(may_open_gates=True).objects()]
    assert len(set(titles)) == len(titles)


def test_the_image_is_of_this_version() -> None:
    container = only("Deployment")["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == f"hekla:{__version__}"
    assert f"hekla:{__version__}" in (ROOT / "deploy" / "Dockerfile").read_text("utf-8")


def test_the_configuration_is_the_preset_helm_and_has_no_mistakes() -> None:
    text = only("ConfigMap")["data"][CONF_KEY]
    assert text == PRESETS["helm"].text
    assert read_conf(text, "conf", BUILTIN.catalogue())[1] == []


class TestDefinitions:
    """What the API server is told about the kinds of Volcano."""

    @pytest.mark.parametrize("definition", DEFINITIONS, ids=named)
    def test_every_field_is_explained(self, definition: Object) -> None:
        schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        silent = [path for path, field in fields(schema) if not field.get("description")]
        assert silent == [".apiVersion", ".kind", ".metadata"]

    @pytest.mark.parametrize("definition", DEFINITIONS, ids=named)
    def test_names_and_annotations(self, definition: Object) -> None:
        spec = definition["spec"]
        kind = spec["names"]["kind"]
        assert spec["names"] | {"shortNames": []} == {
            "kind": kind,
            "listKind": f"{kind}List",
            "singular": kind.lower(),
            "plural": spec["names"]["plural"],
            "shortNames": [],
        }
        assert named(definition) == f"{spec['names']['plural']}.{spec['group']}"
        assert definition["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}

    def test_status_has_an_endpoint_where_volcano_has_one(self) -> None:
        with_endpoint = {
            definition["spec"]["names"]["kind"]
            for definition in DEFINITIONS
            if "status" in definition["spec"]["versions"][0].get("subresources", {})
        }
        assert with_endpoint == {"HyperNode", "Job", "NodeShard", "Queue"}

    def test_nothing_is_required_that_volcano_does_not_require(self) -> None:
        required = {
            f"{definition['spec']['names']['kind']}{path}.{name}"
            for definition in DEFINITIONS
            for path, field in [
                ("", definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]),
                *fields(definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]),
            ]
            for name in [*field.get("required", ()), *field.get("items", {}).get("required", ())]
            if "matchExpressions" not in path and "dataSource" not in path and "conditions" not in path
        }
        assert required == {
            "Command.target.apiVersion",
            "Command.target.kind",
            "Command.target.name",
            "Command.target.uid",
            "HyperNode.spec.members.selector.exactMatch.name",
            "HyperNode.spec.members.selector.regexMatch.pattern",
            "HyperNode.spec.members.type",
            "HyperNode.spec.tier",
            "Job.spec.tasks.partitionPolicy.partitionSize",
            "Job.spec.tasks.partitionPolicy.totalPartitions",
            "Job.spec.volumes.mountPath",
            "NodeShard.spec",
            "NodeShard.spec.nodesDesired",
        }

    @pytest.mark.parametrize("definition", DEFINITIONS, ids=named)
    def test_every_field_that_hekla_reads_is_defined(self, definition: Object) -> None:
        kind = manifest_of(definition["spec"]["group"], definition["spec"]["names"]["kind"])
        if kind is None:
            pytest.skip("hekla has no type for it")
        schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        defined = {path for path, _ in fields(schema)}
        kept_whole = (".metadata", ".spec.tasks.template.", ".spec.volumes.volumeClaim.")
        read = {path for path in paths(kind) if not path.startswith(kept_whole)}
        assert read - defined == set()


def fields(schema: Object, path: str = "") -> Iterator[tuple[str, Object]]:
    """Every property of a schema by its path, through lists and maps."""
    for name, field in schema.get("properties", {}).items():
        yield f"{path}.{name}", field
        yield from fields(field, f"{path}.{name}")
    for inner in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict):
            yield from fields(inner, path)


def paths(kind: type[msgspec.Struct], path: str = "") -> Iterator[str]:
    """Every field of a type by its path, through sequences, mappings and optional parts."""
    for field in msgspec.structs.fields(kind):
        here = f"{path}.{field.encode_name}"
        yield here
        for part in structs_in(field.type):
            yield from paths(part, here)


def structs_in(annotation: Any) -> Iterator[type[msgspec.Struct]]:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        yield annotation
    for inner in get_args(annotation):
        yield from structs_in(inner)


def manifest_of(group: str, kind: str) -> type[Manifest] | None:
    return next((there for (of, name), there in KINDS.items() if (of, name) == (group, kind)), None)


class TestPermissions:
    """No more than is needed."""

    EVERYTHING = Installation(may_open_gates=True).objects()
    ROLES = [thing for thing in EVERYTHING if thing["kind"] in ("ClusterRole", "Role")]

    @pytest.mark.parametrize("role", ROLES, ids=named)
    def test_there_is_no_wildcard(self, role: Object) -> None:
        for rule in role["rules"]:
            assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
            assert "nonResourceURLs" not in rule

    @pytest.mark.parametrize("role", ROLES, ids=named)
    def test_nobody_reads_secrets_changes_nodes_or_grants_rights(self, role: Object) -> None:
        for rule in role["rules"]:
            assert not {"secrets", "pods/exec", "serviceaccounts", "clusterroles"} & set(rule["resources"])
            if "nodes" in rule["resources"]:
                assert set(rule["verbs"]) <= {"get", "list", "watch"}
            if "configmaps" in rule["resources"]:
                assert named(role) == "hekla-controllers"
                assert rule["verbs"] == ["create", "patch", "delete"], "made for Jobs, and never read"

    def test_each_role_allows_what_its_name_says_of_pods(self) -> None:
        assert {
            named(role): verbs_on(role, "", "pods") for role in self.ROLES if role["kind"] == "ClusterRole"
        } == {
            "hekla-controllers": {"create", "delete", "patch"},
            "hekla-evictions": {"delete"},
            "hekla-reader": {"list", "watch"},
            "hekla-scheduler": {"get", "list", "watch"},
            "hekla-scheduling-gates": {"patch"},
        }

    def test_the_reader_only_reads(self) -> None:
        (reader,) = (role for role in self.ROLES if named(role) == "hekla-reader")
        assert {verb for rule in reader["rules"] for verb in rule["verbs"]} == {"list", "watch"}

    def test_bindings_lead_from_the_one_account_to_roles_that_exist(self) -> None:
        roles = {(role["kind"], named(role)) for role in self.ROLES}
        bound = set()
        for thing in self.EVERYTHING:
            if thing["kind"].endswith("RoleBinding") or thing["kind"] == "ClusterRoleBinding":
                bound.add((thing["roleRef"]["kind"], thing["roleRef"]["name"]))
                assert [(of["name"], of["namespace"]) for of in thing["subjects"]] == [
                    ("hekla-scheduler", "hekla-system")
                ]
        assert roles - bound == {("ClusterRole", "hekla-reader")}
        assert bound <= roles


def verbs_on(role: Object, group: str, resource: str) -> set[str]:
    return {
        verb
        for rule in role["rules"]
        if group in rule["apiGroups"] and resource in rule["resources"]
        for verb in rule["verbs"]
    }


class TestDeployment:
    def test_the_process_has_no_rights_on_its_node(self) -> None:
        pod = only("Deployment")["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
        assert all("hostPath" not in volume for volume in pod["volumes"])

    def test_ports_probes_service_and_options_agree(self) -> None:
        (container,) = only("Deployment")["spec"]["template"]["spec"]["containers"]
        port_of = {port["name"]: port["containerPort"] for port in container["ports"]}
        assert f"--listen-address=:{port_of['metrics']}" in container["args"]
        assert f"--healthz-address=:{port_of['health']}" in container["args"]
        assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "health"}
        assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "health"}
        (port,) = only("Service")["spec"]["ports"]
        assert (port["targetPort"], port["port"]) == ("metrics", port_of["metrics"])

    def test_selectors_find_its_pods(self) -> None:
        deployment = only("Deployment")["spec"]
        labels = deployment["template"]["metadata"]["labels"]
        assert deployment["selector"]["matchLabels"] == labels
        assert only("Service")["spec"]["selector"] == labels
        assert only("PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == labels

    def test_one_of_its_replicas_may_always_be_moved(self) -> None:
        assert only("PodDisruptionBudget")["spec"]["minAvailable"] < only("Deployment")["spec"]["replicas"]


def test_the_image_is_plain_and_without_root() -> None:
    text = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
    assert all("/" not in base for base in re.findall(r"^FROM (\S+)", text, re.MULTILINE))
    uid = only("Deployment")["spec"]["template"]["spec"]["securityContext"]["runAsUser"]
    assert f"\nUSER {uid}:{uid}\n" in text
    assert text.endswith('ENTRYPOINT ["hekla"]\n')
