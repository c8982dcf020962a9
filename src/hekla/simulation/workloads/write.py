"""Write a workload: in our own words as YAML or JSON lines, or in Standard Workload Format; job by job."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from math import ceil, isinf
from typing import Any, TextIO

import msgspec
import yaml

from hekla.cluster.export import as_data
from hekla.errors import InputError
from hekla.objects import Manifest, Node, PriorityClass, Queue
from hekla.objects.batch import PodTemplate
from hekla.objects.quantity import exact, whole
from hekla.simulation.workloads.cluster_form import queue_of
from hekla.simulation.workloads.fields import FOREVER, Spot
from hekla.simulation.workloads.model import (
    Fault,
    Hazards,
    NodeFails,
    NodesAdded,
    Restart,
    Role,
    Submission,
    Workload,
)
from hekla.simulation.workloads.nodes import in_words
from hekla.simulation.workloads.shapes import GPU, Choice, new_template
from hekla.text import escaped_json

UNKNOWN = -1


def write_swf(workload: Workload, file: TextIO) -> Counter[str]:
    """One line per job; gives back what the format has no words for, by how often it was left out."""
    lost: Counter[str] = Counter()
    queues = {"default": 0}
    nodes = [each for each in workload.objects if isinstance(each, Node)]
    if nodes:
        lost["of a Node all but its processors"] += len(nodes)
    for manifest in workload.objects:
        if isinstance(manifest, Node):
            continue
        if isinstance(manifest, Queue):
            queues.setdefault(manifest.metadata.name, len(queues))
        else:
            lost[f"a {type(manifest).__name__}"] += 1
    if workload.faults:
        lost["a fault"] += len(workload.faults)
    file.write("; Version: 2.2\n; Computer: hekla\n")
    if nodes:
        processors = sum(int(exact(node.status.allocatable.get("cpu", 0))) for node in nodes)
        file.write(f"; MaxNodes: {len(nodes)}\n; MaxProcs: {processors}\n")
    file.writelines(f"; Queue: {number} {name}\n" for name, number in queues.items())
    users: dict[str, int] = {}
    for number, job in enumerate(workload.jobs(), start=1):
        count_lost(job, lost)
        user = users.setdefault(job.user, len(users) + 1) if job.user else UNKNOWN
        queue = queues.setdefault(job.queue, len(queues))
        file.write(" ".join(map(_number, row_of(number, job, user, queue))) + "\n")
    return lost


def row_of(number: int, job: Submission, user: int, queue: int) -> tuple[float, ...]:
    processors = sum(map(processors_of, job.roles))
    memory = sum(memory_of(role) for role in job.roles)
    per_processor = ceil(memory / 1024 / processors) if memory and processors else UNKNOWN
    runs = UNKNOWN if isinf(job.run_seconds) else job.run_seconds
    estimate = UNKNOWN if job.estimate is None else job.estimate
    return (
        number, job.submitted, UNKNOWN, runs, processors, UNKNOWN, UNKNOWN, processors, estimate,
        per_processor, 1, user, UNKNOWN, UNKNOWN, queue, UNKNOWN, UNKNOWN, UNKNOWN,
    )  # fmt: skip


def processors_of(role: Role) -> int:
    """Whole processors; a pod that asks for a part of one has one."""
    return role.replicas * max(1, ceil(sum(exact(asked) for asked in _asked(role, "cpu"))))


def memory_of(role: Role) -> int:
    return role.replicas * sum(whole(asked) for asked in _asked(role, "memory"))


def _asked(role: Role, resource: str) -> list[str | int | float]:
    containers = role.template.spec.containers
    return [each.resources.requests[resource] for each in containers if resource in each.resources.requests]


def count_lost(job: Submission, lost: Counter[str]) -> None:
    others = {
        name
        for role in job.roles
        for container in role.template.spec.containers
        for name in container.resources.requests
    } - {"cpu", "memory"}
    for name in sorted(others):
        lost[f"a request for {name}"] += 1
    if job.priority_class:
        lost["a priority class"] += 1
    if job.after:
        lost["a job to wait for"] += 1
    if job.min_available is not None and job.min_available < job.pods:
        lost["a gang that may start with a part of its pods"] += 1


def _number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


Form = dict[str, Any]
"""Plain data as it stands in a file."""


def write_yaml(workload: Workload, file: TextIO) -> Counter[str]:
    """Our own words, one job per line."""
    yaml.safe_dump(head_of(workload), file, sort_keys=False, width=100)
    forms, has_jobs = Forms(), False
    for job in workload.jobs():
        # JSON is YAML as well, and reads well on one line.
        file.write(f"{'' if has_jobs else 'jobs:' + chr(10)}- {written(forms.job(job))}\n")
        has_jobs = True
    return Counter()


def write_lines(workload: Workload, file: TextIO) -> Counter[str]:
    """JSON lines: what is there at the start, then one job per line."""
    file.write(f"{written({'queues': [], **head_of(workload)})}\n")
    forms = Forms()
    file.writelines(f"{written(forms.job(job))}\n" for job in workload.jobs())
    return Counter()


WRITERS: dict[str, Callable[[Workload, TextIO], Counter[str]]] = {
    "yaml": write_yaml,
    "jsonl": write_lines,
    "swf": write_swf,
}
"""By the name of the form, what writes it and tells what could not be said in it."""


def written(form: Form) -> str:
    return escaped_json(json.dumps(form, ensure_ascii=False))


def head_of(workload: Workload) -> Form:
    """What is there at the start, and what goes wrong later."""
    queues, classes, objects = [], {}, []
    nodes, others = in_words([each for each in workload.objects if isinstance(each, Node)])
    for manifest in (*others, *(each for each in workload.objects if not isinstance(each, Node))):
        if short := short_queue(manifest):
            queues.append(short)
        elif isinstance(manifest, PriorityClass) and is_plain(manifest):
            classes[manifest.metadata.name] = manifest.value
        else:
            objects.append(as_data(manifest))
    parts: Form = {
        "name": workload.name,
        "queues": queues,
        "priorityClasses": classes,
        "nodes": nodes,
        "objects": objects,
        "faults": [fault_form(fault) for fault in workload.faults],
        "hazards": hazards_form(workload.hazards),
    }
    return {key: value for key, value in parts.items() if value}


def short_queue(manifest: Manifest) -> Form | None:
    """A queue in a few words, if they say all of it."""
    if not isinstance(manifest, Queue):
        return None
    spec: Form = msgspec.to_builtins(manifest.spec)
    if "guarantee" in spec:
        spec["guarantee"] = spec["guarantee"].get("resource", {})
    short = {"name": manifest.metadata.name, **spec}
    try:
        says_all = queue_of(short, Spot("")) == manifest
    except InputError:
        says_all = False
    return short if says_all else None


def is_plain(priority: PriorityClass) -> bool:
    """Whether its name and value are all there is to say."""
    return priority == PriorityClass(metadata=priority.metadata, value=priority.value)


def fault_form(fault: Fault) -> Form:
    if isinstance(fault, NodesAdded):
        return {"at": fault.at, "add": [as_data(node) for node in fault.nodes]}
    form: Form = {"at": fault.at, "fail" if isinstance(fault, NodeFails) else "drain": fault.node}
    return form if fault.for_seconds is None else {**form, "for": fault.for_seconds}


def hazards_form(hazards: Hazards) -> Form:
    if hazards == Hazards():
        return {}
    form = {
        "nodeFailure": hazards.node_failure_seconds,
        "nodeRepair": hazards.node_repair_seconds,
        "podFailure": hazards.pod_failure_seconds,
    }
    return {key: value for key, value in form.items() if value is not None}


class Forms:
    """Jobs as short forms; what a template comes to is worked out once."""

    def __init__(self) -> None:
        self._form_by_template: dict[int, tuple[PodTemplate, Form]] = {}

    def job(self, job: Submission) -> Form:
        """The job as `short_job` reads it; what is as usual is left out."""
        form: Form = {"name": job.name, "arrival": job.submitted, "duration": span(job.run_seconds)}
        usual: Mapping[str, tuple[Any, Any]] = {
            "queue": (job.queue, "default"),
            "namespace": (job.namespace, "default"),
            "user": (job.user, ""),
            "minAvailable": (job.min_available, None),
            "priorityClass": (job.priority_class, ""),
            "estimate": (job.estimate, None),
            "checkpoint": (job.checkpoint_seconds, None),
            "restart": (job.restart.value, Restart.POD.value),
            "failsAfter": (job.fails_after, None),
            "after": (job.after, ""),
            "think": (job.think_seconds, 0.0),
            "topology": (msgspec.to_builtins(job.topology), None),
            "annotations": (dict(job.annotations), {}),
            "labels": (dict(job.labels), {}),
        }
        form |= {key: value for key, (value, default) in usual.items() if value != default}
        return form | self._roles(job.roles)

    def _roles(self, roles: tuple[Role, ...]) -> Form:
        first = roles[0]
        if len(roles) == 1 and first.name == "worker" and first.min_available is first.run_seconds is None:
            return {"pods": first.replicas, **self._template(first.template)}
        return {"roles": [self._role(role) for role in roles]}

    def _role(self, role: Role) -> Form:
        form: Form = {"name": role.name, "pods": role.replicas}
        if role.min_available is not None:
            form["minAvailable"] = role.min_available
        if role.run_seconds is not None:
            form["duration"] = span(role.run_seconds)
        return form | self._template(role.template)

    def _template(self, template: PodTemplate) -> Form:
        known = self._form_by_template.get(id(template))
        if known is None:
            # The template is kept beside its form, so that no other can take its id meanwhile.
            known = self._form_by_template[id(template)] = (template, template_form(template))
        return known[1]


def template_form(template: PodTemplate) -> Form:
    """A template in a few words if they say all of it, else in full."""
    containers = template.spec.containers
    requests = dict(containers[0].resources.requests) if len(containers) == 1 else {}
    choice, tolerations = choice_in(template), template.spec.tolerations
    if new_template(tuple(requests.items()), choice, tolerations) != template:
        return {"template": msgspec.to_builtins(template)}
    form: Form = {}
    for key, resource in (("cpu", "cpu"), ("memory", "memory"), ("gpu", GPU)):
        if resource in requests:
            form[key] = requests.pop(resource)
    if requests:
        form["requests"] = requests
    if choice:
        form["nodeSelector"] = {label: v[0] if len(v) == 1 else list(v) for label, v in choice}
    if tolerations:
        form["tolerations"] = msgspec.to_builtins(tolerations)
    return form


def choice_in(template: PodTemplate) -> Choice:
    """The labels that nodes must have, as far as selector and affinity say it simply."""
    found = [(label, (value,)) for label, value in template.spec.node_selector.items()]
    affinity = template.spec.affinity
    required = affinity.node_affinity.required if affinity and affinity.node_affinity else None
    terms = required.node_selector_terms if required else ()
    several = [(each.key, each.values) for term in terms for each in term.match_expressions]
    return (*found, *several)


def span(seconds: float) -> float | str:
    return FOREVER if math.isinf(seconds) else seconds
