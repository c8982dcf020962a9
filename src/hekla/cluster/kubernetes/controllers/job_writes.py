"""Writes of a Job: its status is written once all else is; when something fails, it is not written at all.

What failed is told and taken back, and the request that led to it is served again later.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import cast

from msgspec import to_builtins
from msgspec.structs import replace

from hekla.cluster.kubernetes.api.client import Refused
from hekla.cluster.kubernetes.context import ControllerContext
from hekla.cluster.kubernetes.controllers.view import ControllerView
from hekla.cluster.kubernetes.outbox import Write, WriteRank
from hekla.cluster.kubernetes.writer import Body, merge_patch
from hekla.cluster.reactions import Reactions
from hekla.controllers import JobController
from hekla.controllers.policy import PolicyRequest
from hekla.errors import ClusterError
from hekla.objects import VolcanoJob
from hekla.objects.batch import JobStatus

logger = logging.getLogger("hekla.cluster")
MOST_NAMED = 3
"""How many refusals an event names; the rest are counted."""


class JobWrites:
    """Sends what belongs to Jobs, and their statuses; `reactions` hears of what could not be done."""

    def __init__(self, context: ControllerContext, view: ControllerView, controller: JobController) -> None:
        self._context = context
        self._view = view
        self._controller = controller
        self._pending = PendingWritesByJob()
        self._numbers = count()
        self.reactions: Reactions | None = None
        self.failed: Counter[str] = Counter()

    def send(self, job: str, reason: str, write: Write, undo: Callable[[], None]) -> None:
        """Have it written; if it fails, `undo` shows the facts again once nothing else is under way."""
        self._pending.begin(job)
        request = self._controller.last_request(job)

        async def attempt() -> None:
            try:
                if self._context.is_current():
                    await write()
            except Exception as error:
                # Whatever it was, the Job must not wait for ever for what never comes.
                if not isinstance(error, ClusterError):
                    logger.exception("job %s: a write failed in an unforeseen way", job)
                is_final = isinstance(error, Refused) and error.is_namespace_ending
                self.failed[reason] += not is_final
                self._pending.fail(job, Failure(reason, str(error), request, undo, is_final))
            finally:
                self._write_ended(job)

        self._context.outbox.put(WriteRank.OBJECT, f"{reason} of {job} {next(self._numbers)}", attempt)

    def _write_ended(self, job: str) -> None:
        failures = self._pending.end(job)
        if failures and self._context.is_current():
            self._take_back(job, failures)
        elif failures is not None and self._view.status_of(job) is not None:
            self._send_status(job)

    def _take_back(self, job: str, failures: list[Failure]) -> None:
        """Tell what failed, show the facts again, and have the request served later."""
        fact = self._view.facts.job(job)
        is_final = any(failure.is_final for failure in failures)
        for reason, messages in _by_reason(failures).items() if not is_final else ():
            logger.warning("job %s: %s: %s", job, reason, messages)
            if fact is not None:
                self._context.tell(fact, "Warning", reason, messages)

        def undo() -> None:
            for failure in failures:
                failure.undo()
            self._view.expect_status(job, None)

        request = next((each.request for each in failures if each.request is not None), None)
        assert self.reactions is not None
        if is_final:
            self.reactions.give_up(undo)
        elif request is None:
            undo()
        else:
            self.reactions.failed(job, request, undo)

    def look_again(self, job: str) -> None:
        """Something that the Job waits for has come to pass without a write."""
        found = self._view.store.job(job)
        if found is not None and self.reactions is not None:
            self.reactions.look_again(found)

    # Statuses

    def put_status(self, job: str, status: JobStatus) -> None:
        self._view.expect_status(job, _to_the_second(status))
        if not self._pending.is_busy(job):
            self._send_status(job)

    def _send_status(self, job: str) -> None:
        self._context.outbox.put(
            WriteRank.POD_GROUP, f"status of job {job}", partial(self._write_status, job)
        )

    async def _write_status(self, key: str) -> None:
        fact, status = self._view.facts.job(key), self._view.status_of(key)
        if fact is None or status is None or self._pending.is_busy(key) or not self._context.is_current():
            return
        request = self._controller.last_request(key)
        patch = merge_patch(cast("Body", to_builtins(fact.status)), cast("Body", to_builtins(status)))
        try:
            if patch:
                await self._context.writer.change(VolcanoJob, key, {"status": patch}, "status")
        except ClusterError as error:
            if isinstance(error, Refused) and error.status == 404:
                return
            self.failed["JobStatusError"] += 1
            if self._context.is_current() and not self._pending.is_busy(key):
                self._take_back(key, [Failure("JobStatusError", str(error), request, lambda: None)])
            return
        if self._view.status_of(key) == status:
            self._view.expect_status(key, None)


def _by_reason(failures: list[Failure]) -> dict[str, str]:
    messages: dict[str, list[str]] = {}
    for failure in failures:
        told = messages.setdefault(failure.reason, [])
        if failure.message not in told:
            told.append(failure.message)
    return {reason: _some(told) for reason, told in messages.items()}


def _some(messages: list[str]) -> str:
    more = len(messages) - MOST_NAMED
    return "; ".join(messages[:MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")


def _to_the_second(status: JobStatus) -> JobStatus:
    """Times as the API writes them, so that what comes back is what was sent."""
    state, ended = status.state, status.state.last_transition_time
    if ended is not None:
        state = replace(state, last_transition_time=ended.replace(microsecond=0))
    conditions = tuple(
        replace(each, last_transition_time=each.last_transition_time.replace(microsecond=0))
        if each.last_transition_time is not None
        else each
        for each in status.conditions
    )
    return replace(status, state=state, conditions=conditions)


@dataclass(frozen=True)
class Failure:
    """A write that the API server refused; `reason` is how the event is called."""

    reason: str
    message: str
    request: PolicyRequest | None
    undo: Callable[[], None]
    is_final: bool = False
    """Its namespace is being deleted: no event is written, and nothing is tried again."""


@dataclass
class PendingWrites:
    """The writes of one Job."""

    under_way: int = 0
    failures: list[Failure] = field(default_factory=list)

    def take_failures(self) -> list[Failure]:
        failures, self.failures = self.failures, []
        return failures


class PendingWritesByJob:
    """The pending writes of every Job that has some."""

    def __init__(self) -> None:
        self._by_job: dict[str, PendingWrites] = {}

    def begin(self, job: str) -> None:
        self._by_job.setdefault(job, PendingWrites()).under_way += 1

    def fail(self, job: str, failure: Failure) -> None:
        self._by_job.setdefault(job, PendingWrites()).failures.append(failure)

    def end(self, job: str) -> list[Failure] | None:
        """What went wrong, once nothing is under way any more; nothing while something is."""
        pending = self._by_job[job]
        pending.under_way -= 1
        return None if pending.under_way else self._by_job.pop(job).take_failures()

    def is_busy(self, job: str) -> bool:
        return job in self._by_job
