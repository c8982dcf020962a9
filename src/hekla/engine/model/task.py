"""Task: one pod, as a session sees it."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from hekla.engine.model.requests import Scored, demand_of
from hekla.engine.model.resources import Resources, add, is_empty
from hekla.engine.model.status import Status, status_of
from hekla.objects import seconds
from hekla.objects.keys import (
    EVICTION_REFUSED,
    GROUP_NAME,
    PREEMPTABLE,
    QUEUE_ALLOCATION_GATE,
    TASK_PRIORITY,
    TASK_SPEC,
)
from hekla.objects.pod import Pod, PodStatus
from hekla.objects.quantity import read_integer

DEFAULT_PRIORITY = 1
NOWHERE = -1

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def parse_bool(text: str) -> bool | None:
    """Go's idea of a boolean; None when it is none."""
    return True if text in _TRUE else False if text in _FALSE else None


class UndonePlacement(msgspec.Struct, frozen=True):
    """What the last undone operation had decided for a task; kept for messages only."""

    status: Status
    node: int
    evicted: bool


def wanted_of(vector: npt.NDArray[np.int64], pods: int) -> list[tuple[int, int]]:
    """How much is asked for, by column; of what counts for queues, which places for pods do not."""
    return [
        (column, amount) for column, amount in enumerate(vector.tolist()) if amount > 0 and column != pods
    ]


class RequestShape:
    """What a task adds to a node's row in each of the two ledgers; tasks that ask for the same share it."""

    __slots__ = (
        "__weakref__",
        "among_pods",
        "amounts",
        "asked",
        "axis",
        "nonzero",
        "nonzero_column",
        "on_node",
        "vector",
        "wanted",
    )

    def __init__(
        self,
        vector: npt.NDArray[np.int64],
        nonzero: Scored,
        asked: tuple[int, ...],
        pods: int,
        nonzero_on_node: Scored | None = None,
        *,
        axis: object = None,
    ) -> None:
        self.axis = axis
        """What says in which column which resource stands."""
        on_node = nonzero if nonzero_on_node is None else nonzero_on_node
        self.vector = vector
        """What it asks for, by column."""
        self.on_node = np.concatenate([-vector, vector, -vector])
        """Of what is idle, used, and idle once releases are done."""
        self.among_pods = np.array([*vector, *on_node, 1], dtype=np.int64)
        """Of what is requested, of what scores see of that, and of pods."""
        self.amounts: list[int] = vector.tolist()
        """The same in plain numbers."""
        self.nonzero = nonzero
        self.nonzero_column = np.array(nonzero, dtype=np.int64)[:, None]
        """What scores see of that."""
        self.wanted = wanted_of(vector, pods)
        """What a queue must have to give."""
        self.asked = asked
        """The resources of which a node must have enough."""


_UNPLACED = np.zeros(0, dtype=np.int64)
NOTHING = RequestShape(_UNPLACED, (0, 0), (), pods=0)


class Task(msgspec.Struct, eq=False):
    """Facts of the pod on top, the session's decisions below."""

    pod: Pod
    uid: str
    key: str
    name: str
    namespace: str
    job: str
    role: str
    request: Resources
    nonzero: Scored
    nonzero_on_node: Scored
    priority: int
    created: float
    index: int | None
    is_best_effort: bool
    is_preemptable: bool
    is_gated: bool
    has_only_queue_gate: bool
    opens_queue_gate: bool
    fact: Status
    """What the pod itself says; its status may be what a session supposes."""
    status: Status
    node_name: str
    template: Pod
    """The first pod that said the same but for its name: tasks of one template have the very same one."""

    # The session's part: rows instead of names, and what it decided.
    vector: npt.NDArray[np.int64]
    asked: tuple[int, ...] = ()
    shape: RequestShape = NOTHING
    node: int = NOWHERE
    sub_job: str = ""
    number: int = 0
    """Its place in the order of arrival."""
    near: str = ""
    """The network domain its sub-job lies in so far; scores are measured from there."""
    evicted: bool = False
    last: UndonePlacement | None = None

    def __repr__(self) -> str:
        return f"Task({self.key}, {self.status.name})"

    def forget_session(self) -> None:
        """What a session noted down about the task is void."""
        self.near = ""
        self.evicted = False
        self.last = None


def task_of(pod: Pod, attachments: Resources | None = None) -> Task:
    """The task that a pod comes to, with its volumes; raises InputError where amounts cannot be read."""
    meta, spec = pod.metadata, pod.spec
    notes = meta.annotations
    request, nonzero, nonzero_on_node = demand_of(pod)
    if attachments:
        request = add(request, attachments)
    group = notes.get(GROUP_NAME, "")
    gates = spec.scheduling_gates
    status = status_of(pod)
    return Task(
        pod=pod,
        uid=meta.uid or f"{meta.namespace}-{meta.name}",
        key=f"{meta.namespace}/{meta.name}",
        name=meta.name,
        namespace=meta.namespace,
        job=f"{meta.namespace}/{group}" if group else "",
        role=notes.get(TASK_SPEC) or meta.labels.get(TASK_SPEC, ""),
        request=request,
        nonzero=nonzero,
        nonzero_on_node=nonzero_on_node,
        priority=priority_of(pod),
        created=seconds(meta.creation_timestamp),
        index=pod_index(meta.name),
        is_best_effort=is_empty(request),
        is_preemptable=flag(notes, meta.labels, PREEMPTABLE, default=True) and EVICTION_REFUSED not in notes,
        is_gated=bool(gates),
        has_only_queue_gate=len(gates) == 1 and gates[0].name == QUEUE_ALLOCATION_GATE,
        opens_queue_gate=notes.get(QUEUE_ALLOCATION_GATE) == "true",
        fact=status,
        status=status,
        node_name=spec.node_name,
        template=pod,
        vector=_UNPLACED,
    )


def in_the_words_of(other: Pod, pod: Pod) -> Pod:
    """The pod, with the very objects of another where both say the same, which is seen at a glance then."""
    mine, theirs = pod.metadata, other.metadata
    if pod.spec is other.spec or pod.spec != other.spec:
        return pod
    if mine.labels != theirs.labels or mine.annotations != theirs.annotations:
        return pod
    metadata = replace(mine, labels=theirs.labels, annotations=theirs.annotations)
    return replace(pod, spec=other.spec, metadata=metadata)


def have_one_template(left: Pod, right: Pod) -> bool:
    """Whether what both say is one and the same object."""
    mine, theirs = left.metadata, right.metadata
    return (
        left.spec is right.spec
        and mine.labels is theirs.labels
        and mine.annotations is theirs.annotations
        and mine.owner_references == theirs.owner_references
        and mine.namespace == theirs.namespace
    )


def twin_of(task: Task, pod: Pod) -> Task | None:
    """The task of a pod that says what another's says, so that little needs reading; else None."""
    template = task.template
    if pod.spec.node_name or may_be_resized(template.status):
        return None
    if pod.status is not template.status and may_be_resized(pod.status):
        return None
    if not have_one_template(template, pod):
        pod = in_the_words_of(template, pod)
        if not have_one_template(template, pod):
            return None
    return _like(task, pod)


def may_be_resized(status: PodStatus) -> bool:
    """Whether the status of a pod has a say in what it asks for."""
    return bool(status.container_statuses or status.init_container_statuses)


def has_only_moved(before: Pod, pod: Pod) -> bool:
    """Whether nothing but the node and the status of a pod is new, and it asks for what it asked for."""
    if pod.metadata is not before.metadata and pod.metadata != before.metadata:
        return False
    if may_be_resized(pod.status) or may_be_resized(before.status):
        return False
    spec = pod.spec
    return spec is before.spec or replace(spec, node_name=before.spec.node_name) == before.spec


def moved_on(task: Task, pod: Pod) -> Task | None:
    """The task of a pod of which only the node and the status are new, laid out as before; None otherwise."""
    if not has_only_moved(task.pod, pod):
        return None
    return _like(task, pod)


def _like(task: Task, pod: Pod) -> Task:
    """The task of a pod that says what another's says, but for its name, its age and how it fares."""
    meta, status = pod.metadata, status_of(pod)
    return Task(
        pod,
        meta.uid or f"{meta.namespace}-{meta.name}",
        f"{meta.namespace}/{meta.name}",
        meta.name,
        meta.namespace,
        task.job,
        task.role,
        task.request,
        task.nonzero,
        task.nonzero_on_node,
        task.priority,
        seconds(meta.creation_timestamp),
        pod_index(meta.name),
        task.is_best_effort,
        task.is_preemptable,
        task.is_gated,
        task.has_only_queue_gate,
        task.opens_queue_gate,
        status,
        status,
        pod.spec.node_name,
        task.template,
        task.vector,
        task.asked,
        task.shape,
    )


def priority_of(pod: Pod) -> int:
    """The annotation wins over the pod's own priority; neither means 1."""
    stated = read_integer(pod.metadata.annotations.get(TASK_PRIORITY, ""))
    if stated is not None and -(2**31) <= stated < 2**31:
        return stated
    return DEFAULT_PRIORITY if pod.spec.priority is None else pod.spec.priority


def flag(annotations: dict[str, str], labels: dict[str, str], key: str, *, default: bool) -> bool:
    """A yes/no from an annotation, else a label; text that is neither means no."""
    text = annotations.get(key, labels.get(key))
    return default if text is None else parse_bool(text) is True


def pod_index(name: str) -> int | None:
    """The number at the end of `job-role-3`; None where the name has no such form."""
    parts = name.rsplit("-", 2)
    return read_integer(parts[-1]) if len(parts) == 3 else None
