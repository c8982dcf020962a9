"""Why objects are refused: the rules that templates, policies and names have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

import msgspec

from hekla.controllers.policy import Event, PolicyAction, events_of
from hekla.controllers.usage import is_counted, is_extended, minimum_of
from hekla.errors import InputError
from hekla.objects import VolcanoJob
from hekla.objects.batch import JobSpec, LifecyclePolicy, TaskSpec
from hekla.objects.meta import Amount
from hekla.objects.pod import Container, PodSpec, ResourceRequirements
from hekla.objects.quantity import exact, read_duration
from hekla.objects.scheduling import NetworkTopology

_QUALIFIED_NAME = re.compile(r"^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$")
_LABEL = re.compile(r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")
_SUBDOMAIN = re.compile(r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$")


class Problem(msgspec.Struct, frozen=True):
    """A path into the manifest, and what is wrong there."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def is_qualified_name(name: str) -> bool:
    """Kubernetes' rule for the name part of a label key."""
    return len(name) <= 63 and _QUALIFIED_NAME.match(name) is not None


def is_dns_label(name: str) -> bool:
    return len(name) <= 63 and _LABEL.match(name) is not None


def is_dns_subdomain(name: str) -> bool:
    return len(name) <= 253 and _SUBDOMAIN.match(name) is not None


def problems_of_topology(path: str, topology: NetworkTopology | None) -> list[Problem]:
    """A highest tier is named by its number or by its name."""
    if topology is None or topology.highest_tier_allowed is None or not topology.highest_tier_name:
        return []
    message = (
        f'highestTierAllowed "{topology.highest_tier_allowed}" and highestTierName'
        f' "{topology.highest_tier_name}" are both given; keep one'
    )
    return [Problem(path, message)]


def problems_of_amounts(path: str, resources: Mapping[str, Amount]) -> Iterable[Problem]:
    """Quantities must be readable, not negative, and whole where things cannot be divided."""
    for name, amount in resources.items():
        where = f"{path}[{name}]"
        try:
            value = exact(amount)
        except InputError as error:
            yield Problem(where, str(error))
            continue
        if value < 0:
            yield Problem(where, f'"{amount}" is negative')
        elif is_indivisible(name) and value != value.to_integral_value():
            yield Problem(where, f'"{amount}" is not a whole number, and {name} cannot be divided')


def is_indivisible(name: str) -> bool:
    return name == "pods" or name.startswith("count/") or is_extended(name)


def readable(resources: Mapping[str, Amount]) -> dict[str, Decimal]:
    """The quantities that can be read; the others have been reported."""
    amounts: dict[str, Decimal] = {}
    for name, amount in resources.items():
        try:
            amounts[name] = exact(amount)
        except InputError:
            continue
    return amounts


def problems_of_template(path: str, spec: PodSpec) -> Iterator[Problem]:
    if not spec.containers:
        yield Problem(f"{path}.containers", "no container; give at least one")
    seen: set[str] = set()
    for where, container in named_containers(path, spec):
        if not is_dns_label(container.name):
            yield Problem(f"{where}.name", f'"{container.name}" is no name for a container')
        if container.name in seen:
            yield Problem(f"{where}.name", f'there are two containers "{container.name}"')
        seen.add(container.name)
        yield from problems_of_resources(f"{where}.resources", container.resources)
    if spec.resources is not None:
        yield from problems_of_resources(f"{path}.resources", spec.resources)


def named_containers(path: str, spec: PodSpec) -> Iterator[tuple[str, Container]]:
    """Every container with its path."""
    for i, container in enumerate(spec.init_containers):
        yield f"{path}.initContainers[{i}]", container
    for i, container in enumerate(spec.containers):
        yield f"{path}.containers[{i}]", container


def problems_of_resources(path: str, resources: ResourceRequirements) -> Iterator[Problem]:
    yield from problems_of_amounts(f"{path}.requests", resources.requests)
    yield from problems_of_amounts(f"{path}.limits", resources.limits)
    limits = readable(resources.limits)
    for name, amount in readable(resources.requests).items():
        if name in limits and amount > limits[name]:
            asked, limit = resources.requests[name], resources.limits[name]
            yield Problem(f"{path}.requests[{name}]", f'request "{asked}" is above the limit "{limit}"')


def problems_of_numa(path: str, spec: PodSpec) -> Iterator[Problem]:
    """Cores are handed out whole: every container has to ask for a whole number of them."""
    for where, container in named_containers(path, spec):
        resources = container.resources
        cpu = readable(resources.requests or resources.limits).get("cpu")
        if cpu is None or cpu == 0 or cpu != cpu.to_integral_value():
            yield Problem(f"{where}.resources", "a topology policy needs a whole number of cpus")


VALID_EVENTS = (
    Event.ANY,
    Event.POD_PENDING,
    Event.POD_FAILED,
    Event.POD_EVICTED,
    Event.UNKNOWN,
    Event.TASK_COMPLETED,
    Event.TASK_FAILED,
    Event.JOB_UPDATED,
)
VALID_ACTIONS = tuple(action for action in PolicyAction if action is not PolicyAction.SYNC)


def problem_of_policies(path: str, policies: Sequence[LifecyclePolicy]) -> list[Problem]:
    """The first problem of the list, if there is one."""
    for problem in _problems(path, policies):
        allowed = f"events: {', '.join(VALID_EVENTS)}; actions: {', '.join(VALID_ACTIONS)}"
        return [Problem(problem.path, f"{problem.message} ({allowed})")]
    return []


def _problems(path: str, policies: Sequence[LifecyclePolicy]) -> Iterator[Problem]:
    events: set[str] = set()
    exit_codes: set[int] = set()
    for i, policy in enumerate(policies):
        where = f"{path}[{i}]"
        yield from _problems_alone(where, policy)
        own = set(events_of(policy))
        for event in sorted(own & events):
            yield Problem(where, f'event "{event}" is answered twice')
        events |= own
        if policy.exit_code in exit_codes:
            yield Problem(where, f'exit code "{policy.exit_code}" is answered twice')
        if policy.exit_code is not None:
            exit_codes.add(policy.exit_code)
    if Event.ANY in events and len(events) > 1:
        yield Problem(path, f'"{Event.ANY}" must be the only event of the list')


def _problems_alone(where: str, policy: LifecyclePolicy) -> Iterator[Problem]:
    own = events_of(policy)
    if own and policy.exit_code is not None:
        yield Problem(where, "event and exitCode are both given; keep one")
    if not own and policy.exit_code is None:
        yield Problem(where, "neither event nor exitCode is given")
    for event in own:
        if event not in VALID_EVENTS:
            yield Problem(where, f'no event "{event}"')
    if policy.exit_code == 0:
        yield Problem(where, 'exit code "0" is no failure')
    if policy.action not in VALID_ACTIONS:
        yield Problem(where, f'no action "{policy.action}"')
    yield from problems_of_timeout(where, policy.timeout)


def problems_of_timeout(where: str, timeout: str | None) -> Iterator[Problem]:
    if timeout is None:
        return
    try:
        read_duration(timeout)
    except InputError as error:
        yield Problem(f"{where}.timeout", str(error))


def warnings_of_job(job: VolcanoJob) -> list[Problem]:
    """Why the Job may not do what its user expects; it comes in all the same."""
    limits_only = (
        Problem(
            f"spec.tasks[{i}].template.spec", "limits without requests do not count when the job is admitted"
        )
        for i, task in enumerate(job.spec.tasks)
        if has_limits_only(task)
    )
    return [*limits_only, *_warnings_of_dependencies(job.spec)]


def has_limits_only(task: TaskSpec) -> bool:
    """Whether a container is limited in something it does not ask for."""
    return any(
        is_counted(name) and name not in container.resources.requests
        for container in task.template.spec.containers
        for name in container.resources.limits
    )


def _warnings_of_dependencies(spec: JobSpec) -> Iterator[Problem]:
    """A gang waits for all its pods, and a dependent task for the gang: together they wait for ever."""
    dependent = [task for task in spec.tasks if task.depends_on is not None and task.depends_on.name]
    if not dependent:
        return
    free = sum(task.replicas for task in spec.tasks if task not in dependent)
    minimums_bind = spec.min_available >= sum(map(minimum_of, spec.tasks))
    if spec.min_available > free or (minimums_bind and any(map(minimum_of, dependent))):
        message = (
            "the job needs pods of tasks that wait for others, and will never start as a gang;"
            " give the dependent tasks minAvailable 0, or lower the job's minAvailable"
        )
        yield Problem("spec.tasks", message)
