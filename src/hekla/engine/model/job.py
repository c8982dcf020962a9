"""Job: a PodGroup with its tasks; and SubJob, a part of it with a minimum of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec
import numpy as np
import numpy.typing as npt

from hekla.engine.model.diagnosis import Diagnosis
from hekla.engine.model.resources import Resources, read_resources
from hekla.engine.model.roster import Roster
from hekla.engine.model.status import READY_SET, VALID_SET, Status
from hekla.engine.model.task import Task, flag
from hekla.objects import PodGroup, seconds
from hekla.objects.keys import PREEMPTABLE
from hekla.objects.meta import Amount, matches
from hekla.objects.quantity import read_count
from hekla.objects.scheduling import NetworkTopology, SubGroupPolicy

PENDING = "Pending"
INQUEUE = "Inqueue"
RUNNING = "Running"
UNKNOWN = "Unknown"
COMPLETED = "Completed"

_LONGEST_SUB_JOB_NAME = 128
_PIPELINED_SET = (*READY_SET, Status.PIPELINED)


class SubJob(msgspec.Struct, eq=False):
    """Tasks that are placed together; a job without policies has one, which is the whole job."""

    uid: str
    group: str
    roster: Roster
    topology: NetworkTopology | None = None
    match_index: int = 0
    domain: str = ""
    """The network domain its placed tasks lie in."""
    nominated: str = ""
    """The network domain that a gang-aware eviction has freed for it."""
    asked: NetworkTopology | None = None
    """The topology as it was asked for, before a session made it plain."""

    @property
    def is_bounded(self) -> bool:
        return is_hard(self.topology)

    @property
    def priority(self) -> int:
        return max((task.priority for task in self.roster.tasks.values()), default=0)


class Job(msgspec.Struct, eq=False):
    """What the PodGroup says on top, its tasks and the session's notes below."""

    uid: str
    name: str
    namespace: str
    queue: str
    priority: int
    created: float
    pod_group: PodGroup
    phase: str
    roster: Roster
    role_minimums: Mapping[str, int]
    min_resources: Resources | None
    is_preemptable: bool
    has_policies: bool = False
    """Whether it is divided into sub-groups."""
    checks_roles: bool = False
    """Role minimums bind only where the gang's own minimum leaves room for all of them."""
    topology: NetworkTopology | None = None
    domain: str = ""
    """The network domain its placed tasks lie in."""
    sub_jobs: dict[str, SubJob] = msgspec.field(default_factory=dict)
    fit_errors: dict[str, Diagnosis] = msgspec.field(default_factory=dict)
    """By UID, why a task found no node; the task's role, and which nodes evictions may help, go by it."""
    objections: dict[str, Diagnosis] = msgspec.field(default_factory=dict)
    """By UID, why a plugin would not have a task on the node that was found for it; said, and no more."""
    held: npt.NDArray[np.int64] = msgspec.field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """What its tasks held when the session opened."""
    number: int = 0
    """Its place in the order of arrival."""
    min_vector: npt.NDArray[np.int64] | None = None
    """Its minimum resources by column, once they were asked for, until columns move."""
    has_new_parts: bool = False
    """Tasks have come or gone: its sub-jobs may stand in another order than their first tasks."""

    def __repr__(self) -> str:
        return f"Job({self.uid})"

    @property
    def title(self) -> str:
        """What people call it: the name of the Volcano Job behind the PodGroup, else its own."""
        owners = self.pod_group.metadata.owner_references
        return next((owner.name for owner in owners if owner.controller and owner.kind == "Job"), self.name)

    @property
    def tasks(self) -> Mapping[str, Task]:
        return self.roster.tasks

    @property
    def minimum(self) -> int:
        return self.roster.minimum

    @property
    def is_pending(self) -> bool:
        """Not admitted yet."""
        return self.phase in ("", PENDING)

    @property
    def is_leaving(self) -> bool:
        """Its PodGroup is being deleted: nothing is told of it any more."""
        return self.pod_group.metadata.deletion_timestamp is not None

    @property
    def is_being_made(self) -> bool:
        """Fewer of its pods exist than start together, and none has been placed yet."""
        return len(self.roster) < self.minimum and not self.roster.scheduled

    @property
    def runs_whole(self) -> bool:
        """All its tasks run and they are enough, so that no action can do anything for it."""
        roster = self.roster
        return (
            len(roster.tasks) == len(roster.having(Status.RUNNING)) >= roster.minimum
            and not self.is_pending
            and not self.has_policies
            and self.roles_valid()
        )

    @property
    def has_topology(self) -> bool:
        if self.topology is not None or not self.has_policies:
            return self.topology is not None
        return any(sub_job.topology is not None for sub_job in self.sub_jobs.values())

    @property
    def is_bounded(self) -> bool:
        """Some of its tasks must lie in one network domain of a limited tier."""
        return self.has_topology and any(map(is_hard, self.constraints))

    @property
    def constraints(self) -> list[NetworkTopology]:
        """What it and its parts ask of the network."""
        asked = [self.topology, *[sub_job.topology for sub_job in self.sub_jobs.values()]]
        return [one for one in asked if one is not None]

    @property
    def asks_for_hard_topology(self) -> bool:
        """The same, but not where a session took a soft constraint for a hard one that allows everything."""
        asked = [self.pod_group.spec.network_topology, *(sub_job.asked for sub_job in self.sub_jobs.values())]
        return self.is_bounded and any([one is not None and one.mode == "hard" for one in asked])

    @property
    def names_unknown_tier(self) -> bool:
        """Some constraint of its names a tier that no network domain had in the last session."""
        return self.has_topology and any(map(is_vague, self.constraints))

    def roles_valid(self) -> bool:
        return not self.checks_roles or all(
            self.roster.role_count(role, VALID_SET) >= least
            for role, least in self.role_minimums.items()
            if least > 0
        )

    def roles_ready(self) -> bool:
        return not self.checks_roles or all(
            self.roster.role_count(role, READY_SET, best_effort=True) >= least
            for role, least in self.role_minimums.items()
        )

    def roles_pipelined(self) -> bool:
        return not self.checks_roles or all(
            self.roster.role_count(role, _PIPELINED_SET, best_effort=True) >= least
            for role, least in self.role_minimums.items()
        )

    def sub_jobs_suffice(self, counts: Callable[[SubJob], bool]) -> bool:
        """Every policy that asks for sub-groups has enough of those that count."""
        for policy in self.pod_group.spec.sub_group_policy:
            group, least = f"{self.uid}/{policy.name}", policy.min_sub_groups or 0
            if least > 0 and sum(s.group == group and counts(s) for s in self.sub_jobs.values()) < least:
                return False
        return True

    def add_tasks(self, tasks: Sequence[Task]) -> None:
        whole = None if self.has_policies else self._undivided()
        for task in tasks:
            task.sub_job = (whole or self._sub_job_for(task)).uid
        self.roster.add(tasks)
        if self.has_policies:
            for task in tasks:
                self.sub_jobs[task.sub_job].roster.add((task,))
            self.has_new_parts = True

    def remove_tasks(self, tasks: Sequence[Task]) -> None:
        self.roster.remove(tasks)
        if self.has_policies:
            for task in tasks:
                self.sub_jobs[task.sub_job].roster.remove((task,))
            self.has_new_parts = True
        for uid in {task.sub_job: None for task in tasks}:
            if not self.sub_jobs[uid].roster:
                del self.sub_jobs[uid]

    def swap(self, old: Task, task: Task) -> None:
        """A task takes the place of one with the same UID."""
        task.sub_job = self._sub_job_for(task).uid
        self.roster.swap(old, task)
        if not self.has_policies:
            return
        if task.sub_job == old.sub_job:
            self.sub_jobs[task.sub_job].roster.swap(old, task)
        else:
            # Its labels put it into another sub-group.
            self._divide()
            self.has_new_parts = True

    def _divide(self) -> None:
        """Sub-jobs are made anew, in the order of their first tasks."""
        self.sub_jobs = {}
        for task in self.tasks.values():
            task.sub_job = self._sub_job_for(task).uid
            self.sub_jobs[task.sub_job].roster.add((task,))

    def tidy(self) -> None:
        """All tasks, and those of one status, stand in the order of arrival again."""
        self.roster.tidy()
        if self.has_new_parts:
            self._divide()
            self.has_new_parts = False
        elif self.has_policies:
            for sub_job in self.sub_jobs.values():
                sub_job.roster.tidy()

    def forget_session(self) -> None:
        """What a session noted down about the job is void."""
        self.phase = self.pod_group.status.phase
        self.fit_errors = {}
        self.objections = {}
        self.domain = ""
        for sub_job in self.sub_jobs.values():
            sub_job.domain = sub_job.nominated = ""

    def says_the_same_as(self, group: PodGroup) -> bool:
        """Nothing but the PodGroup's status may differ."""
        mine = self.pod_group
        has_same_name = mine.metadata is group.metadata or mine.metadata == group.metadata
        return has_same_name and (mine.spec is group.spec or mine.spec == group.spec)

    def move(self, task: Task, status: Status) -> None:
        """Give a task another status, in the job's counts and in its sub-job's."""
        if self.has_policies:
            before = task.status
            self.sub_jobs[task.sub_job].roster.move(task, status)
            task.status = before
        self.roster.move(task, status)

    def move_all(self, tasks: Iterable[Task], status: Status) -> None:
        """The same for many."""
        if self.has_policies:
            for task in tasks:
                self.move(task, status)
        else:
            self.roster.move_all(tasks, status)

    def failed_roles(self, sub_job: SubJob) -> set[str]:
        """Roles in which some task of the sub-job found no node in this session."""
        tasks = sub_job.roster.tasks
        return {tasks[uid].role for uid in self.fit_errors if uid in tasks}

    def may_continue(self, sub_job: SubJob) -> bool:
        """A task found no node: is it worth trying the next one?"""
        if self.minimum == len(self.roster) or sub_job.roster.minimum >= len(sub_job.roster):
            return False
        if self.has_policies:
            return True
        failed = self.failed_roles(sub_job)
        if self.minimum < sum(self.role_minimums.values()):
            left = sum(task.role not in failed for task in self.roster.having(Status.PENDING).values())
            return self.roster.ready + left >= self.minimum
        return not any(
            self.roster.role_count(role, READY_SET, best_effort=True) < self.role_minimums.get(role, 0)
            for role in failed
        )

    def _sub_job_for(self, task: Task) -> SubJob:
        policy, values = self._policy_for(task) if self.has_policies else (None, ())
        if policy is None:
            return self._undivided()
        name = "-".join(values)
        if len(name) > _LONGEST_SUB_JOB_NAME:
            name = fnv32a(name)
        group = f"{self.uid}/{policy.name}"
        size = 1 if policy.sub_group_size is None else policy.sub_group_size
        index = read_count(values[0]) or 0
        return self._sub_job(f"{group}-{name}", group, lambda: Roster(size), policy.network_topology, index)

    def _undivided(self) -> SubJob:
        """The sub-job of tasks that no policy names; without policies it is the whole job."""
        asked = self.pod_group.spec.network_topology
        return self._sub_job(self.uid, self.uid, self._default_roster, asked, 0)

    def _sub_job(
        self,
        uid: str,
        group: str,
        roster: Callable[[], Roster],
        topology: NetworkTopology | None,
        index: int,
    ) -> SubJob:
        if uid not in self.sub_jobs:
            self.sub_jobs[uid] = SubJob(uid, group, roster(), topology, index, asked=topology)
        return self.sub_jobs[uid]

    def _default_roster(self) -> Roster:
        # Without policies the one sub-job is the job: they share their books.
        return Roster(1) if self.has_policies else self.roster

    def _policy_for(self, task: Task) -> tuple[SubGroupPolicy | None, tuple[str, ...]]:
        labels = task.pod.metadata.labels
        for policy in self.pod_group.spec.sub_group_policy:
            if policy.label_selector is not None and not matches(policy.label_selector, labels):
                continue
            # A policy without keys matches nothing, as in Volcano.
            values = tuple(labels.get(key, "") for key in policy.match_label_keys)
            if values and all(values):
                return policy, values
        return None, ()


def job_of(source: PodGroup, priority: int, default_queue: str) -> Job:
    """The job that a PodGroup comes to, still without tasks."""
    spec, meta, least = source.spec, source.metadata, source.spec.min_task_member
    return Job(
        uid=f"{meta.namespace}/{meta.name}",
        name=meta.name,
        namespace=meta.namespace,
        queue=spec.queue or default_queue,
        priority=priority,
        created=seconds(meta.creation_timestamp),
        pod_group=source,
        phase=source.status.phase,
        roster=Roster(spec.min_member),
        role_minimums=least,
        min_resources=None if spec.min_resources is None else _read(tuple(spec.min_resources.items())),
        is_preemptable=flag(meta.annotations, meta.labels, PREEMPTABLE, default=False),
        has_policies=bool(spec.sub_group_policy),
        checks_roles=bool(least) and spec.min_member >= sum(least.values()),
        topology=spec.network_topology,
    )


@lru_cache(maxsize=4096)
def _read(amounts: tuple[tuple[str, Amount], ...]) -> Resources:
    """Jobs that ask for the same share what that comes to; it is not changed."""
    return read_resources(dict(amounts))


def is_hard(topology: NetworkTopology | None) -> bool:
    """A hard constraint without a tier binds nothing, as in Volcano."""
    return topology is not None and topology.mode == "hard" and topology.highest_tier_allowed is not None


def is_vague(topology: NetworkTopology) -> bool:
    """Names a tier that could not be found."""
    return bool(topology.highest_tier_name) and topology.highest_tier_allowed is None


def fnv32a(text: str) -> str:
    """The 32-bit FNV-1a hash of a text, in hexadecimal."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return f"{value:08x}"
