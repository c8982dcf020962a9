"""Faults: what can go wrong between a client and the API server, and rules for when it does."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from harness.kinds import Object

REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


@dataclass(frozen=True)
class Request:
    """What rules decide by. A watch is a GET whose query says so."""

    method: str
    path: str
    is_watch: bool = False


Matches = Callable[[Request], bool]


@dataclass(frozen=True)
class Fault:
    """Something that happens to a request instead of, before or after its answer."""

    name: ClassVar[str]


@dataclass(frozen=True)
class Refuse(Fault):
    """Answer with an error, as the API server words it; it never sees the request."""

    name: ClassVar[str] = "refuse"
    status: int
    retry_after: int | None = None
    message: str = "injected by the test"

    @property
    def body(self) -> Object:
        details = {} if self.retry_after is None else {"details": {"retryAfterSeconds": self.retry_after}}
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": REASONS.get(self.status, "Unknown"),
            "code": self.status,
            **details,
        }


@dataclass(frozen=True)
class Silence(Fault):
    """No answer at all, and the API server never sees the request; the connection stays open."""

    name: ClassVar[str] = "silence"


@dataclass(frozen=True)
class Reset(Fault):
    """The connection breaks before the API server sees the request."""

    name: ClassVar[str] = "reset"


@dataclass(frozen=True)
class LoseAnswer(Fault):
    """The API server does as asked, and the connection breaks before the answer."""

    name: ClassVar[str] = "lose answer"


@dataclass(frozen=True)
class LoseAnswerSilently(Fault):
    """The API server does as asked, and the answer never comes; the connection stays open."""

    name: ClassVar[str] = "lose answer silently"


@dataclass(frozen=True)
class Delay(Fault):
    """The answer comes late, but comes. `before` the API server sees the request, or after."""

    name: ClassVar[str] = "delay"
    seconds: float
    before: bool = False


@dataclass(frozen=True)
class WatchFault(Fault):
    """Something that happens to a watch after so many events."""

    after_events: int = 0


@dataclass(frozen=True)
class CutWatch(WatchFault):
    """The connection breaks in the middle of a line."""

    name: ClassVar[str] = "cut watch"


@dataclass(frozen=True)
class EndWatch(WatchFault):
    """The watch ends as it should, only early."""

    name: ClassVar[str] = "end watch"


@dataclass(frozen=True)
class ExpireWatch(WatchFault):
    """An event of type ERROR with code 410, then the end."""

    name: ClassVar[str] = "expire watch"


@dataclass(frozen=True)
class FreezeWatch(WatchFault):
    """No more bytes and no error: the connection is half open."""

    name: ClassVar[str] = "freeze watch"


@dataclass
class Rule:
    """A fault for the requests that match: `times` of them at most, each with a probability.

    Whether the n-th request of one method to one path is hit follows from the seed alone, and not from the
    order in which requests to different paths arrive.
    """

    matches: Matches
    fault: Fault
    times: int | None = None
    probability: float = 1.0
    seed: int = 0
    hits: int = 0
    _seen: Counter[Request] = field(default_factory=Counter)

    def strikes(self, request: Request) -> bool:
        if self.times is not None and self.hits >= self.times:
            return False
        if isinstance(self.fault, WatchFault) and not request.is_watch:
            return False
        if not self.matches(request) or not self._is_drawn(request):
            return False
        self.hits += 1
        return True

    def _is_drawn(self, request: Request) -> bool:
        self._seen[request] += 1
        if self.probability >= 1:
            return True
        draw = random.Random(f"{self.seed} {self.fault} {request} {self._seen[request]}")
        return draw.random() < self.probability


def anything(request: Request) -> bool:
    return True


def binds(request: Request) -> bool:
    return request.method == "POST" and request.path.endswith("/binding")


def watches(plural: str = "") -> Matches:
    """Watches of one resource, or of all."""
    return lambda request: request.is_watch and request.path.endswith(plural)


def lists(plural: str = "") -> Matches:
    """Lists of one resource, or of all."""
    return lambda request: request.method == "GET" and not request.is_watch and request.path.endswith(plural)


def writes(part: str = "") -> Matches:
    """Whatever changes something at a path with this part."""
    return lambda request: request.method not in ("GET", "HEAD") and part in request.path


def unrest(seed: int, probability: float = 0.01) -> list[Rule]:
    """A plan of everything that can go wrong with requests of every kind, each as likely as the others."""

    def rule(matches: Matches, fault: Fault) -> Rule:
        return Rule(matches, fault, probability=probability, seed=seed)

    return [
        rule(writes(), Refuse(409)),
        rule(anything, Refuse(429, retry_after=1)),
        rule(anything, Refuse(500)),
        rule(anything, Refuse(503)),
        rule(anything, Reset()),
        rule(writes(), LoseAnswer()),
        rule(anything, Delay(0.5)),
        rule(watches(), Refuse(410)),
        rule(watches(), CutWatch(after_events=20)),
        rule(watches(), ExpireWatch(after_events=20)),
    ]
