"""Load estimates: what a task will probably use of cpu and memory, before anybody has measured it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from hekla.engine.model.requests import request_of
from hekla.engine.model.resources import CPU, MEMORY, Resources, read_resources
from hekla.engine.model.task import Task
from hekla.errors import InputError
from hekla.objects import Pod
from hekla.objects.pod import Container, PodStatus, ResourceRequirements
from hekla.objects.quantity import milli, whole

MEBIBYTE = 2**20

Pair = tuple[float, float]
"""Of cpu (millicores) and of memory (bytes)."""


@dataclass(frozen=True)
class Estimator:
    """How requests and limits turn into probable use."""

    request_ratio: float = 0.7
    burst_ratio: float = 0.0
    risk_threshold: float = 0.6
    risk_factor: float = 1.2
    best_effort: Pair = (250.0, 200.0 * MEBIBYTE)

    def estimate(self, task: Task, busyness: float) -> Pair:
        """Of a task on a node that is so busy, from 0 to 1; on a strained node more is expected."""
        factor = self.risk_factor if busyness >= self.risk_threshold else 1.0
        if task.is_best_effort:
            return self.best_effort[0] * factor, self.best_effort[1] * factor
        limits = limits_of(task.pod)
        return (
            self._probable(task.request.get(CPU, 0), limits.get(CPU, 0), factor),
            self._probable(task.request.get(MEMORY, 0), limits.get(MEMORY, 0), factor),
        )

    def _probable(self, request: int, limit: int, factor: float) -> float:
        limit = max(limit, request)
        use = (request * self.request_ratio + (limit - request) * self.burst_ratio) * factor
        return min(max(use, 0.0), float(limit))


def read_estimator(raw: Mapping[str, object]) -> Estimator:
    """Every setting by itself: one that makes no sense is replaced by its default, as in Volcano."""
    usual = Estimator()
    return Estimator(
        request_ratio=_number(raw.get("request_ratio"), usual.request_ratio, 0.0, 1.0),
        burst_ratio=_number(raw.get("burst_ratio"), usual.burst_ratio, 0.0, 1.0),
        risk_threshold=_number(raw.get("risk_threshold"), usual.risk_threshold, 0.0, 1.0),
        risk_factor=_number(raw.get("risk_factor"), usual.risk_factor, 1.0, 1e6),
        best_effort=(
            _amount(raw.get("be_cpu"), usual.best_effort[0], CPU),
            _amount(raw.get("be_mem"), usual.best_effort[1], MEMORY),
        ),
    )


def _number(value: object, default: float, lowest: float, highest: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    return float(value) if lowest <= value <= highest else default


def _amount(value: object, default: float, resource: str) -> float:
    """A bare number counts millicores or MiB; a text is a quantity."""
    if isinstance(value, int) and not isinstance(value, bool):
        amount = value if resource == CPU else value * MEBIBYTE
    elif isinstance(value, str):
        try:
            amount = milli(value) if resource == CPU else whole(value)
        except InputError:
            return default
    else:
        return default
    return float(amount) if 0 <= amount < 2**63 else default


def limits_of(pod: Pod) -> Resources:
    """What the pod may use at most, as far as it says so readably."""
    try:
        return _summed_limits(pod)
    except InputError:
        return {}


def _summed_limits(pod: Pod) -> Resources:
    """Limits of containers add up as requests do."""
    spec = pod.spec
    if not any(c.resources.limits for c in (*spec.containers, *spec.init_containers)):
        return {} if spec.resources is None else read_resources(spec.resources.limits)
    asking = replace(
        spec,
        containers=tuple(map(_asking_for_its_limits, spec.containers)),
        init_containers=tuple(map(_asking_for_its_limits, spec.init_containers)),
        resources=None if spec.resources is None else ResourceRequirements(requests=spec.resources.limits),
    )
    return request_of(replace(pod, spec=asking, status=PodStatus()))


def _asking_for_its_limits(container: Container) -> Container:
    return replace(container, resources=ResourceRequirements(requests=container.resources.limits))
