"""Saying no: which reasons kept a task off how many nodes."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import msgspec
import numpy as np
import numpy.typing as npt

from hekla.engine.model.wait_reason import Verdict
from hekla.lazy import lazy

Mask = npt.NDArray[np.bool_]

INSUFFICIENT = "Insufficient "
"""How reasons begin that speak of a lack of room."""


class Code(IntEnum):
    """How final a refusal is: eviction may cure UNSCHEDULABLE, nothing in this cycle cures the other two."""

    ERROR = 1
    UNSCHEDULABLE = 2
    UNRESOLVABLE = 3


class Objection(msgspec.Struct, frozen=True):
    """Why a task can run nowhere, or a job not be scheduled."""

    reason: str
    message: str = ""
    code: Code = Code.UNRESOLVABLE
    plain: str = ""
    """What `hekla explain` says of it."""
    verdict: Verdict = Verdict.NOT_YET
    """Whether that passes."""


class Refusal(msgspec.Struct, frozen=True, eq=False):
    """One reason, and the nodes it speaks for.

    `reason` is Volcano's wording (it appears in conditions); `plain` is what `hekla explain` says.
    """

    reason: str
    nodes: Mask
    code: Code = Code.UNSCHEDULABLE
    plain: str = ""
    verdict: Verdict = Verdict.NEVER
    """Of a refusal that nothing which runs can change: whether it passes all the same."""
    permits: str = ""
    """What lets the other nodes through: `its selector permits`."""
    if_all: str = ""
    """What is said where it speaks for all nodes: `no node has label disk=ssd`."""


class Reason(msgspec.Struct, frozen=True):
    """A refusal boiled down to a count."""

    text: str
    count: int
    plain: str = ""


class Diagnosis(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Why a task found no node: one count per reason.

    `nodes` is how many nodes were looked at and refused; `unresolvable` marks those that no
    eviction can help, which preempt and reclaim leave out.
    """

    nodes: int
    reasons: tuple[Reason, ...] = ()
    unresolvable: Mask | None = None
    summary: str = ""
    hypernode: str = ""
    plain: str = ""
    """What is said instead of counting nodes, where one reason holds of all of them."""

    def __str__(self) -> str:
        """The text Volcano writes into conditions."""
        return self._text

    @lazy
    def _text(self) -> str:
        text = self.summary or f"0/{self.nodes} nodes are unavailable"
        if self.reasons:
            text += ": " + ", ".join(sorted(f"{r.count} {r.text}" for r in self.reasons)) + "."
        return f"In hyperNode {self.hypernode}: {text}" if self.hypernode else text

    def plainly(self) -> str:
        """`0/8 nodes fit: 5 not enough cpu (asked 4, most free 2), 3 taint gpu not tolerated`."""
        if self.plain:
            return self.plain
        where = f' in domain "{self.hypernode}"' if self.hypernode else ""
        if not self.reasons:
            return self.summary or f"0/{self.nodes} nodes fit{where}"
        parts = sorted(self.reasons, key=lambda r: (-r.count, r.plain or r.text))
        said = ", ".join(f"{r.count} {r.plain or r.text}" for r in parts)
        return f"0/{self.nodes} nodes fit{where}: {said}"


def refused_everywhere(objection: Objection, nodes: int) -> Diagnosis:
    """One reason that holds on every node alike."""
    unresolvable = np.full(nodes, objection.code is Code.UNRESOLVABLE)
    reasons = (Reason(objection.reason, nodes, objection.plain),) if nodes else ()
    return Diagnosis(nodes, reasons, unresolvable, plain=objection.plain)


def count_reasons(refusals: Sequence[Refusal], among: Mask) -> tuple[Reason, ...]:
    """How many of the nodes `among` each refusal keeps out; a final refusal ends a node's list."""
    counts: dict[tuple[str, str], int] = {}
    open_nodes = among.copy()
    for refusal in refusals:
        hit = refusal.nodes & open_nodes
        if count := int(np.count_nonzero(hit)):
            label = (refusal.reason, refusal.plain)
            counts[label] = counts.get(label, 0) + count
            if refusal.code is not Code.UNSCHEDULABLE:
                open_nodes &= ~hit
    return tuple(Reason(text, count, plain) for (text, plain), count in counts.items())
