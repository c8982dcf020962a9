"""FakeClient: a FakeApi where a client is wanted, with no wire in between."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from fakes.api import Body, FakeApi
from hekla.cluster.kubernetes.api.versions import VersionWatermark


class FakeClient:
    server = "https://fake"

    def __init__(self, api: FakeApi) -> None:
        self.watermark = VersionWatermark()
        self._api = api

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        return await self.call("GET", path, params=params)

    async def post(self, path: str, body: Body) -> bytes:
        return await self.call("POST", path, body=body)

    async def patch(self, path: str, body: Body, content_type: str = "") -> bytes:
        return await self.call("PATCH", path, body=body)

    async def delete(self, path: str) -> bytes:
        return await self.call("DELETE", path)

    async def call(
        self, method: str, path: str, *, body: Any = None, params: Mapping[str, str] | None = None, **_: Any
    ) -> bytes:
        return json.dumps(await self._api.answer(method, path, body, params or {})).encode()

    async def lines(self, path: str, params: Mapping[str, str], timeout: float) -> AsyncIterator[bytes]:
        async for line in self._api.watch(path, int(params["resourceVersion"])):
            yield line
