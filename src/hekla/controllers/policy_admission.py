"""Admission of lifecycle policies: the first problem of a list is told, with all that is allowed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hekla.controllers.durations import read_duration
from hekla.controllers.policy import Action, Event, events_of
from hekla.controllers.problems import Problem
from hekla.errors import InputError
from hekla.objects.batch import LifecyclePolicy

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
VALID_ACTIONS = tuple(action for action in Action if action is not Action.SYNC)


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
