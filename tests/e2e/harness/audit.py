"""AuditLog: the requests of plain users, as the API server itself writes them down.

Whole where evictions and leadership are judged by them; of all others only who asked for what, and what
became of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from harness.kinds import Object


@dataclass(frozen=True)
class Audited:
    """A request that was answered; `sent` and `answer` are empty where the log keeps no bodies."""

    user: str
    verb: str
    resource: str
    namespace: str = ""
    name: str = ""
    group: str = ""
    code: int = 200
    received: float = 0.0
    agent: str = "hekla"
    sent: Object = field(default_factory=dict)
    answer: Object = field(default_factory=dict)

    @property
    def title(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def is_done(self) -> bool:
        return 200 <= self.code < 300


class AuditLog:
    """Grows as long as the API server lives, and goes on where it is started again."""

    def __init__(self, folder: Path, users: Iterable[str]) -> None:
        self.policy = folder / "audit-policy.json"
        self.file = folder / "audit.log"
        self.policy.write_text(json.dumps(_policy(list(users))))

    def flags(self) -> list[str]:
        """What the API server is told; the log is never cut off, for tests read all of it."""
        return [
            f"--audit-policy-file={self.policy}",
            f"--audit-log-path={self.file}",
            "--audit-log-maxsize=4096",
        ]

    def position(self) -> int:
        """Where the log ends now; to be handed to `read`."""
        return self.file.stat().st_size if self.file.exists() else 0

    def read(self, since: int = 0) -> Iterator[Audited]:
        """What was asked since a position; a line that is still being written is left for the next time."""
        if not self.file.exists():
            return
        with self.file.open("rb") as lines:
            lines.seek(since)
            for line in lines:
                if line.endswith(b"\n"):
                    yield audited(json.loads(line))


def audited(entry: Object) -> Audited:
    """One line of the log."""
    target = entry.get("objectRef") or {}
    parts = (target.get("resource", ""), target.get("subresource", ""))
    received = datetime.fromisoformat(entry["requestReceivedTimestamp"])
    return Audited(
        user=entry["user"]["username"],
        verb=entry["verb"],
        resource="/".join(filter(None, parts)),
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        group=target.get("apiGroup", ""),
        code=(entry.get("responseStatus") or {}).get("code", 0),
        received=received.timestamp(),
        agent=entry.get("userAgent", ""),
        sent=entry.get("requestObject") or {},
        answer=entry.get("responseObject") or {},
    )


def _policy(users: list[str]) -> Object:
    evictions = {"group": "", "resources": ["pods", "pods/eviction"]}
    leases = {"group": "coordination.k8s.io", "resources": ["leases"]}
    rules = [
        {"level": "Metadata", "users": users, "verbs": ["get", "list", "watch"]},
        {"level": "RequestResponse", "users": users, "resources": [evictions]},
        {"level": "Request", "users": users, "resources": [leases]},
        {"level": "Metadata", "users": users},
        {"level": "None"},
    ]
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": rules,
    }
