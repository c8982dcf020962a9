"""Domain tree: which network domains (HyperNodes) there are, how they nest, and which nodes lie in each.

It depends on the HyperNodes and on the names and labels of the nodes alone, so it stays true for
as long as these do. Above all domains stands a virtual one that holds every node, so that a search
always has a place to start from. Lower tiers are closer networks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

import numpy as np

from hekla.engine.ledger.arrays import Amounts, Indices, Mask, distinct
from hekla.engine.ledger.labels import NodeLabels, selected_by
from hekla.lazy import lazy
from hekla.objects import HyperNode
from hekla.objects.complaint import Complaint
from hekla.objects.meta import is_empty
from hekla.objects.node import Member

TOP = "<cluster-top-hypernode>"

NO_ROWS: Indices = np.zeros(0, dtype=np.intp)


@dataclass(eq=False)
class Domain:
    """One network domain; `rows` are the nodes in it, its descendants' included."""

    name: str
    tier: int
    parent: str = ""
    children: list[str] = field(default_factory=list)
    place: int = 0
    """Its row in arrays with one row per domain."""
    rows: Indices = field(default_factory=lambda: NO_ROWS)
    among: int = 0
    """How many nodes there are in all."""

    @lazy
    def nodes(self) -> Mask:
        """The same nodes as a mask."""
        mask = np.zeros(self.among, dtype=np.bool_)
        mask[self.rows] = True
        return mask


class DomainTree:
    """All domains by name; arrays have one row per domain, in the order of the names."""

    def __init__(self, hypernodes: Sequence[HyperNode], names: Sequence[str], labels: NodeLabels) -> None:
        self.complaints: list[Complaint] = []
        """What makes the tree unusable: jobs with a topology wait until it is put right."""
        self.warnings: list[Complaint] = []
        self.by_name: dict[str, Domain] = {}
        self.tier_of_name: dict[str, int] = {}
        self._names = names
        self._ancestors: dict[str, list[str]] = {"": []}
        usable = [hypernode for hypernode in hypernodes if hypernode.metadata.name != TOP]
        own_rows = self._add_all(usable, labels)
        for hypernode in usable:
            self._adopt(hypernode)
        self._refuse_cycles()
        self.is_ready = not self.complaints
        self._settle_members(own_rows)
        self._number()
        self.closest = self._closest_of_each()
        """Per node the domain of the lowest tier that contains it; empty where there is none."""

    # Reading the HyperNodes

    def _add_all(self, hypernodes: Sequence[HyperNode], labels: NodeLabels) -> dict[str, Indices]:
        """A domain for each; back come the nodes that each names itself."""
        row_of = {name: row for row, name in enumerate(self._names)}
        own: dict[str, Indices] = {}
        for hypernode in hypernodes:
            name = hypernode.metadata.name
            members = [member for member in hypernode.spec.members if member.type == "Node"]
            exact = [m.selector.exact_match.name for m in members if m.selector.exact_match is not None]
            rows = [row_of[node] for node in exact if node in row_of]
            for member in members:
                if member.selector.exact_match is None:
                    rows += self._selected(name, member, labels)
            own[name] = np.array(rows, dtype=np.intp)
            self.by_name[name] = Domain(name, hypernode.spec.tier)
            self._name_tier(hypernode)
        return own

    def _name_tier(self, hypernode: HyperNode) -> None:
        spec, name = hypernode.spec, hypernode.metadata.name
        if spec.tier_name:
            known = self.tier_of_name.setdefault(spec.tier_name, spec.tier)
            if known != spec.tier:
                self._warn(name, f'spec.tierName: "{spec.tier_name}" stands for tier {known} elsewhere')
                self.tier_of_name[spec.tier_name] = spec.tier

    def _selected(self, hypernode: str, member: Member, labels: NodeLabels) -> list[int]:
        if member.selector.regex_match is not None:
            return self._matching(hypernode, member.selector.regex_match.pattern)
        wanted = member.selector.label_match
        if wanted is None or is_empty(wanted):
            return []
        return [int(row) for row in np.flatnonzero(selected_by(wanted, labels))]

    def _matching(self, hypernode: str, pattern: str) -> list[int]:
        """Names in which the pattern occurs. RE2 takes time linear in the name, whatever the pattern."""
        import re2  # noqa: PLC0415 - only clusters with such members need it

        options = re2.Options()
        options.log_errors = False
        try:
            compiled = re2.compile(pattern, options)
        except re2.error:
            self._warn(hypernode, f'spec.members: "{pattern}" is not a regular expression')
            return []
        return [row for row, name in enumerate(self._names) if compiled.search(name) is not None]

    def _adopt(self, hypernode: HyperNode) -> None:
        parent = self.by_name[hypernode.metadata.name]
        for member in hypernode.spec.members:
            if member.type != "HyperNode" or member.selector.exact_match is None:
                continue
            name = member.selector.exact_match.name
            child = self.by_name.get(name)
            if child is None:
                self._warn(parent.name, f'spec.members: no hypernode "{name}"')
            elif child.parent not in ("", parent.name):
                self._complain(parent.name, f'spec.members: "{name}" belongs to "{child.parent}" already')
            elif not child.parent:
                child.parent = parent.name
                parent.children.append(name)

    def _refuse_cycles(self) -> None:
        sound = {""}
        """Names whose way up is known to end: no way is gone twice, however deep the tree."""
        for name, domain in self.by_name.items():
            way = list(takewhile(lambda above: above.name not in sound, self._line_from(name)))
            end = way[-1].parent if way else ""
            if end == name:
                self._complain(
                    name, f'spec.members: "{name}" lies inside itself; it is taken out of the circle'
                )
                self.by_name[domain.parent].children.remove(name)
                domain.parent = ""
            if end == name or end in sound:
                sound.update(above.name for above in way)

    def _line_from(self, name: str) -> Iterator[Domain]:
        seen: set[str] = set()
        while name and name not in seen:
            seen.add(name)
            yield self.by_name[name]
            name = self.by_name[name].parent

    def _warn(self, name: str, message: str) -> None:
        self.warnings.append(Complaint(f"hypernode {name}", message))

    def _complain(self, name: str, message: str) -> None:
        self.complaints.append(Complaint(f"hypernode {name}", message))

    # Arrays over all domains

    def _settle_members(self, own_rows: dict[str, Indices]) -> None:
        """Every domain holds what its children hold, and the virtual one on top holds all."""
        count = len(self._names)
        places = {name: place for place, name in enumerate(self.by_name)}
        above = np.array([places.get(d.parent, -1) for d in self.by_name.values()], dtype=np.intp)
        rows = np.concatenate([NO_ROWS, *own_rows.values()])
        sizes = np.array([len(own) for own in own_rows.values()], dtype=np.intp)
        domains = np.repeat(np.arange(len(above)), sizes)
        found = [self._add_top() * count + np.arange(count)]
        while len(rows):
            found.append(domains * count + rows)
            domains = above[domains]
            rows, domains = rows[domains >= 0], domains[domains >= 0]
        pairs = distinct(np.concatenate(found))
        self._members, holders = pairs % max(count, 1), pairs // max(count, 1)
        self._starts = np.searchsorted(holders, np.arange(len(self.by_name) + 1))
        order = np.argsort(self._members, kind="stable")
        self._holders = holders[order]
        self._holder_starts = np.searchsorted(self._members[order], np.arange(count + 1)).tolist()

    def _add_top(self) -> int:
        highest = max((domain.tier for domain in self.by_name.values()), default=0)
        self.top = Domain(TOP, max(1, highest + 1))
        for domain in self.by_name.values():
            if not domain.parent:
                domain.parent = TOP
                self.top.children.append(domain.name)
        self.by_name[TOP] = self.top
        return len(self.by_name) - 1

    def _number(self) -> None:
        self.all = list(self.by_name.values())
        self.tier_of = np.array([domain.tier for domain in self.all])
        self.tiers: list[int] = sorted(set(self.tier_of.tolist()))
        for place, domain in enumerate(self.all):
            domain.children.sort()
            domain.place, domain.among = place, len(self._names)
            domain.rows = self._members[self._starts[place] : self._starts[place + 1]]
        by_name = sorted(self.all, key=lambda domain: domain.name)
        self.alphabetical = np.zeros(len(self.all), dtype=np.intp)
        """Per domain where its name stands among all names."""
        self.alphabetical[[domain.place for domain in by_name]] = np.arange(len(self.all))
        found = [self.top]
        for domain in found:
            found += [self.by_name[name] for name in domain.children]
        self.breadth_first = np.array([domain.place for domain in found], dtype=np.intp)
        self._number_branches(found)

    def _number_branches(self, breadth_first: Sequence[Domain]) -> None:
        """Numbers that run through every branch without a gap: to lie below is to lie in between."""
        size = dict.fromkeys(self.by_name, 1)
        for domain in reversed(breadth_first):
            if domain.parent:
                size[domain.parent] += size[domain.name]
        first = {TOP: 0}
        for domain in breadth_first:
            number = first[domain.name] + 1
            for name in domain.children:
                first[name] = number
                number += size[name]
        self._first = np.array([first[name] for name in self.by_name], dtype=np.intp)
        self._last = self._first + np.array([size[name] for name in self.by_name], dtype=np.intp)

    def below(self, place: int) -> Mask:
        """The domain and all that lie inside it; -> (domains,)"""
        return np.asarray((self._first >= self._first[place]) & (self._first < self._last[place]))

    def count_below(self, marked: Mask) -> Indices:
        """For each domain how many of the marked ones are itself or lie inside it; (domains,) -> same"""
        running = np.zeros(len(marked) + 1, dtype=np.intp)
        by_number = np.empty(len(marked), dtype=np.bool_)
        by_number[self._first] = marked
        np.cumsum(by_number, out=running[1:])
        return np.asarray(running[self._last] - running[self._first])

    def around(self, row: int) -> Indices:
        """The domains that contain a node."""
        return self._holders[self._holder_starts[row] : self._holder_starts[row + 1]]

    def sums(self, amounts: Amounts) -> Amounts:
        """What the nodes of each domain have together; (N, R) -> (domains, R)"""
        running = np.zeros((len(self._members) + 1, amounts.shape[1]), dtype=np.int64)
        np.cumsum(amounts[self._members], axis=0, out=running[1:])
        return np.asarray(running[self._starts[1:]] - running[self._starts[:-1]])

    def touched_by(self, nodes: Mask) -> Mask:
        """The domains that hold any of these nodes; (N,) -> (domains,)"""
        running = np.append(0, np.cumsum(nodes[self._members]))
        return np.asarray(running[self._starts[1:]] > running[self._starts[:-1]])

    def per_node(self, tier: int) -> Indices:
        """Per node its domain of a tier, the last one where several hold it; one past the end for none."""
        found = np.full(len(self._names), len(self.all), dtype=np.intp)
        for place in np.flatnonzero(self.tier_of == tier).tolist():
            found[self.all[place].rows] = place
        return found

    def _closest_of_each(self) -> list[str]:
        closest = [""] * len(self._names)
        lowest = [domain for domain in self.all if domain.tier == self.tiers[0]]
        for domain in sorted(lowest, key=lambda domain: domain.name, reverse=True):
            for row in domain.rows.tolist():
                closest[row] = domain.name
        return closest

    # Questions by name

    def ancestors(self, name: str) -> list[str]:
        """The domain, its parent, and so on up to the virtual one; do not change the list."""
        known = self._ancestors.get(name)
        if known is None:
            known = self._ancestors[name] = [domain.name for domain in self._line_from(name)]
        return known

    def common(self, left: str, right: str) -> str:
        """The lowest domain that contains both; an empty name stands for nothing yet."""
        if not left or not right or left == right:
            return left or right
        line = self.ancestors(left)
        return next((name for name in self.ancestors(right) if name in line), "")

    def common_of(self, names: Iterable[str]) -> str:
        result = ""
        for name in names:
            result = self.common(result, name)
        return result

    def lowest_around(self, rows: Iterable[int]) -> str:
        """The lowest domain that contains all these nodes; smallest name among equals."""
        around = [set(self.around(row).tolist()) for row in set(rows)]
        shared = set.intersection(*around) - {self.top.place} if around else set()
        return (
            min((self.all[place] for place in shared), key=lambda d: (d.tier, d.name)).name if shared else ""
        )
