"""Role affinity: which roles of a job want to be together, which apart, and which goes first.

    volcano.sh/task-topology-affinity: "ps,worker;evaluator"   groups by `;`, roles by `,`
    volcano.sh/task-topology-anti-affinity: "ps"
    volcano.sh/task-topology-task-order: "ps,worker"

A group of one role speaks of tasks of that role among each other, a larger group of every pair in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import permutations

from hekla.errors import InputError
from hekla.objects.keys import ROLE_AFFINITY, ROLE_ANTI_AFFINITY, ROLE_ORDER

ANNOTATIONS = (ROLE_AFFINITY, ROLE_ANTI_AFFINITY, ROLE_ORDER)

SELF_ANTI, INTER_AFFINITY, SELF_AFFINITY, INTER_ANTI = 4, 3, 2, 1
"""The roles that are hardest to please are put into buckets first."""

Groups = tuple[tuple[str, ...], ...]
Pairs = Mapping[str, Collection[str]]


@dataclass(frozen=True)
class RoleAffinity:
    """For each role the roles it likes and dislikes; ranks are 0 where nothing is said of a role."""

    likes: Pairs = field(default_factory=dict)
    dislikes: Pairs = field(default_factory=dict)
    order: Mapping[str, int] = field(default_factory=dict)
    rank: Mapping[str, int] = field(default_factory=dict)

    def has_opinion_on(self, role: str) -> bool:
        return role in self.rank

    def priority(self, role: str) -> tuple[int, int]:
        """The place in the job's own order, then how hard the role is to please; larger goes first."""
        return self.order.get(role, 0), self.rank.get(role, 0)


def read_affinity(annotations: Mapping[str, str], roles: Collection[str]) -> RoleAffinity | None:
    """What a PodGroup says of its roles; None where it says nothing.

    Raises InputError where it names a role that no task has, or one twice in a group.
    """
    if not any(key in annotations for key in ANNOTATIONS):
        return None
    together = _groups(annotations, ROLE_AFFINITY, roles)
    apart = _groups(annotations, ROLE_ANTI_AFFINITY, roles)
    listed = _groups(annotations, ROLE_ORDER, roles, separator=None)
    order = {role: len(listed[0]) - at for at, role in enumerate(listed[0])} if listed else {}
    return RoleAffinity(_pairs(together), _pairs(apart), order, _ranks(together, apart))


def _groups(
    annotations: Mapping[str, str], key: str, roles: Collection[str], separator: str | None = ";"
) -> Groups:
    if key not in annotations:
        return ()
    text = annotations[key]
    groups = text.split(separator) if separator else [text]
    return tuple(_group(key, group, roles) for group in groups)


def _group(key: str, text: str, roles: Collection[str]) -> tuple[str, ...]:
    named = tuple(role.strip() for role in text.split(","))
    for role in named:
        if role not in roles:
            known = ", ".join(sorted(roles)) or "none"
            raise InputError(f'{key}: no task has the role "{role}"; roles: {known}')
        if named.count(role) > 1:
            raise InputError(f'{key}: role "{role}" stands twice in "{text}"')
    return named


def _pairs(groups: Groups) -> Pairs:
    pairs: defaultdict[str, set[str]] = defaultdict(set)
    for group in groups:
        # A role alone is paired with itself.
        for left, right in permutations(group, 2) if len(group) > 1 else ((group[0], group[0]),):
            pairs[left].add(right)
    return dict(pairs)


def _ranks(together: Groups, apart: Groups) -> dict[str, int]:
    ranks: dict[str, int] = {}
    for groups, alone, among_others in (
        (together, SELF_AFFINITY, INTER_AFFINITY),
        (apart, SELF_ANTI, INTER_ANTI),
    ):
        for group in groups:
            for role in group:
                ranks[role] = max(ranks.get(role, 0), alone if len(group) == 1 else among_others)
    return ranks
