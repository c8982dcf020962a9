"""Scales: numbers of a job that can be lowered: its pods, its minimum, what a pod asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from hekla.model.resources import CPU, canonical, is_counted, is_whole
from hekla.objects.meta import Amount
from hekla.objects.pod import Container, PodSpec
from hekla.planning.changes import Change
from hekla.planning.request import Request, Role, differences, pods_of_request

MINIMUM_COST = 0.5
"""A smaller minimum gives up less than pods do: the others may still come later."""

_GI, _MI = 1024**3, 1024**2


@dataclass(frozen=True)
class Scale:
    """Values below the present one, from small to large, and the change that each of them is."""

    values: Sequence[int]
    change: Callable[[int], Change]


def scales(request: Request) -> Iterator[Scale]:
    """Every number that can be lowered."""
    for role in request.roles:
        if role.pods > role.step:
            yield fewer_pods(request, role)
    if request.minimum > 1:
        yield smaller_minimum(request)
    for role in request.roles:
        for name in largest_requests(role.spec):
            if (scale := smaller_request(request, role, name)).values:
                yield scale


def fewer_pods(request: Request, role: Role) -> Scale:
    total = pods_of_request(request)

    def change(pods: int) -> Change:
        changed = request.sized(role.name, pods)
        line = f"{request.where_pods(role.name)}: {pods} (was {role.pods})" + differences(request, changed)
        return Change("pods", line, (role.pods - pods) / total, changed)

    return Scale(range(role.step, role.pods, role.step), change)


def smaller_minimum(request: Request) -> Scale:
    def change(minimum: int) -> Change:
        cost = MINIMUM_COST * (request.minimum - minimum) / pods_of_request(request)
        place, changed = request.where("minimum"), request.with_minimum(minimum)
        line = f"{place}: {minimum} (was {request.minimum})" + differences(request, changed, but=place)
        return Change("minimum", line, cost, changed)

    return Scale(range(1, request.minimum), change)


def largest_requests(spec: PodSpec) -> dict[str, int]:
    """For each resource, the container that asks for most of it."""
    found: dict[str, tuple[int, int]] = {}
    for place, container in enumerate(spec.containers):
        for name, amount in container.resources.requests.items():
            if is_counted(name) and not name.startswith("hugepages-"):
                found[name] = max(found.get(name, (0, 0)), (canonical(name, amount), -place))
    return {name: -place for name, (amount, place) in found.items() if amount > 0}


def smaller_request(request: Request, role: Role, name: str) -> Scale:
    place = largest_requests(role.spec)[name]
    was = role.spec.containers[place].resources.requests[name]
    amount = canonical(name, was)
    step = step_of(name, amount)
    path = f"{role.path}.containers[{place}].resources.requests[{name}]"
    if is_limited_to(role.spec.containers[place], name):
        path += f" and limits[{name}]"

    def change(value: int) -> Change:
        text = written(name, value)
        changed = request.with_specs(lambda spec: asking(spec, place, name, was, text), role.name)
        line = f"{path}: {text} (was {was})" + differences(request, changed)
        return Change("request", line, (amount - value) / amount, changed)

    return Scale(range(step, amount, step), change)


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
