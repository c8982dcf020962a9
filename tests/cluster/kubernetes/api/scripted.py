"""A client that answers from a script, and remembers what it was asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from hekla.cluster.kubernetes.api.client import Refused
from hekla.cluster.kubernetes.api.versions import VersionWatermark

Answer = dict[str, Any] | bytes | Exception


class ScriptedClient:
    """`answers` are given one after the other; those by path, where the path is known, before."""

    server = "https://scripted"

    def __init__(self, *answers: Answer, by_path: Mapping[str, Answer] | None = None) -> None:
        self.watermark = VersionWatermark()
        self._answers = list(answers)
        self._by_path = dict(by_path or {})
        self.asked: list[tuple[str, str]] = []
        self.bodies: list[Any] = []
        self.params: list[Mapping[str, str]] = []

    async def call(self, method: str, path: str, body: Any = None) -> bytes:
        self.asked.append((method, path))
        self.bodies.append(body)
        answer = self._by_path.get(path) or self._next()
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, bytes) else json.dumps(answer).encode()

    def _next(self) -> Answer:
        return self._answers.pop(0) if self._answers else Refused(500, "Silent", "the script is over")

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        self.params.append(params or {})
        return await self.call("GET", path)

    async def post(self, path: str, body: Any) -> bytes:
        return await self.call("POST", path, body)

    async def put(self, path: str, body: Any) -> bytes:
        return await self.call("PUT", path, body)

    async def patch(self, path: str, body: Any, content_type: str = "") -> bytes:
        return await self.call("PATCH", path, body)

    async def delete(self, path: str) -> bytes:
        return await self.call("DELETE", path)

    async def lines(self, path: str, params: Mapping[str, str], timeout: float) -> AsyncIterator[bytes]:
        self.asked.append(("WATCH", path))
        self.params.append(params)
        answer = self._next()
        if isinstance(answer, Exception):
            raise answer
        script = answer if isinstance(answer, list) else [answer]
        for line in script:
            if isinstance(line, Exception):
                raise line
            yield line if isinstance(line, bytes) else json.dumps(line).encode()
