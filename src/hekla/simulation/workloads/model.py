"""The words of a workload: submissions, what is there at the start, and what goes wrong meanwhile.

Times are seconds since the start of the workload. Submissions come one by one, in order of time, so that a
trace of millions need not be held; what they share (templates, roles) is one object for all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

import msgspec

from hekla.objects import Manifest, Node, ObjectMeta, VolcanoJob
from hekla.objects.batch import PodTemplate
from hekla.objects.scheduling import NetworkTopology, PodGroupSpec


class Restart(Enum):
    """What starts again when a pod is lost."""

    POD = "pod"
    """The pod alone; other pods go on."""
    JOB = "job"
    """The whole job: its pods need each other."""
    NEVER = "never"
    """Nothing: the job has failed."""


class Role(msgspec.Struct, frozen=True):
    """Pods of one kind in a job. Jobs that look alike share one."""

    name: str
    replicas: int
    template: PodTemplate
    min_available: int | None = None
    """Its own part of the gang; none where only the job's minimum counts."""
    run_seconds: float | None = None
    """How long its pods run, where that differs from the job."""


class GivenGroup(msgspec.Struct, frozen=True):
    """A PodGroup with its pods, as they are written."""

    spec: PodGroupSpec
    pods: tuple[tuple[ObjectMeta, int], ...]
    """Of each pod its metadata, and which of the roles it has."""


class Submission(msgspec.Struct, frozen=True):
    """One job as it is handed in."""

    name: str
    submitted: float
    run_seconds: float
    """How long each pod works, if nothing interrupts it."""
    roles: tuple[Role, ...]
    queue: str = "default"
    namespace: str = "default"
    user: str = ""
    min_available: int | None = None
    """How many pods must start together; none: all of them."""
    priority_class: str = ""
    estimate: float | None = None
    """How long the user says that it runs."""
    checkpoint_seconds: float | None = None
    """How often work is saved; none: what is lost starts from zero."""
    restart: Restart = Restart.POD
    fails_after: float | None = None
    """After so many seconds of work its first pod fails, once."""
    after: str = ""
    """The `namespace/name` of a job that must end before; `submitted` is then the earliest moment."""
    think_seconds: float = 0.0
    """How long after the end of that job it is handed in."""
    topology: NetworkTopology | None = None
    annotations: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Of the PodGroup."""
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Of the PodGroup."""
    job: VolcanoJob | None = None
    """The Job that is handed in, where it is one: its pods are made once its PodGroup is admitted.
    None: a PodGroup together with its pods."""
    group: GivenGroup | None = None
    """The PodGroup and the pods that are handed in, where they are written in full."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def pods(self) -> int:
        return sum(role.replicas for role in self.roles)

    @property
    def minimum(self) -> int:
        return self.pods if self.min_available is None else self.min_available


class NodeFails(msgspec.Struct, frozen=True):
    """A node goes down with all its pods."""

    at: float
    node: str
    for_seconds: float | None = None
    """None: it never comes back."""


class NodeDrains(msgspec.Struct, frozen=True):
    """A node takes no more pods, and those it has are evicted."""

    at: float
    node: str
    for_seconds: float | None = None


class NodesAdded(msgspec.Struct, frozen=True):
    """Nodes join the cluster."""

    at: float
    nodes: tuple[Node, ...]


Fault = NodeFails | NodeDrains | NodesAdded


class Hazards(msgspec.Struct, frozen=True):
    """What goes wrong by chance; spans are exponentially distributed. None: it never does."""

    node_failure_seconds: float | None = None
    """Mean time between failures of one node."""
    node_repair_seconds: float = 3600.0
    """Mean time until a failed node is back."""
    pod_failure_seconds: float | None = None
    """Mean running time between failures of one pod."""


@dataclass
class Account:
    """What reading came to: how many were taken, how many left out or changed, each with its reason."""

    taken: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    """By reason, as "a job that never ran (status 5, no run time)"."""
    changed: Counter[str] = field(default_factory=Counter)
    """By what was assumed, as "run time missing: the requested time is taken"."""

    def clear(self) -> None:
        """Begin anew, as every reading does."""
        self.taken = 0
        self.dropped.clear()
        self.changed.clear()

    def notes(self) -> list[str]:
        """What was left out and what was changed, as sentences."""
        return [
            *(f"{count} left out: {reason}" for reason, count in self.dropped.items()),
            *(f"{count} changed: {reason}" for reason, count in self.changed.items()),
        ]


class Workload(msgspec.Struct, frozen=True):
    """Jobs over time on a cluster that may come with them."""

    name: str
    jobs: Callable[[], Iterator[Submission]]
    """The submissions in order of time, afresh at every call."""
    objects: tuple[Manifest, ...] = ()
    """What is there at the start: queues, priority classes, HyperNodes, nodes, pods that run already."""
    are_manifests: bool = False
    """All of it is manifests, taken in in their order: of equal queues the first comes first."""
    not_made: frozenset[str] = frozenset()
    """By key those pods among the objects that their Job makes only once its PodGroup is admitted."""
    faults: tuple[Fault, ...] = ()
    hazards: Hazards = Hazards()
    count: int | None = None
    """How many jobs there are, where that is known without reading them."""
    account: Account = msgspec.field(default_factory=Account)
    """Filled while submissions are read; that of the latest reading."""
