"""Shapes: pod templates and roles, one object for all jobs that look alike.

Simulations keep what they work out about a template by the template's identity; a trace of a million jobs
has a few thousand shapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from hekla.errors import InputError
from hekla.objects import Taint, Toleration
from hekla.objects.batch import PodTemplate
from hekla.objects.complaint import quoted
from hekla.objects.keys import DEFAULT_SCHEDULER
from hekla.objects.meta import Amount
from hekla.objects.pod import (
    Affinity,
    Container,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodSpec,
    ResourceRequirements,
)
from hekla.simulation.workloads.model import Role

GPU = "nvidia.com/gpu"
GPU_MODEL = "nvidia.com/gpu.product"
"""The label of nodes that says which GPUs they have."""
MOST_KEPT = 4_096
"""A trace in which everything differs must not fill the memory with its shapes."""

Requests = tuple[tuple[str, Amount], ...]
Choice = tuple[tuple[str, tuple[str, ...]], ...]
"""For each label the values that a node may have."""


class Shapes:
    """Gives the same template or role for the same wishes."""

    def __init__(self) -> None:
        self._templates: dict[object, PodTemplate] = {}
        self._roles: dict[object, Role] = {}

    def template(
        self, requests: Requests, nodes: Choice = (), tolerations: Sequence[Toleration] = ()
    ) -> PodTemplate:
        """A pod of one container that asks for this, on nodes with one of these values per label."""
        key = (requests, nodes, tuple(map(msgspec.structs.astuple, tolerations)))
        found = self._templates.get(key)
        if found is None:
            found = self._keep(key, new_template(requests, nodes, tolerations))
        return found

    def shared(self, template: PodTemplate) -> PodTemplate:
        """The template itself, or the one before it that says the same; pods of no scheduler are ours."""
        if not template.spec.scheduler_name:
            template = replace(template, spec=replace(template.spec, scheduler_name=DEFAULT_SCHEDULER))
        key = msgspec.msgpack.encode(template)
        return self._templates.get(key) or self._keep(key, template)

    def _keep(self, key: object, template: PodTemplate) -> PodTemplate:
        if len(self._templates) >= MOST_KEPT:
            self._templates.clear()
            # Roles are found by the identity of their template: no new template would find them.
            self._roles.clear()
        self._templates[key] = template
        return template

    def role(
        self,
        name: str,
        replicas: int,
        template: PodTemplate,
        min_available: int | None = None,
        run_seconds: float | None = None,
    ) -> Role:
        # The role kept holds its template, so that no other template can have its id meanwhile.
        key = (name, replicas, id(template), min_available, run_seconds)
        found = self._roles.get(key)
        if found is None:
            if len(self._roles) >= MOST_KEPT:
                self._roles.clear()
            found = self._roles[key] = Role(name, replicas, template, min_available, run_seconds)
        return found


def new_template(requests: Requests, nodes: Choice, tolerations: Iterable[Toleration]) -> PodTemplate:
    """One value of a label is a node selector; several are an affinity."""
    several = {label: values for label, values in nodes if len(values) != 1}
    return PodTemplate(
        spec=PodSpec(
            containers=(Container(name="main", resources=ResourceRequirements(requests=dict(requests))),),
            node_selector={label: values[0] for label, values in nodes if len(values) == 1},
            affinity=one_of_each(several) if several else None,
            tolerations=tuple(tolerations),
            scheduler_name=DEFAULT_SCHEDULER,
        )
    )


def one_of_each(values_by_label: Mapping[str, Sequence[str]]) -> Affinity:
    """Nodes that have one of the values for each of the labels."""
    term = NodeSelectorTerm(
        match_expressions=tuple(
            NodeSelectorRequirement(key=label, operator="In", values=tuple(values))
            for label, values in values_by_label.items()
        )
    )
    return Affinity(node_affinity=NodeAffinity(required=NodeSelector(node_selector_terms=(term,))))


EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

_SHAPE = re.compile(r"\A(?P<key>[^=:\s]+)(?:=(?P<value>[^=:\s]*))?(?::(?P<effect>[A-Za-z]+))?\Z")


def taint_of(text: str) -> Taint:
    """The taint that a word stands for; without an effect it keeps pods away."""
    key, value, effect = _parts(text, "taint")
    return Taint(key=key, value=value or "", effect=effect or EFFECTS[0])


def toleration_of(text: str) -> Toleration:
    """The toleration that a word stands for; without a value any is tolerated, without an effect all are."""
    key, value, effect = _parts(text, "toleration")
    operator = "Exists" if value is None else "Equal"
    return Toleration(key=key, operator=operator, value=value or "", effect=effect)


def _parts(text: str, what: str) -> tuple[str, str | None, str]:
    shape = _SHAPE.match(text)
    if shape is None or (shape["effect"] and shape["effect"] not in EFFECTS):
        raise InputError(f'{quoted(text)} is no {what}; write it like "dedicated=ml:{EFFECTS[0]}"')
    return shape["key"], shape["value"], shape["effect"] or ""
