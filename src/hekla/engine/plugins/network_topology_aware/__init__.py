"""Network topology: keep the tasks of a job close together in the network, and pack domains.

Jobs that ask for it are tried domain by domain, the closest networks first; inside a domain, and
for jobs that do not ask, nodes are scored by the domains they lie in.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hekla.conf import argument, arguments_by_prefix
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import (
    BATCH_NODE_ORDER,
    HYPERNODE_GRADIENT,
    HYPERNODE_ORDER,
    Purpose,
    answers,
)
from hekla.engine.ledger.arrays import Amounts, Floats, Indices, Mask
from hekla.engine.ledger.demand import minimum_of
from hekla.engine.ledger.domains import Domain
from hekla.engine.model.job import Job, SubJob
from hekla.engine.model.resources import CPU, MEMORY
from hekla.engine.model.status import Status
from hekla.engine.model.task import NOWHERE, Task
from hekla.engine.plugins.binpack import listed_names
from hekla.engine.plugins.network_topology_aware.domains import (
    Presence,
    TierLimit,
    closeness_to,
    covers,
    last_of,
    packing,
    places_of,
    wish_of,
)

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
        self.domains, self.tree = session.domains, session.domains.tree
        self.used: Amounts = self.tree.sums(session.nodes.used)
        columns = session.axis.column_of
        self.weights = {columns[n]: w for n, w in self.arguments.weights().items() if n in columns}
        self._closeness: dict[str, Floats] = {}
        self._size_of: dict[str, Amounts] = {}
        nothing = (np.zeros(len(session.axis), dtype=np.int64), ())
        self._latest_demand: tuple[tuple[str, int], tuple[Amounts, tuple[int, ...]]] = (("", -1), nothing)
        """What waits of one sub-job: asked for every domain in a row, while nothing changes."""
        self._latest_fit: tuple[Hashable, Mask] = (None, np.zeros(0, dtype=np.bool_))
        """The domains that are large enough for one demand, for the same reason."""
        place_of = {domain.name: domain.place for domain in self.tree.all}
        self._closest = np.array(
            [place_of.get(name, len(place_of)) for name in self.domains.closest], np.intp
        )
        """Per node its closest domain; one past the end where it has none."""
        self._presence = Presence(session, self.tree)
        self._tiers = self._tier_weights()
        self._of_tier = {tier: self.tree.per_node(tier) for tier in self.domains.tiers}

    def _tier_weights(self) -> list[tuple[int, float]]:
        """Every tier between the lowest and the highest, existing or not, and how much it counts."""
        tiers: Sequence[int] = range(self.domains.tiers[0], self.domains.tiers[-1] + 1)
        if len(tiers) > MOST_TIERS:
            tiers = self.domains.tiers
        return [(tier, float(self.arguments.fading ** (tier - 1))) for tier in tiers]

    # Which domains are tried

    @answers(HYPERNODE_GRADIENT)
    def close_networks_first(
        self, job: Job, sub_job: SubJob | None, bound: Domain, purpose: Purpose
    ) -> list[list[Domain]]:
        """Domains that may hold the job, or one part of it, tier by tier."""
        wish = wish_of(job, sub_job)
        if wish is None:
            return [[bound]]
        root = self._search_root(bound, wish)
        if root is None:
            return []
        may_hold = self._may_hold(job, sub_job, wish, purpose)
        if not root.children:
            return [[root]] if may_hold[root.place] else []
        closest_first = self._by_tier(may_hold & self.tree.below(root.place))
        if purpose is Purpose.EVICT:
            return last_of(closest_first[::-1], self.arguments.most_evicted)
        return closest_first

    def only_choices(self, job: Job, sub_job: SubJob, bounds: Sequence[Domain], possible: Mask) -> Mask:
        """The bounds below which nothing but themselves is to be tried; one answer per bound."""
        wish, places = wish_of(job, sub_job), places_of(bounds)
        if wish is None:
            return np.asarray(possible[places])
        may_hold = self._may_hold(job, sub_job, wish, Purpose.ALLOCATE)
        choices = self.tree.count_below(may_hold & possible)
        is_only: Mask = may_hold[places] & possible[places] & (choices[places] == 1)
        return is_only & self._is_own_root(places, wish)

    def _is_own_root(self, places: Indices, wish: TierLimit) -> Mask:
        """Whether the search below each of these domains starts at the domain itself."""
        widest = self._widest(wish)
        if widest is None:
            return np.full(len(places), not wish.memory)
        return self.tree.below(widest.place)[places]

    def _search_root(self, bound: Domain, wish: TierLimit) -> Domain | None:
        """Where to look: below the bound, and no further from what is placed than the limit allows."""
        if not wish.memory:
            return bound
        widest = self._widest(wish)
        if widest is None:
            return None
        if bound.name in self.domains.ancestors(widest.name):
            return widest
        return bound if widest.name in self.domains.ancestors(bound.name) else None

    def _widest(self, wish: TierLimit) -> Domain | None:
        """The highest domain around what is placed that the limit allows."""
        around = [self.domains.by_name[name] for name in self.domains.ancestors(wish.memory)]
        return next((domain for domain in reversed(around) if domain.tier <= wish.limit), None)

    def _by_tier(self, marked: Mask) -> list[list[Domain]]:
        """The marked domains, lowest tier first; inside a tier in the order of the tree."""
        order = self.tree.breadth_first
        places = order[marked[order]]
        tiers = self.tree.tier_of[places]
        return [
            [self.tree.all[place] for place in places[tiers == tier].tolist()]
            for tier in sorted(set(tiers.tolist()))
        ]

    def _may_hold(self, job: Job, sub_job: SubJob | None, wish: TierLimit, purpose: Purpose) -> Mask:
        """The domains of an allowed tier that are large enough; where some of it lies already, all are."""
        is_allowed: Mask = self.tree.tier_of <= wish.limit
        if wish.memory:
            return is_allowed
        demand, asked = self._demand_of(job, sub_job)
        moment = self.session.nodes.journal.version if purpose is Purpose.AFTER_EVICTIONS else 0
        key = (demand.tobytes(), asked, purpose, moment)
        if self._latest_fit[0] != key:
            self._latest_fit = (key, self._large_enough(demand, list(asked), purpose))
        return is_allowed & self._latest_fit[1]

    def _large_enough(self, demand: Amounts, asked: list[int], purpose: Purpose) -> Mask:
        """By what is or will be idle, or for evictions by all they have."""
        domains, needed = self.domains, demand[asked]
        if purpose in (Purpose.EVICT, Purpose.MAKE_ROOM):
            return covers(domains.allocatable[:, asked], needed)
        if purpose is Purpose.AFTER_EVICTIONS:
            return covers(self.tree.sums(self.session.nodes.future)[:, asked], needed)
        return covers(domains.idle[:, asked], needed) | covers(domains.future[:, asked], needed)

    def _demand_of(self, job: Job, sub_job: SubJob | None) -> tuple[Amounts, tuple[int, ...]]:
        axis = self.session.axis
        if sub_job is None:
            return minimum_of(self.session, job), axis.compared(job.min_resources or {})
        moment = (sub_job.uid, self.session.nodes.journal.version)
        if self._latest_demand[0] != moment:
            self._latest_demand = (moment, self._waiting_demand_of(sub_job))
        return self._latest_demand[1]

    def _waiting_demand_of(self, sub_job: SubJob) -> tuple[Amounts, tuple[int, ...]]:
        axis = self.session.axis
        demand = np.zeros(len(axis), dtype=np.int64)
        asked: set[int] = set()
        roster = sub_job.roster
        waiting = [task for task in roster.having(Status.PENDING).values() if not task.is_best_effort]
        if not self.arguments.asks_for_all:
            waiting = sorted(waiting, key=lambda task: task.uid)[: max(0, roster.missing - roster.waiting)]
        for task in waiting:
            demand += task.vector
            asked.update(task.asked)
        return demand, tuple(asked or axis.compared({}))

    # How good domains are

    @answers(HYPERNODE_ORDER)
    def pack_domains(self, sub_job: SubJob, candidates: Sequence[Domain]) -> dict[str, float]:
        """Domains that the whole sub-job would fill up most; among equals, where more of it lies already."""
        places = places_of(candidates)
        score = self._packing(self._size(sub_job), places)
        best = score.max()
        if np.count_nonzero(score == best) > 1:
            score = np.where(score == best, score + self._presence.shares(sub_job)[places], score)
        scaled = score * (MAX_SCORE * self.arguments.weight)
        return {domain.name: float(value) for domain, value in zip(candidates, scaled, strict=True)}

    def scores_alone(self, sub_job: SubJob, candidates: Sequence[Domain]) -> Floats:
        score = self._packing(self._size(sub_job), places_of(candidates))
        return score * float(MAX_SCORE * self.arguments.weight)

    def compares_domains(self, sub_job: SubJob) -> bool:
        """Presence tells equals apart, and that only where something of the sub-job lies somewhere."""
        return self._presence.is_anywhere(sub_job)

    def _size(self, sub_job: SubJob) -> Amounts:
        wanted = self._size_of.get(sub_job.uid)
        if wanted is None:
            wanted = np.sum([task.vector for task in sub_job.roster.tasks.values()], axis=0)
            self._size_of[sub_job.uid] = wanted
        return wanted

    def _packing(self, wanted: Amounts, places: Indices) -> Floats:
        asked = {column: weight for column, weight in self.weights.items() if wanted[column] > 0}
        return packing(wanted, self.used, self.domains.allocatable, places, asked)

    # How good nodes are

    def distinguishes(self, task: Task) -> bool:
        """Tasks of a sub-job with a topology are measured against what lies near."""
        job = self.session.jobs.get(task.job)
        return job is not None and job.sub_jobs[task.sub_job].topology is not None

    def has_opinion_of(self, task: Task) -> bool:
        return self.arguments.packs_normal_pods or self.distinguishes(task)

    @answers(BATCH_NODE_ORDER, concerns=has_opinion_of)
    def prefer_close_nodes(self, task: Task, among: Mask) -> Floats | None:
        """Closeness to what is placed, of the candidates; nodes that are none have no score."""
        job = self.session.jobs[task.job]
        sub_job = job.sub_jobs[task.sub_job]
        if sub_job.topology is None:
            return self._packed_domains(task) if self.arguments.packs_normal_pods else None
        if not task.near:
            return None
        (rows,), scores = among.nonzero(), np.zeros(len(among))
        closest, closeness = self._closest[rows], self._closeness_to(task.near)
        score: Floats | float
        if (closest == closest[0]).all():
            score = closeness.item(closest[0])
            if len(rows) > 1:
                score += self._presence.share_in(sub_job, int(closest[0]))
        else:
            score = closeness[closest]
            ties = score == score.max()
            if np.count_nonzero(ties) > 1:
                score = np.where(ties, score + self._presence.shares(sub_job)[closest], score)
        scores[rows] = score * float(MAX_SCORE * self.arguments.weight)
        return scores

    def _packed_domains(self, task: Task) -> Floats:
        """How full the node's domains would be, tier by tier; a tier without one counts as full."""
        packing = np.append(self._packing(task.vector, np.arange(len(self.used))), 1.0)
        total = np.zeros(len(self._closest))
        for tier, weight in self._tiers:
            of_tier = self._of_tier.get(tier)
            total += weight if of_tier is None else weight * packing[of_tier]
        whole = sum(weight for _, weight in self._tiers)
        return total / whole * (MAX_SCORE * self.arguments.weight) if whole else total

    def _closeness_to(self, near: str) -> Floats:
        """1 in the same domain, less the higher the tier that joins the two; kept per domain."""
        known = self._closeness.get(near)
        if known is None:
            known = self._closeness[near] = closeness_to(self.domains, near)
        return known

    def on_allocate(self, task: Task) -> None:
        if task.node != NOWHERE:
            self.used[self.tree.around(task.node)] += task.vector
            self._presence.arrived(task)

    def on_release(self, task: Task) -> None:
        if task.node != NOWHERE:
            self.used[self.tree.around(task.node)] -= task.vector
            self._presence.left(task)
