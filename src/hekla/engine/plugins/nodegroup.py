"""Nodegroup: a queue keeps to the groups of nodes it names, and within its limits there.

A node's group is its label `volcano.sh/nodegroup-name`. As in Volcano, a queue that only says
what it must avoid fits nowhere, and groups it merely prefers are the only ones it may use.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from hekla.conf import argument
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import NODE_ORDER, PREDICATE, AnyPoint, Scope, answers
from hekla.engine.ledger.arrays import Amounts, Floats, Mask
from hekla.engine.ledger.axis import Axis
from hekla.engine.ledger.labels import ABSENT
from hekla.engine.model.diagnosis import Code, Refusal
from hekla.engine.model.queue import ROOT, QueueInfo
from hekla.engine.model.resources import read_resources
from hekla.engine.model.status import ALLOCATED_SET
from hekla.engine.model.task import Task
from hekla.errors import InputError
from hekla.objects.keys import NODE_GROUP, NODE_GROUP_LIMITS
from hekla.objects.meta import ResourceList
from hekla.objects.scheduling import NodeGroupAffinity, QueueAffinity

REQUIRED_SCORE, PREFERRED_SCORE, DISLIKED_SCORE = 100.0, 50.0, -1.0

NOT_IN_GROUP = "node(s) were in no node group of the queue"
OVER_LIMIT = "node(s) were in a node group where the queue is at its limit"
BAD_LIMITS = "queue has unreadable node group limits"
NO_JOB = "pod belongs to no known job"
NO_GROUPS = NodeGroupAffinity()

Limits = Mapping[str, tuple[Amounts, Mask]]
"""By group: the amounts, and which resources are limited at all."""


@dataclass(frozen=True)
class NodeGroupArguments:
    is_strict: bool = argument(
        True, key="strict", help="false lets queues that name no group use nodes without one"
    )
    ranks_preferred: bool = argument(
        False, key="enablePreferredOrder", help="score preferred groups by their place in the list"
    )


@dataclass(frozen=True)
class GroupPreference:
    """The groups a queue asks for and those it avoids."""

    affinity: NodeGroupAffinity = NO_GROUPS
    anti: NodeGroupAffinity = NO_GROUPS

    @property
    def is_empty(self) -> bool:
        return self == GroupPreference()

    def admit(self, group: str) -> bool:
        if group in self.anti.preferred:
            return True
        if group in self.anti.required:
            return False
        return group in self.affinity.required or group in self.affinity.preferred

    def score(self, group: str, *, by_place: bool) -> float:
        if group in self.anti.preferred:
            return DISLIKED_SCORE
        score = REQUIRED_SCORE if group in self.affinity.required else 0.0
        # Of a group that is listed twice the last place counts, as in Volcano.
        place_of = {name: place for place, name in enumerate(self.affinity.preferred)}
        if group in place_of:
            behind = len(place_of) - place_of[group] if by_place else len(place_of)
            score += PREFERRED_SCORE * behind / len(place_of)
        return score


class NodeGroup(Plugin):
    """With `enableHierarchy` a queue without affinity takes over that of its nearest ancestor."""

    name = "nodegroup"
    Arguments = NodeGroupArguments

    def on_open(self) -> None:
        session = self.session
        self._groups = session.nodes.labels.column(NODE_GROUP)
        self._wishes = {queue.name: self._wishes_of(queue) for queue in session.queues.values()}
        self._limits: dict[str, Limits | None] = {
            queue.name: limits_of(queue, session.axis)
            for queue in session.queues.values()
            if queue.annotations.get(NODE_GROUP_LIMITS)
        }
        shape = (self._groups.size, len(session.axis))
        self._held = {name: np.zeros(shape, dtype=np.int64) for name in self._limits}
        for job in session.jobs.values():
            for task in job.roster.among(ALLOCATED_SET):
                self._hold(task, 1)

    def silent_on(self) -> Collection[AnyPoint | str]:
        return () if self._limits else (self.refuse_groups_at_their_limit.__name__,)

    def distinguishes(self, task: Task) -> Hashable:
        return self._queue_of(task)

    @answers(PREDICATE, Scope.CLASS)
    def refuse_other_groups(self, task: Task) -> list[Refusal] | None:
        queue = self._queue_of(task)
        if queue is None:
            return self._everywhere(NO_JOB, Code.ERROR)
        wishes = self._wishes[queue]
        if wishes.is_empty:
            welcome = ~self._groups.present & (not self.arguments.is_strict)
        else:
            welcome = self._groups.where_value({group: wishes.admit(group) for group in self._groups.code_of})
        plain = f'not in a node group of queue "{queue}"'
        if welcome.all():
            return None
        permits = f'queue "{queue}" may use'
        return [Refusal(NOT_IN_GROUP, ~welcome, Code.UNRESOLVABLE, plain, permits=permits)]

    @answers(PREDICATE)
    def refuse_groups_at_their_limit(self, task: Task) -> list[Refusal] | None:
        queue = self._queue_of(task)
        if queue is None or queue not in self._limits:
            return None
        limits = self._limits[queue]
        if limits is None:
            return self._everywhere(BAD_LIMITS, Code.UNRESOLVABLE)
        full = {
            group: beyond(self._held[queue][code] + task.vector, *limits[group])
            for group, code in self._groups.code_of.items()
            if group in limits
        }
        if not any(full.values()):
            return None
        plain = f'queue "{queue}" is at its limit in the node group'
        return [Refusal(OVER_LIMIT, self._groups.where_value(full), Code.UNRESOLVABLE, plain)]

    @answers(NODE_ORDER, Scope.CLASS)
    def prefer_groups_of_the_queue(self, task: Task) -> Floats | None:
        queue = self._queue_of(task)
        if queue is None or self._wishes[queue].is_empty:
            return None
        by_place, wishes = self.arguments.ranks_preferred, self._wishes[queue]
        scores = [wishes.score(group, by_place=by_place) for group in self._groups.code_of]
        return np.array([*scores, 0.0])[self._groups.codes]

    def on_allocate(self, task: Task) -> None:
        self._hold(task, 1)

    def on_release(self, task: Task) -> None:
        self._hold(task, -1)

    def _hold(self, task: Task, sign: int) -> None:
        queue = self._queue_of(task)
        if queue not in self._held or not 0 <= task.node < len(self.session.nodes):
            return
        group = int(self._groups.codes[task.node])
        if group != ABSENT:
            self._held[queue][group] += sign * task.vector

    def _queue_of(self, task: Task) -> str | None:
        job = self.session.jobs.get(task.job)
        return None if job is None else job.queue

    def _wishes_of(self, queue: QueueInfo) -> GroupPreference:
        family = self._ancestry(queue) if self.hierarchical else iter((queue,))
        found = next((found for one in family if (found := affinity_of(one)) is not None), QueueAffinity())
        return GroupPreference(
            found.node_group_affinity or NO_GROUPS, found.node_group_anti_affinity or NO_GROUPS
        )

    def _ancestry(self, queue: QueueInfo) -> Iterator[QueueInfo]:
        """The queue, its parent, and so on; a circle ends where it closes."""
        seen: set[str] = set()
        above: QueueInfo | None = queue
        while above is not None and above.name not in seen:
            yield above
            seen.add(above.name)
            above = self.session.queues.get(above.parent or ROOT)

    def _everywhere(self, reason: str, code: Code) -> list[Refusal]:
        return [Refusal(reason, np.ones(len(self.session.nodes), dtype=np.bool_), code)]


def affinity_of(queue: QueueInfo) -> QueueAffinity | None:
    return None if queue.manifest is None else queue.manifest.spec.affinity


def limits_of(queue: QueueInfo, axis: Axis) -> Limits | None:
    """What a queue may hold per group, as its annotation says; None where that cannot be read."""
    try:
        by_group = msgspec.json.decode(
            queue.annotations[NODE_GROUP_LIMITS], type=dict[str, ResourceList] | None
        )
        amounts = {group: read_resources(listed) for group, listed in (by_group or {}).items()}
    except (msgspec.MsgspecError, RecursionError, InputError):
        return None
    return {group: (axis.vector(listed), axis.named(listed)) for group, listed in amounts.items()}


def beyond(held: Amounts, limit: Amounts, is_limited: Mask) -> bool:
    """More of a limited resource than the limit allows.

    held, limit, is_limited: (R,)
    """
    return bool((is_limited & (held > limit)).any())
