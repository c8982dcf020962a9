"""Access: where a server is and how it knows its caller; and the loop in which callers' requests run."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import aiohttp

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Access:
    server: str
    token: str
    certificate: Path

    def session(self, in_flight: int = 64, timeout: float = 60.0) -> aiohttp.ClientSession:
        """Connections to the server; to be opened inside a running loop."""
        trust = ssl.create_default_context(cafile=self.certificate)
        return aiohttp.ClientSession(
            self.server,
            headers={"Authorization": f"Bearer {self.token}"},
            connector=aiohttp.TCPConnector(limit=in_flight, ssl=trust),
            timeout=aiohttp.ClientTimeout(total=timeout),
        )

    def kubeconfig(self, user: str) -> dict[str, Any]:
        cluster = {"server": self.server, "certificate-authority": str(self.certificate)}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": self.token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}],
            "current-context": "test",
        }


class Background:
    """An asyncio loop in a thread of its own, for callers that would rather wait."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        return self.begin(work).result()

    def begin(self, work: Coroutine[Any, Any, Answer]) -> Future[Answer]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """Cancel what still runs, then end the thread."""
        if self._loop.is_closed():
            return
        self.run(_cancel_the_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_the_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.sleep(0.05)  # connections need some turns of the loop to close
