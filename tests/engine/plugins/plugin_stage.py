"""A small stage for plugins: manifests from a few words, a session around them, and what it says."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from hekla.conf import Conf, read_arguments
from hekla.engine.framework.dispatch import Registration, Registrations
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.session import Session
from hekla.engine.model.status import Status
from hekla.engine.model.task import Task
from hekla.engine.plugins.nodeorder import NodeOrder
from hekla.engine.plugins.predicates import Predicates
from hekla.engine.state.snapshot import take_snapshot
from hekla.objects import Manifest, Node, Pod, PodGroup, Queue

GROUP = "group"
FITS, U, UU = "fits", "U", "UU"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def read(kind: type[Manifest], manifest: dict[str, Any]) -> Any:
    return msgspec.convert(manifest, kind)


def node(name: str, *, cpu: object = 4, memory: object = "8Gi", pods: int = 110, **rest: Any) -> Node:
    """`labels`, `taints` ("key=value:Effect"), `gpu`, `cordoned`, `images` ({name: bytes})."""
    labels = rest.get("labels", {})
    amounts = {"cpu": cpu, "memory": memory, "pods": pods}
    if "gpu" in rest:
        amounts["nvidia.com/gpu"] = rest["gpu"]
    images = [{"names": [name], "sizeBytes": size} for name, size in rest.get("images", {}).items()]
    return read(
        Node,
        {
            "metadata": {"name": name, "labels": labels},
            "spec": {
                "taints": [taint(t) for t in rest.get("taints", ())],
                "unschedulable": "cordoned" in rest,
            },
            "status": {"allocatable": amounts, "images": images},
        },
    )


def taint(text: str) -> dict[str, str]:
    label, effect = text.split(":")
    key, _, value = label.partition("=")
    return {"key": key, "value": value, "effect": effect}


def pod(
    name: str,
    *,
    on: str = "",
    namespace: str = "default",
    labels: dict[str, str] | None = None,
    requests: dict[str, object] | None = None,
    leaving: bool = False,
    container: dict[str, Any] | None = None,
    **spec: Any,
) -> Pod:
    """A pod that waits, or that runs `on` a node; everything else is its spec."""
    container = {"resources": {"requests": requests or {}}, **(container or {})}
    meta: dict[str, Any] = {"name": name, "namespace": namespace, "labels": labels or {}}
    meta["annotations"] = {"scheduling.k8s.io/group-name": GROUP}
    if leaving:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return read(
        Pod,
        {
            "metadata": meta,
            "spec": {"containers": [container], "nodeName": on, **spec},
            "status": {"phase": "Running" if on else "Pending"},
        },
    )


def term(app: str, topology: str = "zone", **rest: Any) -> dict[str, Any]:
    return {"topologyKey": topology, "labelSelector": {"matchLabels": {"app": app}}, **rest}


def near(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"podAffinity": {REQUIRED: list(terms)}}


def apart(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def likes(weight: int, one: dict[str, Any]) -> dict[str, Any]:
    return {"podAffinity": {PREFERRED: [{"weight": weight, "podAffinityTerm": one}]}}


def dislikes(weight: int, one: dict[str, Any]) -> dict[str, Any]:
    return {"podAntiAffinity": {PREFERRED: [{"weight": weight, "podAffinityTerm": one}]}}


def spread(
    app: str, topology: str = "zone", *, hard: bool = True, skew: int = 1, **rest: Any
) -> dict[str, Any]:
    return {
        "topologyKey": topology,
        "maxSkew": skew,
        "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": app}},
        **rest,
    }


def in_zone(name: str, zone: str, **rest: Any) -> Node:
    return node(name, labels={"zone": zone, "kubernetes.io/hostname": name}, **rest)


class Stage:
    """A session with `predicates` and `nodeorder` taken in, and short ways to ask it."""

    def __init__(
        self,
        *objects: Manifest,
        predicates: dict[str, object] | None = None,
        nodeorder: dict[str, object] | None = None,
    ) -> None:
        namespaces = {one.metadata.namespace for one in objects if isinstance(one, Pod)}
        groups = [
            read(PodGroup, {"metadata": {"name": GROUP, "namespace": n}, "spec": {"queue": "default"}})
            for n in sorted(namespaces)
        ]
        queue = read(Queue, {"metadata": {"name": "default"}})
        self.session = Session(take_snapshot([queue, *groups, *objects]), Conf(actions=()))
        self.predicates = self._build(Predicates, predicates or {})
        self.nodeorder = self._build(NodeOrder, nodeorder or {})
        registrations = Registrations([[Registration(Predicates), Registration(NodeOrder)]])
        self.session.take_in([self.predicates, self.nodeorder], registrations)

    def _build(self, plugin: type[Plugin], raw: dict[str, object]) -> Any:
        arguments, mistakes = read_arguments(plugin.Arguments, raw, plugin.name)
        assert not mistakes
        return plugin(arguments, self.session)

    def task(self, name: str) -> Task:
        return next(task for task in self.session.tasks if task.name == name)

    def row(self, name: str) -> int:
        return self.session.nodes.row_of[name]

    def put(self, name: str, node: str, status: Status = Status.ALLOCATED) -> None:
        assert self.session.put(self.task(name), self.row(node), status)

    def take_back(self, name: str) -> None:
        self.session.take_back(self.task(name))

    def verdicts(self, name: str) -> dict[str, str]:
        """What becomes of the task on each node, once it has passed the pre-predicates."""
        task = self.task(name)
        assert self.session.objection_to(task) is None
        is_open, curable = self.session.scoring.open_nodes(task), self.session.scoring.curable_nodes(task)
        return {
            node: FITS if is_open[row] else U if curable[row] else UU
            for row, node in enumerate(self.session.nodes.names)
        }

    def diagnosis(self, name: str) -> str:
        everywhere = np.ones(len(self.session.nodes), dtype=np.bool_)
        return str(self.session.scoring.diagnose(self.task(name), everywhere, with_room=False))

    def plainly(self, name: str) -> str:
        everywhere = np.ones(len(self.session.nodes), dtype=np.bool_)
        return self.session.scoring.diagnose(self.task(name), everywhere, with_room=False).plainly()

    def scores(self, name: str, *among: str) -> dict[str, float]:
        """The whole score of the candidates; all nodes unless some are named."""
        rows = [self.row(node) for node in among] or list(range(len(self.session.nodes)))
        mask = np.zeros(len(self.session.nodes), dtype=np.bool_)
        mask[rows] = True
        task = self.task(name)
        scores = self.session.scoring.class_of(task).scores_of(task, mask)
        return {self.session.nodes.names[row]: float(scores[row]) for row in rows}


WEIGHTS = (
    "leastrequested",
    "mostrequested",
    "balancedresource",
    "nodeaffinity",
    "imagelocality",
    "podaffinity",
    "tainttoleration",
    "podtopologyspread",
)


def only(score: str, weight: int = 1) -> dict[str, object]:
    """Arguments of nodeorder that leave one score."""
    return {f"{name}.weight": weight if name == score else 0 for name in WEIGHTS}
