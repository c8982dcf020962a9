"""Network topology: keep the tasks of a job close together in the network, and pack domains.

Jobs that ask for it are tried domain by domain, the closest networks first; inside a domain, and
for jobs that do not ask, nodes are scored by the domains they lie in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hekla.conf import argument, arguments_by_prefix
from hekla.framework.plugin import Plugin
from hekla.framework.points import BATCH_NODE_ORDER, HYPERNODE_GRADIENT, HYPERNODE_ORDER, Purpose, answers
from hekla.ledger.arrays import Amounts, Floats, Mask
from hekla.ledger.demand import minimum_of
from hekla.ledger.domains import Domain
from hekla.model.job import Job, SubJob, is_hard
from hekla.model.resources import CPU, MEMORY
from hekla.model.status import Status
from hekla.model.task import NOWHERE, Task
from hekla.plugins.binpack import listed_names

MAX_SCORE = 100.0
MOST_TIERS = 64


@dataclass(frozen=True)
class NetworkTopologyArguments:
    weight: int = argument(1, key="weight", minimum=0, help="how much the scores count")
    cpu: int = argument(1, key="hypernode.binpack.cpu", minimum=0, help="weight of cpu when packing domains")
    memory: int = argument(
        1, key="hypernode.binpack.memory", minimum=0, help="weight of memory when packing domains"
    )
    resources: str = argument(
        "", key="hypernode.binpack.resources", help="other resources that count, comma separated"
    )
    per_resource: Mapping[str, int] = arguments_by_prefix(
        "hypernode.binpack.resources", {}, help="weight of a listed resource", minimum=0
    )
    packs_normal_pods: bool = argument(
        True, key="hypernode.binpack.normal-pod.enable", help="score pods of jobs without a topology too"
    )
    fading: float = argument(
        0.8,
        key="hypernode.binpack.normal-pod.fading",
        minimum=0.0,
        help="how much less each higher tier counts for such pods",
    )
    most_evicted: int = argument(
        8,
        key="hypernode.gradient.evict.max-hypernodes",
        minimum=1,
        help="how many domains a gang-aware eviction looks at",
    )

    asks_for_all: bool = argument(
        True,
        key="hypernode.gradient.whole-demand",
        help="a domain must be large enough for all that waits of a part, not just for its minimum",
    )

    def weights(self) -> dict[str, int]:
        listed = {name: self.per_resource.get(name, 1) for name in listed_names(self.resources)}
        return {CPU: self.cpu, MEMORY: self.memory, **listed}


class NetworkTopologyAware(Plugin):
    """Keeps what is used in every domain; idle amounts are those of session open, as in Volcano."""

    name = "network-topology-aware"
    Arguments = NetworkTopologyArguments

    def on_open(self) -> None:
        session = self.session
        self.domains = session.domains
        self.names = list(self.domains.by_name)
        self.place_of = {name: at for at, name in enumerate(self.names)}
        by_name = self.domains.by_name.values()
        self.inside = np.array([domain.nodes for domain in by_name], dtype=np.bool_)
        self.tier_of = np.array([domain.tier for domain in by_name])
        self.allocatable = np.array([domain.allocatable for domain in by_name], dtype=np.int64)
        self.used: Amounts = self.inside.astype(np.int64) @ session.nodes.used
        columns = session.axis.column_of
        self.weights = {columns[n]: w for n, w in self.arguments.weights().items() if n in columns}
        self.lowest, self.highest = self.domains.tiers[0], self.domains.tiers[-1]
        self._closeness: dict[str, Floats] = {}
        self._size_of: dict[str, Amounts] = {}
        nothing = (np.zeros(len(session.axis), dtype=np.int64), ())
        self._latest_demand: tuple[tuple[str, int], tuple[Amounts, tuple[int, ...]]] = (("", -1), nothing)
        """What waits of one sub-job: asked for every domain in a row, while nothing changes."""
        self._around = [np.flatnonzero(column) for column in self.inside.T]
        """Per node the domains that contain it."""
        self._closest = np.array([self.place_of.get(name, len(self.names)) for name in self.domains.closest])
        """Per node its closest domain; one past the end where it has none."""
        self._tiers = self._tier_weights()

    def _tier_weights(self) -> list[tuple[int, float]]:
        """Every tier between the lowest and the highest, existing or not, and how much it counts."""
        tiers: Sequence[int] = range(self.lowest, self.highest + 1)
        if len(tiers) > MOST_TIERS:
            tiers = self.domains.tiers
        return [(tier, float(self.arguments.fading ** (tier - 1))) for tier in tiers]

    @answers(HYPERNODE_GRADIENT)
    def close_networks_first(
        self, job: Job, sub_job: SubJob | None, bound: Domain, purpose: Purpose
    ) -> list[list[Domain]]:
        """Domains that may hold the job, or one part of it, tier by tier."""
        topology, memory = (
            (job.topology, job.domain) if sub_job is None else (sub_job.topology, sub_job.domain)
        )
        if not is_hard(topology):
            return [[bound]]
        assert topology is not None
        assert topology.highest_tier_allowed is not None
        limit = topology.highest_tier_allowed
        root = self._search_root(bound, memory, limit)
        if root is None:
            return []
        demand, asked = self._demand_of(job, sub_job)
        by_tier: dict[int, list[Domain]] = {}
        for domain in self._below(root):
            if domain.tier <= limit and (memory or may_hold(domain, demand, list(asked), purpose)):
                by_tier.setdefault(domain.tier, []).append(domain)
        closest_first = [by_tier[tier] for tier in sorted(by_tier)]
        if purpose is Purpose.ALLOCATE:
            return closest_first
        return last_of(closest_first[::-1], self.arguments.most_evicted)

    def _search_root(self, bound: Domain, memory: str, limit: int) -> Domain | None:
        """Where to look: below the bound, and no further from what is placed than the limit allows."""
        if not memory:
            return bound
        allowed = [
            name for name in self.domains.ancestors(memory) if self.domains.by_name[name].tier <= limit
        ]
        if not allowed:
            return None
        widest = allowed[-1]
        if bound.name in self.domains.ancestors(widest):
            return self.domains.by_name[widest]
        return bound if widest in self.domains.ancestors(bound.name) else None

    def _below(self, root: Domain) -> list[Domain]:
        found = [root]
        for domain in found:
            found += [self.domains.by_name[name] for name in domain.children]
        return found

    def _demand_of(self, job: Job, sub_job: SubJob | None) -> tuple[Amounts, tuple[int, ...]]:
        axis = self.session.axis
        if sub_job is None:
            return minimum_of(self.session, job), axis.compared(job.min_resources or {})
        moment = (sub_job.uid, len(self.session.nodes.changed))
        if self._latest_demand[0] != moment:
            self._latest_demand = (moment, self._waiting_demand_of(sub_job))
        return self._latest_demand[1]

    def _waiting_demand_of(self, sub_job: SubJob) -> tuple[Amounts, tuple[int, ...]]:
        axis = self.session.axis
        demand = np.zeros(len(axis), dtype=np.int64)
        asked: set[int] = set()
        waiting = list(sub_job.roster.having(Status.PENDING).values())
        if not self.arguments.asks_for_all:
            missing = max(0, sub_job.roster.minimum - sub_job.roster.ready - sub_job.roster.waiting)
            waiting = sorted(waiting, key=lambda task: task.uid)[:missing]
        for task in waiting:
            demand += task.vector
            asked.update(task.asked)
        return demand, tuple(asked or axis.compared({}))

    @answers(HYPERNODE_ORDER)
    def pack_domains(self, sub_job: SubJob, candidates: Sequence[Domain]) -> dict[str, float]:
        """Domains that the whole sub-job would fill up most; among equals, where more of it lies already."""
        wanted = self._size_of.get(sub_job.uid)
        if wanted is None:
            wanted = np.sum([task.vector for task in sub_job.roster.tasks.values()], axis=0)
            self._size_of[sub_job.uid] = wanted
        places = np.array([self.place_of[domain.name] for domain in candidates])
        score = self._packing(wanted, places)
        best = score.max()
        if np.count_nonzero(score == best) > 1:
            score = np.where(score == best, score + self._presence(sub_job)[places], score)
        scaled = score * (MAX_SCORE * self.arguments.weight)
        return {domain.name: float(value) for domain, value in zip(candidates, scaled, strict=True)}

    @answers(BATCH_NODE_ORDER)
    def prefer_close_nodes(self, task: Task, among: Mask) -> Floats | None:
        job = self.session.jobs[task.job]
        sub_job = job.sub_jobs[task.sub_job]
        if sub_job.topology is None:
            return self._packed_domains(task) if self.arguments.packs_normal_pods else None
        if not task.near:
            return None
        score: Floats = self._closeness_to(task.near)
        best = score[among].max()
        ties = among & (score == best)
        if np.count_nonzero(ties) > 1:
            score = np.where(ties, score + self._presence_by_node(sub_job), score)
        return score * float(MAX_SCORE * self.arguments.weight)

    def _packed_domains(self, task: Task) -> Floats:
        """How full the node's domains would be, tier by tier; a tier without one counts as full."""
        packing = self._packing(task.vector, np.arange(len(self.names)))
        total = np.zeros(self.inside.shape[1])
        for tier, weight in self._tiers:
            score = np.ones(len(total))
            for at in np.flatnonzero(self.tier_of == tier):
                score[self.inside[at]] = packing[at]
            total += weight * score
        whole = sum(weight for _, weight in self._tiers)
        return total / whole * (MAX_SCORE * self.arguments.weight) if whole else total

    def _packing(self, wanted: Amounts, places: Amounts) -> Floats:
        """How full these domains would be with that much more, from 0 to 1; 0 where it does not fit.

        wanted: (R,)   places: (P,)   ->   (P,)
        """
        asked = {column: weight for column, weight in self.weights.items() if wanted[column] > 0}
        score, total = np.zeros(len(places)), sum(asked.values())
        overflows = np.zeros(len(places), dtype=np.bool_)
        for column, weight in asked.items():
            after = self.used[places, column] + wanted[column]
            capacity = self.allocatable[places, column]
            overflows |= after > capacity
            score += np.divide(after * weight, capacity, out=np.zeros(len(places)), where=capacity > 0)
        score[overflows] = 0.0
        return score / total if total else score

    def _closeness_to(self, near: str) -> Floats:
        """1 in the same domain, less the higher the tier that joins the two; kept per domain."""
        known = self._closeness.get(near)
        if known is None:
            closeness = [self._closeness_of(name, near) for name in self.names]
            known = self._closeness[near] = np.array([*closeness, 0.0])[self._closest]
        return known

    def _closeness_of(self, name: str, near: str) -> float:
        if name == near:
            return 1.0
        if self.highest == self.lowest:
            return 1.0
        joint = self.domains.common(name, near)
        if not joint:
            return 0.0
        return (self.highest - self.domains.by_name[joint].tier) / (self.highest - self.lowest)

    def _presence(self, sub_job: SubJob) -> Floats:
        """The part of the sub-job's tasks that lies in each domain; -> (domains,)"""
        rows = [task.node for task in sub_job.roster.tasks.values() if task.node != NOWHERE]
        return np.asarray(self.inside[:, rows].sum(axis=1) / len(sub_job.roster), dtype=np.float64)

    def _presence_by_node(self, sub_job: SubJob) -> Floats:
        by_domain: Floats = np.append(self._presence(sub_job), 0.0)
        return np.take(by_domain, self._closest)

    def on_allocate(self, task: Task) -> None:
        self.used[self._around[task.node]] += task.vector

    def on_release(self, task: Task) -> None:
        self.used[self._around[task.node]] -= task.vector


def may_hold(domain: Domain, demand: Amounts, asked: list[int], purpose: Purpose) -> bool:
    """Whether the domain is large enough: by what is or will be idle, or for evictions by all it has."""
    if purpose is Purpose.EVICT:
        return bool((demand <= domain.allocatable)[asked].all())
    return bool((demand <= domain.idle)[asked].all() or (demand <= domain.future)[asked].all())


def last_of(groups: list[list[Domain]], most: int) -> list[list[Domain]]:
    """So many domains at the most; a group that does not fit whole keeps its last ones."""
    kept: list[list[Domain]] = []
    for group in groups:
        left = most - sum(len(chosen) for chosen in kept)
        if left <= 0:
            break
        kept.append(group[-left:])
    return kept
