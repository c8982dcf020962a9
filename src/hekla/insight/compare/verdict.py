"""Verdict: which configuration is better at what, by how much, how surely, and which jobs it is worse for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from hekla.insight.compare.changes import LARGEST_PART, signed
from hekla.insight.compare.compare import Against
from hekla.insight.compare.differences import FigureDifference, Judgement, of_queues_and_sizes
from hekla.insight.compare.figures import ALL, CAUSE, FigureUnit, Group, plain_name
from hekla.text import counted

MOST_GROUPS = 4
"""Queues and sizes that are named for one thing; the rest is counted."""
MOST_CAUSES = 3
HEADLINES = ("wait.mean", "wait.p95", "completion.mean", "slowdown.mean", "completed", "makespan")
OF_GROUPS = ("wait.mean", "completion.mean")

_VERBS = {
    "wait.mean": ("wait", "less", "longer"),
    "completion.mean": ("take", "less from submission to end", "longer from submission to end"),
}
_SUBJECTS = {
    "wait.p95": ("p95 wait is", "shorter", "longer"),
    "slowdown.mean": ("mean slowdown is", "less", "more"),
    "makespan": ("makespan is", "shorter", "longer"),
}
_PLAIN = {
    "wait.mean": "mean wait",
    "wait.p95": "p95 wait",
    "completion.mean": "mean completion time",
    "slowdown.mean": "mean slowdown",
}


class VerdictKind(Enum):
    """A verdict in a word."""

    BETTER = "better"
    WORSE = "worse"
    MIXED = "mixed"
    """Better at some things and worse at others."""
    SAME = "same"
    """Not one job fared otherwise."""
    UNSURE = "unsure"
    """No difference is sure."""


@dataclass(frozen=True)
class ComparisonVerdict:
    """What is to be said about a candidate."""

    name: str
    outcome: VerdictKind
    headline: str
    better: tuple[str, ...]
    worse: tuple[str, ...]
    same: tuple[str, ...]
    unsure: tuple[str, ...]
    """What may be chance."""
    unjudged: tuple[str, ...]
    """What differs, and has no interval to judge by."""
    apart: tuple[str, ...]
    """Jobs that are in no pair."""
    causes: tuple[str, ...] = ()
    """What jobs waited longer for, or less long."""

    @property
    def lines(self) -> list[tuple[str, str]]:
        """Label and text; the headline has no label."""
        labelled = (
            ("better", self.better),
            ("worse", self.worse),
            ("same", self.same),
            ("unsure", self.unsure),
            ("no interval", self.unjudged),
            ("waited for", self.causes),
            ("apart", self.apart),
        )
        return [("", self.headline), *((label, "; ".join(said)) for label, said in labelled if said)]

    def __str__(self) -> str:
        return "\n".join(f"{label}: {text}" if label else text for label, text in self.lines)

    def as_data(self) -> dict[str, object]:
        return {
            "outcome": self.outcome.value,
            "headline": self.headline,
            "better": list(self.better),
            "worse": list(self.worse),
            "same": list(self.same),
            "unsure": list(self.unsure),
            "noInterval": list(self.unjudged),
            "apart": list(self.apart),
            "waitedFor": list(self.causes),
        }


def verdict_of(against: Against) -> ComparisonVerdict:
    overall = headlines(against.differences)
    better, worse = (
        (*_told(overall, judgement), *groups_told(against, judgement))
        for judgement in (Judgement.BETTER, Judgement.WORSE)
    )
    same = [plain(each) for each in overall if each.judgement is Judgement.SAME]
    unsure = [_doubtful(each) for each in overall if each.judgement is Judgement.UNSURE]
    unjudged = [_as_seen(each) for each in overall if each.judgement is Judgement.UNKNOWN]
    outcome = _outcome(against, better, worse)
    return ComparisonVerdict(
        name=against.name,
        outcome=outcome,
        headline=_headline(against, outcome),
        better=better,
        worse=worse,
        same=() if against.is_identical else tuple(same),
        unsure=tuple(unsure),
        unjudged=tuple(text for text in unjudged if text),
        apart=tuple(_apart(against)),
        causes=tuple(_cause_told(each) for each in causes_that_changed(against)[:MOST_CAUSES]),
    )


def considered(against: Against) -> list[FigureDifference]:
    """The differences that a verdict looks at."""
    return [*headlines(against.differences), *_of_groups(against.differences)]


def _outcome(against: Against, better: Sequence[str], worse: Sequence[str]) -> VerdictKind:
    if against.is_identical:
        return VerdictKind.SAME
    if better and worse:
        return VerdictKind.MIXED
    return VerdictKind.BETTER if better else VerdictKind.WORSE if worse else VerdictKind.UNSURE


def _headline(against: Against, outcome: VerdictKind) -> str:
    name, base = against.name, against.base
    said = {
        VerdictKind.SAME: f"{name} makes no difference: every job starts and ends as under {base}",
        VerdictKind.MIXED: f"{name} is better than {base} at some things and worse at others",
        VerdictKind.BETTER: f"{name} is better than {base}",
        VerdictKind.WORSE: f"{name} is worse than {base}",
        VerdictKind.UNSURE: f"no difference between {name} and {base} is sure",
    }[outcome]
    missing = against.outcome.only_base - against.outcome.only_candidate
    if outcome in (VerdictKind.BETTER, VerdictKind.MIXED) and missing > 0:
        said += f", but {counted(missing, 'job')} fewer completed"
    return said


def headlines(differences: Sequence[FigureDifference]) -> list[FigureDifference]:
    """What is told of all jobs and of the whole cluster."""
    return [each for each in differences if each.group == ALL and _is_told(each) and not each.is_nothing]


def _is_told(difference: FigureDifference) -> bool:
    key = difference.measure.key
    return key in HEADLINES or key in ("jain", "evictions") or key.startswith(("utilisation.", "lost."))


def _of_groups(differences: Sequence[FigureDifference]) -> Iterator[FigureDifference]:
    """What is told of queues and of sizes."""
    for key in OF_GROUPS:
        yield from of_queues_and_sizes(differences, key)


def causes_that_changed(against: Against) -> list[FigureDifference]:
    """What jobs waited longer for, or less long; the largest differences first."""
    found = [each for each in against.differences if each.measure.key.startswith(CAUSE)]
    changed = [each for each in found if abs(each.estimate.difference) > each.negligible]
    return sorted(changed, key=lambda each: -abs(each.estimate.difference))


def _cause_told(difference: FigureDifference) -> str:
    """`admission limit (overcommit) shrank by 2.1 h per job to 5.0 h`; which may be chance is said."""
    verb = "shrank" if difference.estimate.difference < 0 else "grew"
    amount = difference.measure.spoken(abs(difference.estimate.difference))
    reached = difference.measure.spoken(difference.candidate)
    doubt = ", which may be chance" if difference.judgement is Judgement.UNSURE else ""
    return f"{difference.measure.key.removeprefix(CAUSE)} {verb} by {amount} per job to {reached}{doubt}"


def _told(differences: Sequence[FigureDifference], judgement: Judgement) -> Iterator[str]:
    return (told(each) for each in differences if each.judgement is judgement)


def groups_told(against: Against, judgement: Judgement) -> Iterator[str]:
    """Queues and sizes, the largest differences first; one whose waits are told need not be told again."""
    found: dict[Group, FigureDifference] = {}
    for each in _of_groups(against.differences):
        if each.judgement is judgement:
            found.setdefault(each.group, each)
    ordered = sorted(found.values(), key=lambda each: -abs(each.part) if each.base else -math.inf)
    yield from (told(each) for each in ordered[:MOST_GROUPS])
    if len(ordered) > MOST_GROUPS:
        yield f"and so for {len(ordered) - MOST_GROUPS} more queues and sizes"


def told(difference: FigureDifference) -> str:
    """`jobs of queue research wait 34 % less (12 to 51 %)`."""
    key = difference.measure.key
    is_less = difference.estimate.difference < 0
    if key in _VERBS:
        verb, less, more = _VERBS[key]
        return f"{whose(difference.group)} {verb} {_amount(difference, less if is_less else more)}"
    if key in _SUBJECTS:
        subject, less, more = _SUBJECTS[key]
        return f"{subject} {_amount(difference, less if is_less else more)}"
    if difference.measure.unit in (FigureUnit.PART, FigureUnit.INDEX):
        return _points(difference)
    return f"{plain(difference)}: {_amount(difference, 'fewer' if is_less else 'more')}"


def whose(group: Group) -> str:
    queue, size = group
    if size:
        return f"jobs of {size} pod{'' if size == '1' else 's'}"
    return f"jobs of queue {queue}" if queue else "jobs"


def plain(difference: FigureDifference) -> str:
    """The measure in passing."""
    measure = difference.measure
    if measure.key.startswith("utilisation."):
        return f"utilisation of {plain_name(measure.resource)}"
    return _PLAIN.get(measure.key, measure.label)


def _amount(difference: FigureDifference, comparative: str) -> str:
    """`34 % less (12 to 51 %)`, or amounts where a part says nothing."""
    estimate = difference.estimate
    near, far = sorted((abs(estimate.low), abs(estimate.high)))
    if difference.base and abs(difference.part) <= LARGEST_PART:
        # Nothing can be more than all of it less.
        most = 1.0 if estimate.difference < 0 else math.inf
        parts = [min(abs(difference.as_part(amount)), most) for amount in (estimate.difference, near, far)]
        middle, low, high = (f"{part:.0%}".removesuffix("%") for part in parts)
        return f"{middle} % {comparative} ({low} to {high} %)"
    middle, low, high = (difference.measure.spoken(abs(a)) for a in (estimate.difference, near, far))
    return f"{middle} {comparative} ({low} to {high})"


def _points(difference: FigureDifference) -> str:
    """`utilisation of cpu falls by 3.2 points to 74.2% (1.0 to 5.4 points)`."""
    estimate, is_part = difference.estimate, difference.measure.unit is FigureUnit.PART
    near, far = sorted((abs(estimate.low), abs(estimate.high)))
    middle, low, high = (
        f"{amount * 100:.1f}" if is_part else f"{amount:.3f}"
        for amount in (abs(estimate.difference), near, far)
    )
    verb = "falls" if estimate.difference < 0 else "rises"
    reached, unit = difference.measure.spoken(difference.candidate), " points" if is_part else ""
    return f"{plain(difference)} {verb} by {middle}{unit} to {reached} ({low} to {high}{unit})"


def _doubtful(difference: FigureDifference) -> str:
    """`mean wait -12 % (-30 to +5 %)`."""
    estimate = difference.estimate
    amounts = (estimate.difference, estimate.low, estimate.high)
    if difference.measure.unit not in (FigureUnit.PART, FigureUnit.INDEX) and difference.base:
        parts = [difference.as_part(amount) for amount in amounts]
        if max(map(abs, parts)) <= LARGEST_PART:
            # Less than nothing is no wait and no work: the interval is cut there.
            middle, low, high = (f"{max(part, -1.0):+.0%}".removesuffix("%") for part in parts)
            return f"{plain(difference)} {middle} % ({low} to {high} %)"
    middle, low, high = (signed(difference, amount) for amount in amounts)
    return f"{plain(difference)} {middle} ({low} to {high})"


def _as_seen(difference: FigureDifference) -> str:
    """`makespan 2.5 d instead of 2.7 d`; nothing where there is nothing, or where it reads the same."""
    base, candidate = (difference.measure.spoken(side) for side in (difference.base, difference.candidate))
    if base == candidate:
        return "" if base == "-" else f"{plain(difference)} {base} in both"
    return f"{plain(difference)} {candidate} instead of {base}"


def _apart(against: Against) -> Iterator[str]:
    """Jobs that are missing in figures of completed jobs, never silently."""
    outcome = against.outcome
    for count, where in ((outcome.only_base, against.base), (outcome.only_candidate, against.name)):
        if count:
            yield f"{counted(count, 'job')} completed under {where} alone"
    if outcome.neither:
        failed = outcome.failed_in_both
        aside = f" ({failed:,} of them failed under both)" if failed else ""
        yield f"{counted(outcome.neither, 'job')} completed under neither{aside}"
    for count, where in (
        (outcome.unmatched_base, against.base),
        (outcome.unmatched_candidate, against.name),
    ):
        if count:
            yield f"{counted(count, 'job')} handed in under {where} alone"
