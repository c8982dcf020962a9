"""Scales: numbers of a job that can be lowered: its pods, its minimum, what a pod asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from hekla.engine.model.resources import CPU, canonical, is_counted, is_whole
from hekla.insight.plan.changes import Change
from hekla.insight.plan.request import Request, Role, differences, pods_of_request
from hekla.objects.meta import Amount
from hekla.objects.pod import Container, PodSpec

MINIMUM_COST = 0.5
"""A smaller minimum gives up less than pods do: the others may still come later."""

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
    applied: Callable[[Request, int], Request]
    """The request with another value."""
    written: Callable[[int], str] = str

    def line(self, value: int) -> str:
        return f"{self.place}: {self.written(value)} (was {self.written(self.was)})"

    def at_most(self, part: float) -> int:
        """The largest value up to such a part of the number, but at least the least."""
        return self.values[max(int((part * self.was - self.values.start) // self.values.step), 0)]


def lowered(request: Request, values: Sequence[tuple[Scale, int]]) -> Change:
    """Every number with its value, as one change; a number that keeps its value is not told."""
    told = [(scale, value) for scale, value in values if value < scale.was]
    changed = request
    for scale, value in told:
        changed = scale.applied(changed, value)
    line = "; ".join(scale.line(value) for scale, value in told)
    rest = differences(request, changed, but=[scale.place for scale, _ in told])
    cost = sum(scale.weight * (scale.was - value) / scale.was for scale, value in told)
    return Change(" and ".join(dict.fromkeys(scale.kind for scale, _ in told)), line + rest, cost, changed)


def scales(request: Request) -> Iterator[Scale]:
    """Every number that can be lowered."""
    yield from pods_of_roles(request)
    if request.minimum > 1:
        yield smaller_minimum(request)
    for role in request.roles:
        yield from requests_of(role)


def bundles(request: Request) -> Iterator[Sequence[Scale]]:
    """Numbers to lower together, where none of them helps alone: the fewest first."""
    of_roles = [list(requests_of(role)) for role in request.roles]
    pods, requests = list(pods_of_roles(request)), [scale for of_role in of_roles for scale in of_role]
    told: list[Sequence[Scale]] = []
    for bundle in (*of_roles, requests, pods, [*pods, *requests]):
        if len(bundle) > 1 and bundle not in told:
            told.append(bundle)
            yield bundle


def pods_of_roles(request: Request) -> Iterator[Scale]:
    return (fewer_pods(request, role) for role in request.roles if role.pods > role.step)


def requests_of(role: Role) -> Iterator[Scale]:
    found = (smaller_request(role, name) for name in largest_requests(role.spec))
    return (scale for scale in found if scale.values)


def fewer_pods(request: Request, role: Role) -> Scale:
    values = range(role.step, role.pods, role.step)
    weight = role.pods / pods_of_request(request)
    place, name = request.where_pods(role.name), role.name
    return Scale("pods", place, role.pods, values, weight, lambda given, pods: given.sized(name, pods))


def smaller_minimum(request: Request) -> Scale:
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


def smaller_request(role: Role, name: str) -> Scale:
    place = largest_requests(role.spec)[name]
    was = role.spec.containers[place].resources.requests[name]
    amount = canonical(name, was)
    step = step_of(name, amount)
    path = f"{role.path}.containers[{place}].resources.requests[{name}]"
    if is_limited_to(role.spec.containers[place], name):
        path += f" and limits[{name}]"

    def spoken(value: int) -> str:
        return str(was) if value == amount else written(name, value)

    def applied(given: Request, value: int) -> Request:
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
