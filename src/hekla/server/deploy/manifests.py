"""The manifests of an installation: files of this package, fitted to what is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import yaml

from hekla.errors import InputError
from hekla.objects.meta import CONF_KEY

Object = dict[str, Any]

NAMESPACE = "hekla-system"
SCHEDULER_NAME = "volcano"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True)
class Installation:
    """What is to be installed; `objects` are its manifests, in an order to apply them in."""

    namespace: str = NAMESPACE
    scheduler_name: str = SCHEDULER_NAME
    image: str | None = None
    conf: str | None = None
    has_definitions: bool = True
    has_controllers: bool = True
    may_evict: bool = True
    keeps_budgets: bool = False
    """Evictions go through the API that heeds PodDisruptionBudgets."""
    may_open_gates: bool = False

    def __post_init__(self) -> None:
        for what, name in (("namespace", self.namespace), ("scheduler", self.scheduler_name)):
            if not _NAME.fullmatch(name):
                raise InputError(
                    f'"{name}" cannot be the name of a {what}: lower-case letters, digits and dashes, '
                    "at most 63, a letter or digit first and last"
                )

    def objects(self) -> list[Object]:
        found = [thing for part in self.parts() for thing in read_part(part)]
        fitted: list[Object] = [renamed(thing, NAMESPACE, self.namespace) for thing in found]
        for thing in fitted:
            match thing["kind"]:
                case "ConfigMap" if self.conf is not None:
                    thing["data"][CONF_KEY] = self.conf
                case "Deployment":
                    self._fit_container(thing["spec"]["template"]["spec"]["containers"][0])
                case "Role":
                    self._fit_lease(thing["rules"])
        return fitted

    def parts(self) -> list[str]:
        """The folders of the manifests that are wanted. The process comes last: it looks for the rest."""
        wanted = {
            "crds": self.has_definitions,
            "evictions": self.may_evict and not self.keeps_budgets,
            "eviction-api": self.may_evict and self.keeps_budgets,
            "scheduling-gates": self.may_open_gates,
            "controllers": self.has_controllers,
            "base": True,
        }
        return [part for part, is_wanted in wanted.items() if is_wanted]

    def _fit_container(self, container: Object) -> None:
        container["image"] = self.image or container["image"]
        option = "--scheduler-name="
        container["args"] = [
            option + self.scheduler_name if word.startswith(option) else word for word in container["args"]
        ]
        if self.has_controllers:
            container["args"].append("--controllers")
        if not self.may_evict:
            container["args"].append("--partial-gang=keep")
        elif self.keeps_budgets:
            container["args"].append("--eviction-api")

    def _fit_lease(self, rules: list[Object]) -> None:
        """The Lease has the name of the scheduler."""
        for rule in rules:
            if rule["resources"] == ["leases"] and "resourceNames" in rule:
                rule["resourceNames"] = [self.scheduler_name]


def read_part(part: str) -> Iterator[Object]:
    """All objects of the files that a kustomization lists."""
    folder = files("hekla.server.deploy") / "manifests" / part
    listed = yaml.safe_load((folder / "kustomization.yaml").read_text("utf-8"))["resources"]
    for name in listed:
        yield from yaml.safe_load_all((folder / name).read_text("utf-8"))


def renamed(value: Any, old: str, new: str) -> Any:
    """A copy in which every text says `new` where it said `old`; manifests say `hekla-system` for nothing
    but the namespace."""
    match value:
        case dict():
            return {key: renamed(item, old, new) for key, item in value.items()}
        case list():
            return [renamed(item, old, new) for item in value]
        case str():
            return value.replace(old, new)
        case _:
            return value


def as_yaml(objects: Iterable[Object]) -> str:
    """The objects as one stream for `kubectl apply -f -`."""
    return yaml.dump_all(objects, Dumper=_Dumper, sort_keys=False, explicit_start=True, width=110)


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such, and repeats what occurs twice."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        return True

    def text(self, data: str) -> yaml.ScalarNode:
        style = "|" if "\n" in data else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper.text)
