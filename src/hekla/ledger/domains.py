"""Domains: the tree of network domains (HyperNodes) over the nodes, as masks and sums.

Above all of them stands a virtual one that holds every node, so that a search always has a
place to start from. Lower tiers are closer networks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from hekla.ledger.arrays import Amounts, Mask
from hekla.ledger.nodes import NodeLedger
from hekla.objects import HyperNode
from hekla.objects.complaint import Complaint
from hekla.objects.selectors import is_empty, matches
from hekla.objects.topology import Member

TOP = "<cluster-top-hypernode>"


@dataclass(eq=False)
class Domain:
    """One network domain; `nodes` marks every node in it, its descendants' included."""

    name: str
    tier: int
    nodes: Mask
    parent: str = ""
    children: list[str] = field(default_factory=list)
    idle: Amounts = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    future: Amounts = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    allocatable: Amounts = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


class Domains:
    """All domains by name, and the sums of what their nodes had when the session opened."""

    def __init__(self, hypernodes: Sequence[HyperNode], nodes: NodeLedger) -> None:
        self._nodes = nodes
        self.complaints: list[Complaint] = []
        """What makes the tree unusable: jobs with a topology wait until it is put right."""
        self.warnings: list[Complaint] = []
        self.by_name: dict[str, Domain] = {}
        self.tier_of_name: dict[str, int] = {}
        usable = [hypernode for hypernode in hypernodes if hypernode.metadata.name != TOP]
        for hypernode in usable:
            self._add(hypernode)
        for hypernode in usable:
            self._adopt(hypernode)
        self._refuse_cycles()
        self.is_ready = not self.complaints
        self._fill_upwards()
        self.top = self._add_top()
        self.tiers = sorted({domain.tier for domain in self.by_name.values()})
        self._sum_up()
        self.closest = self._closest_of_each()
        """Per node the domain of the lowest tier that contains it; empty where there is none."""

    def _add(self, hypernode: HyperNode) -> None:
        spec, name = hypernode.spec, hypernode.metadata.name
        mask = np.zeros(len(self._nodes), dtype=np.bool_)
        for member in spec.members:
            if member.type == "Node":
                mask |= self._selected(hypernode, member)
        self.by_name[name] = Domain(name, spec.tier, mask)
        if spec.tier_name:
            known = self.tier_of_name.setdefault(spec.tier_name, spec.tier)
            if known != spec.tier:
                self._warn(name, f'spec.tierName: "{spec.tier_name}" stands for tier {known} elsewhere')
                self.tier_of_name[spec.tier_name] = spec.tier

    def _selected(self, hypernode: HyperNode, member: Member) -> Mask:
        selector, names = member.selector, self._nodes.names
        if selector.exact_match is not None:
            row = self._nodes.row_of.get(selector.exact_match.name)
            mask = np.zeros(len(names), dtype=np.bool_)
            if row is not None:
                mask[row] = True
            return mask
        if selector.regex_match is not None:
            return self._matching(hypernode, selector.regex_match.pattern)
        wanted = selector.label_match
        if is_empty(wanted):
            return np.zeros(len(names), dtype=np.bool_)
        return np.array([matches(wanted, node.labels) for node in self._nodes.nodes], dtype=np.bool_)

    def _matching(self, hypernode: HyperNode, pattern: str) -> Mask:
        """Names in which the pattern occurs. RE2 takes time linear in the name, whatever the pattern."""
        import re2  # noqa: PLC0415 - only clusters with such members need it

        options = re2.Options()
        options.log_errors = False
        try:
            compiled = re2.compile(pattern, options)
        except re2.error:
            self._warn(hypernode.metadata.name, f'spec.members: "{pattern}" is not a regular expression')
            return np.zeros(len(self._nodes), dtype=np.bool_)
        return np.array([compiled.search(name) is not None for name in self._nodes.names], dtype=np.bool_)

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
        for name, domain in self.by_name.items():
            if name in (above.name for above in self._line_from(domain.parent)):
                self._complain(
                    name, f'spec.members: "{name}" lies inside itself; it is taken out of the circle'
                )
                self.by_name[domain.parent].children.remove(name)
                domain.parent = ""

    def _line_from(self, name: str) -> Iterator[Domain]:
        seen: set[str] = set()
        while name and name not in seen:
            seen.add(name)
            yield self.by_name[name]
            name = self.by_name[name].parent

    def _fill_upwards(self) -> None:
        for domain in list(self.by_name.values()):
            for above in self._line_from(domain.parent):
                above.nodes |= domain.nodes

    def _add_top(self) -> Domain:
        highest = max((domain.tier for domain in self.by_name.values()), default=0)
        top = Domain(TOP, max(1, highest + 1), np.ones(len(self._nodes), dtype=np.bool_))
        for domain in self.by_name.values():
            if not domain.parent:
                domain.parent = TOP
                top.children.append(domain.name)
        self.by_name[TOP] = top
        return top

    def _sum_up(self) -> None:
        nodes = self._nodes
        for domain in self.by_name.values():
            domain.children.sort()
            domain.idle = nodes.idle[domain.nodes].sum(axis=0)
            domain.future = nodes.future[domain.nodes].sum(axis=0)
            domain.allocatable = nodes.allocatable[domain.nodes].sum(axis=0)

    def ancestors(self, name: str) -> list[str]:
        """The domain, its parent, and so on up to the virtual one."""
        return [domain.name for domain in self._line_from(name)]

    def common(self, left: str, right: str) -> str:
        """The lowest domain that contains both; an empty name stands for nothing yet."""
        if not left or not right:
            return left or right
        line = set(self.ancestors(left))
        return next((name for name in self.ancestors(right) if name in line), "")

    def common_of(self, names: Iterable[str]) -> str:
        result = ""
        for name in names:
            result = self.common(result, name)
        return result

    def lowest_around(self, rows: Iterable[int]) -> str:
        """The lowest domain that contains all these nodes; smallest name among equals."""
        wanted = list(rows)
        around = [d for d in self.by_name.values() if d.name != TOP and wanted and d.nodes[wanted].all()]
        return min(around, key=lambda d: (d.tier, d.name)).name if around else ""

    def _closest_of_each(self) -> list[str]:
        closest = [""] * len(self._nodes)
        lowest = [domain for domain in self.by_name.values() if domain.tier == self.tiers[0]]
        for domain in sorted(lowest, key=lambda domain: domain.name, reverse=True):
            for row in np.flatnonzero(domain.nodes):
                closest[row] = domain.name
        return closest

    def _warn(self, name: str, message: str) -> None:
        self.warnings.append(Complaint(f"hypernode {name}", message))

    def _complain(self, name: str, message: str) -> None:
        self.complaints.append(Complaint(f"hypernode {name}", message))
