"""What a pod counts for in a quota, and what a Job needs at least to start.

A template has not passed the admission of pods: requests are not filled in from limits, so a template
that gives limits only asks for nothing here, GPUs included. Volcano counts the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal

from hekla.objects import VolcanoJob
from hekla.objects.batch import TaskSpec
from hekla.objects.meta import Amount, ResourceList
from hekla.objects.pod import Container, PodSpec, ResourceRequirements
from hekla.objects.quantity import exact

Amounts = dict[str, Decimal]
Side = Callable[[ResourceRequirements], ResourceList]

_COMPUTE = ("cpu", "memory", "ephemeral-storage")


def usage_of(spec: PodSpec, *, requests_from_limits: bool = False) -> Amounts:
    """What a quota counts for a pod of this spec."""
    asked = pod_total(spec, _requests_or_limits if requests_from_limits else _requests)
    usage: Amounts = {"count/pods": Decimal(1), "pods": Decimal(1)}
    for name, amount in asked.items():
        if is_counted(name):
            usage[name] = usage[f"requests.{name}"] = amount
    limited = pod_total(spec, _limits)
    return usage | {f"limits.{name}": limited[name] for name in _COMPUTE if name in limited}


def is_counted(name: str) -> bool:
    """Whether a quota knows the resource: compute, huge pages, and extended resources."""
    return name in _COMPUTE or name.startswith("hugepages-") or is_extended(name)


def is_extended(name: str) -> bool:
    domain, slash, _ = name.partition("/")
    return bool(slash) and not domain.endswith("kubernetes.io") and not name.startswith("requests.")


def pod_total(spec: PodSpec, side: Side) -> Amounts:
    """The requests (or limits) of a whole pod.

    Containers run side by side with the restartable init containers; ordinary init containers run one
    after another, beside the restartable ones started before them. The pod needs the larger of the two.
    """
    together: Amounts = {}
    for container in spec.containers:
        together = plus(together, amounts(side(container.resources)))
    started: Amounts = {}
    largest: Amounts = {}
    for container in spec.init_containers:
        own = amounts(side(container.resources))
        if is_restartable(container):
            together, started = plus(together, own), plus(started, own)
            largest = larger(largest, started)
        else:
            largest = larger(largest, plus(started, own))
    total = larger(together, largest)
    if spec.resources is not None:
        stated = amounts(side(spec.resources))
        total |= {name: amount for name, amount in stated.items() if _allowed_for_pods(name)}
    return plus(total, _overhead(spec, side, total))


def is_restartable(container: Container) -> bool:
    return container.restart_policy == "Always"


def _allowed_for_pods(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def _overhead(spec: PodSpec, side: Side, total: Amounts) -> Amounts:
    """Overhead adds to every request, but makes no limit where there was none."""
    overhead = amounts(spec.overhead)
    return {name: amount for name, amount in overhead.items() if side is not _limits or name in total}


def _requests(resources: ResourceRequirements) -> ResourceList:
    return resources.requests


def _limits(resources: ResourceRequirements) -> ResourceList:
    return resources.limits


def _requests_or_limits(resources: ResourceRequirements) -> ResourceList:
    return resources.limits | resources.requests


def min_resources(
    job: VolcanoJob, priority_by_class: Mapping[str, int], *, requests_from_limits: bool = False
) -> ResourceList:
    """The usage of the `minAvailable` pods of a Job that start first."""
    total: Amounts = {}
    for task, count in first_pods(job, priority_by_class):
        usage = usage_of(task.template.spec, requests_from_limits=requests_from_limits)
        total = plus(total, times(usage, count))
    return written(total)


def first_pods(job: VolcanoJob, priority_by_class: Mapping[str, int]) -> Iterator[tuple[TaskSpec, int]]:
    """How many pods of which task make up the minimum of the Job.

    The priority class of the template orders the tasks; the Job's own class does not, although the
    pods will inherit it. As in Volcano.
    """
    tasks = sorted(
        job.spec.tasks, key=lambda task: -priority_by_class.get(task.template.spec.priority_class_name, 0)
    )
    missing = job.spec.min_available
    if missing < sum(minimum_of(task) for task in tasks):
        rounds = [[(task, task.replicas) for task in tasks]]
    else:
        rounds = [
            [(task, task.min_available or 0) for task in tasks],
            [(task, task.replicas - (task.min_available or 0)) for task in tasks],
        ]
    for offers in rounds:
        for task, offered in offers:
            taken = min(offered, missing)
            missing -= max(taken, 0)
            if taken > 0:
                yield task, taken


def minimum_of(task: TaskSpec) -> int:
    """The pods a task needs; one that does not say needs all."""
    return task.replicas if task.min_available is None else task.min_available


def amounts(resources: Mapping[str, Amount]) -> Amounts:
    return {name: exact(amount) for name, amount in resources.items()}


def plus(left: Amounts, right: Amounts) -> Amounts:
    return left | {name: left.get(name, Decimal(0)) + amount for name, amount in right.items()}


def larger(left: Amounts, right: Amounts) -> Amounts:
    return left | {name: max(left.get(name, amount), amount) for name, amount in right.items()}


def times(one: Amounts, count: int) -> Amounts:
    return {name: amount * count for name, amount in one.items()}


def written(total: Amounts) -> ResourceList:
    """The amounts as a manifest writes them: whole numbers, else thousandths, else billionths."""
    return {name: _written(amount) for name, amount in total.items()}


def _written(amount: Decimal) -> Amount:
    for scale, suffix in ((0, ""), (3, "m")):
        scaled = amount.scaleb(scale)
        if scaled == scaled.to_integral_value():
            return f"{int(scaled)}{suffix}" if suffix else int(scaled)
    return f"{int(amount.scaleb(9).to_integral_value())}n"


def same_amounts(left: ResourceList | None, right: ResourceList | None) -> bool:
    """Whether two lists say the same, however it is written."""
    if left is None or right is None:
        return left is right
    return amounts(left) == amounts(right)
