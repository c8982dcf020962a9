"""Accounts: which writes of a Job are under way, and what went wrong.

The status of a Job is written when everything that led to it has been done. When something could not be
done, all of it is taken back that did not come true, and the request is served again later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hekla.controllers.policy import Request


@dataclass(frozen=True)
class Failure:
    """A write that the API server refused; `reason` is how the event is called."""

    reason: str
    message: str
    request: Request | None
    undo: Callable[[], None]
    is_final: bool = False
    """Its namespace is being deleted: nobody is told, and nothing is tried again."""


@dataclass
class Account:
    """The writes of one Job."""

    under_way: int = 0
    failures: list[Failure] = field(default_factory=list)

    def take_failures(self) -> list[Failure]:
        failures, self.failures = self.failures, []
        return failures


class Accounts:
    """One account per Job that has something under way."""

    def __init__(self) -> None:
        self._by_job: dict[str, Account] = {}

    def begin(self, job: str) -> None:
        self._by_job.setdefault(job, Account()).under_way += 1

    def fail(self, job: str, failure: Failure) -> None:
        self._by_job.setdefault(job, Account()).failures.append(failure)

    def end(self, job: str) -> list[Failure] | None:
        """What went wrong, once nothing is under way any more; nothing while something is."""
        account = self._by_job[job]
        account.under_way -= 1
        return None if account.under_way else self._by_job.pop(job).take_failures()

    def is_busy(self, job: str) -> bool:
        return job in self._by_job
