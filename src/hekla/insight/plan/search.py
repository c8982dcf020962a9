"""Search: the smallest changes with which a job would start, each tried out before it is told.

On a scale the search halves: it ends at a value that works whose next larger one does not. Where a larger
value might work again beyond that, it is not looked for. Several numbers together and two changes at once
are tried only where no single one works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from hekla.engine.model.resources import CPU, canonical, is_counted, is_whole
from hekla.insight.plan.changes import Change, Ladder, ladders, queues
from hekla.insight.plan.intake import PlanIntake
from hekla.insight.plan.request import PlanRequest, PlanRole, differences, pods_of_request
from hekla.insight.plan.trial import PlannedStart, Trial, try_out
from hekla.insight.plan.whatif import WhatIfCluster
from hekla.objects import Manifest
from hekla.objects.meta import Amount
from hekla.objects.pod import Container, PodSpec

MOST_SHOWN = 6
ENOUGH_PAIRS = 3
PARTS = 64
"""Steps in which numbers go down together, each by the same part of it."""

OnTry = Callable[[int, str], None]
"""Called with how many tries there were so far, and what is tried now."""


@dataclass(frozen=True)
class Found:
    """A change that works, and what would happen with it."""

    change: Change
    trial: Trial

    @property
    def rank(self) -> tuple[object, ...]:
        """What comes first: a start at once, no lost pods, a small change."""
        trial = self.trial
        return (
            trial.start is not PlannedStart.NOW,
            trial.pods_lost > 0,
            round(self.change.cost, 6),
            self.change.line,
        )


class Spent(Exception):
    """No more tries are left, or wanted."""


class Search:
    """Tries changes out, as many as are allowed, in the place of what is there of the job."""

    def __init__(
        self,
        cluster: WhatIfCluster,
        intake: PlanIntake,
        tries: int,
        on_try: OnTry | None = None,
        is_stopped: Callable[[], bool] = lambda: False,
        *,
        instead_of: Sequence[Manifest] = (),
    ) -> None:
        self._cluster = cluster
        self._intake = intake
        self._instead_of = instead_of
        self._allowed = tries
        self._on_try = on_try
        self._is_stopped = is_stopped
        self._found: list[Found] = []
        self.tries = 0
        self.is_complete = True

    def smallest(self, request: PlanRequest, first: Change | None = None) -> list[Found]:
        """The changes that work, the smallest first; where the one to try first works, that alone."""
        try:
            if first is not None and self._works(first, None):
                return self._found
            self._singly(request)
            if not self._found:
                self._together(request)
                self._in_pairs(request)
        except Spent:
            self.is_complete = False
        return sorted(self._found, key=lambda found: found.rank)[:MOST_SHOWN]

    def _singly(self, request: PlanRequest) -> None:
        self._climb(ladders(request, self._cluster))
        for scale in scales(request):
            self._weigh(request, scale)
        # Last: there may be hundreds of them.
        self._climb(queues(request, self._cluster))

    def _together(self, request: PlanRequest) -> None:
        """Several numbers lowered: in step as far as it takes, then each as far up again as it may go."""
        for bundle in bundles(request):
            if self._balance(request, bundle):
                return

    def _balance(self, request: PlanRequest, bundle: Sequence[Scale]) -> bool:
        def in_step(part: int) -> list[int]:
            return [scale.at_most(part / PARTS) for scale in bundle]

        def attempt(values: Sequence[int]) -> Found | None:
            return self._attempt(lowered(request, list(zip(bundle, values, strict=True))))

        part, best = largest(range(PARTS), lambda part: attempt(in_step(part)))
        if best is None:
            return False
        values = in_step(part)
        try:
            for at, scale in enumerate(bundle):
                above = [value for value in (*scale.values, scale.was) if value > values[at]]
                value, found = largest(above, partial(_between, attempt, values[:at], values[at + 1 :]))
                if found is not None:
                    values[at], best = value, found
        finally:  # it works, even if no tries are left to raise it further
            self._found.append(best)
        return True

    def _in_pairs(self, request: PlanRequest) -> None:
        """Something else together with less of it, or two things else."""
        found = [*ladders(request, self._cluster), *queues(request, self._cluster)]
        firsts = [change for ladder in found for change in ladder]
        for first in sorted(firsts, key=lambda change: (change.cost, change.line)):
            for scale in scales(first.request):
                self._weigh(first.request, scale, first)
            others = [*ladders(first.request, self._cluster), *queues(first.request, self._cluster)]
            self._climb([ladder for ladder in others if ladder and ladder[0].kind > first.kind], first)
            if len(self._found) >= ENOUGH_PAIRS:
                return

    def _climb(self, found: Iterable[Ladder], first: Change | None = None) -> None:
        for ladder in found:
            for change in ladder:
                if self._works(change, first):
                    break

    def _weigh(self, request: PlanRequest, scale: Scale, first: Change | None = None) -> None:
        """The largest value that works."""
        _, best = largest(
            scale.values, lambda value: self._attempt(lowered(request, [(scale, value)]), first)
        )
        if best is not None:
            self._found.append(best)

    def _works(self, change: Change, first: Change | None) -> bool:
        found = self._attempt(change, first)
        if found is not None:
            self._found.append(found)
        return found is not None

    def _attempt(self, change: Change, first: Change | None = None) -> Found | None:
        trial = self._try(change)
        return Found(joined(first, change), trial) if trial.starts else None

    def _try(self, change: Change) -> Trial:
        if self.tries >= self._allowed or self._is_stopped():
            raise Spent
        self.tries += 1
        if self._on_try is not None:
            self._on_try(self.tries, change.line)
        objects, uid = self._intake.objects_of(change.request)
        return try_out(self._cluster, objects, uid, instead_of=self._instead_of)


def largest(values: Sequence[int], attempt: Callable[[int], Found | None]) -> tuple[int, Found | None]:
    """The largest value that works: the least first, which tells whether it is worth searching."""
    best, least, most = None, 0, len(values)
    middle = 0
    while middle < most:
        found = attempt(values[middle])
        if found is not None:
            best, least = found, middle
        elif best is None:
            break
        else:
            most = middle
        middle = (least + most + 1) // 2 if most - least > 1 else most
    return values[least] if values else 0, best


def _between(
    attempt: Callable[[Sequence[int]], Found | None], before: Sequence[int], after: Sequence[int], value: int
) -> Found | None:
    return attempt([*before, value, *after])


def joined(first: Change | None, second: Change) -> Change:
    """Two changes as one."""
    if first is None:
        return second
    kind, line = f"{first.kind} and {second.kind}", f"{first.line}; {second.line}"
    return Change(kind, line, first.cost + second.cost, second.request)


MINIMUM_COST = 0.5
"""A smaller minimum gives up less than pods do: the other pods may still come later."""

_GI, _MI = 1024**3, 1024**2


@dataclass(frozen=True)
class Scale:
    """A number of a job, and the values below it, from small to large."""

    kind: str
    place: str
    """Where it stands in the manifest."""
    was: int
    values: range
    weight: float
    """What it costs to give up all of it."""
    applied: Callable[[PlanRequest, int], PlanRequest]
    """The request with another value."""
    written: Callable[[int], str] = str

    def line(self, value: int) -> str:
        return f"{self.place}: {self.written(value)} (was {self.written(self.was)})"

    def at_most(self, part: float) -> int:
        """The largest value up to such a part of the number, but at least the least."""
        return self.values[max(int((part * self.was - self.values.start) // self.values.step), 0)]


def lowered(request: PlanRequest, values: Sequence[tuple[Scale, int]]) -> Change:
    """Every number with its value, as one change; a number that keeps its value is not told."""
    told = [(scale, value) for scale, value in values if value < scale.was]
    changed = request
    for scale, value in told:
        changed = scale.applied(changed, value)
    line = "; ".join(scale.line(value) for scale, value in told)
    rest = differences(request, changed, but=[scale.place for scale, _ in told])
    cost = sum(scale.weight * (scale.was - value) / scale.was for scale, value in told)
    return Change(" and ".join(dict.fromkeys(scale.kind for scale, _ in told)), line + rest, cost, changed)


def scales(request: PlanRequest) -> Iterator[Scale]:
    """Every number that can be lowered."""
    yield from pods_of_roles(request)
    if request.minimum > 1:
        yield smaller_minimum(request)
    for role in request.roles:
        yield from requests_of(role)


def bundles(request: PlanRequest) -> Iterator[Sequence[Scale]]:
    """Numbers to lower together, where none of them helps alone: the fewest first."""
    of_roles = [list(requests_of(role)) for role in request.roles]
    pods, requests = list(pods_of_roles(request)), [scale for of_role in of_roles for scale in of_role]
    told: list[Sequence[Scale]] = []
    for bundle in (*of_roles, requests, pods, [*pods, *requests]):
        if len(bundle) > 1 and bundle not in told:
            told.append(bundle)
            yield bundle


def pods_of_roles(request: PlanRequest) -> Iterator[Scale]:
    return (fewer_pods(request, role) for role in request.roles if role.pods > role.step)


def requests_of(role: PlanRole) -> Iterator[Scale]:
    found = (smaller_request(role, name) for name in largest_requests(role.spec))
    return (scale for scale in found if scale.values)


def fewer_pods(request: PlanRequest, role: PlanRole) -> Scale:
    values = range(role.step, role.pods, role.step)
    weight = role.pods / pods_of_request(request)
    place, name = request.where_pods(role.name), role.name
    return Scale("pods", place, role.pods, values, weight, lambda given, pods: given.sized(name, pods))


def smaller_minimum(request: PlanRequest) -> Scale:
    least, place = request.minimum, request.where("minimum")
    weight = MINIMUM_COST * least / pods_of_request(request)
    return Scale("minimum", place, least, range(1, least), weight, lambda given, few: given.with_minimum(few))


def largest_requests(spec: PodSpec) -> dict[str, int]:
    """For each resource, the container that asks for most of it."""
    found: dict[str, tuple[int, int]] = {}
    for place, container in enumerate(spec.containers):
        for name, amount in container.resources.requests.items():
            if is_counted(name) and not name.startswith("hugepages-"):
                found[name] = max(found.get(name, (0, 0)), (canonical(name, amount), -place))
    return {name: -place for name, (amount, place) in found.items() if amount > 0}


def smaller_request(role: PlanRole, name: str) -> Scale:
    place = largest_requests(role.spec)[name]
    was = role.spec.containers[place].resources.requests[name]
    amount = canonical(name, was)
    step = step_of(name, amount)
    path = f"{role.path}.containers[{place}].resources.requests[{name}]"
    if is_limited_to(role.spec.containers[place], name):
        path += f" and limits[{name}]"

    def spoken(value: int) -> str:
        return str(was) if value == amount else written(name, value)

    def applied(given: PlanRequest, value: int) -> PlanRequest:
        return given.with_specs(lambda spec: asking(spec, place, name, was, written(name, value)), role.name)

    return Scale("request", path, amount, range(step, amount, step), 1.0, applied, spoken)


def step_of(name: str, amount: int) -> int:
    """Whole cores, gibibytes and devices; finer where little is asked for."""
    if name == CPU:
        return 1000 if amount >= 2000 else 100
    if is_whole(name):
        return _GI if amount >= 2 * _GI else 64 * _MI
    return 1000


def written(name: str, value: int) -> str:
    """An amount in canonical units as people write it."""
    if is_whole(name):
        return f"{value // _GI}Gi" if value % _GI == 0 else f"{value // _MI}Mi"
    return f"{value}m" if value % 1000 else str(value // 1000)


def asking(spec: PodSpec, place: int, name: str, was: Amount, amount: str) -> PodSpec:
    """The spec whose container asks for that much; a limit that equalled the request follows it."""
    if place >= len(spec.containers) or spec.containers[place].resources.requests.get(name) != was:
        return spec
    container = spec.containers[place]
    resources = container.resources
    limits = resources.limits | ({name: amount} if is_limited_to(container, name) else {})
    asked = replace(resources, requests=resources.requests | {name: amount}, limits=limits)
    changed = replace(container, resources=asked)
    return replace(spec, containers=(*spec.containers[:place], changed, *spec.containers[place + 1 :]))


def is_limited_to(container: Container, name: str) -> bool:
    """Whether the limit equals the request: it is to stay so, and devices must."""
    asked, limit = container.resources.requests.get(name), container.resources.limits.get(name)
    return asked is not None and limit is not None and canonical(name, asked) == canonical(name, limit)
