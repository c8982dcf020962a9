"""Following: a cluster that is kept up to date and never written to. It has nothing to write with."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hekla.cluster.kubernetes.api.client import Client
from hekla.cluster.kubernetes.api.reading import INDISPENSABLE
from hekla.cluster.kubernetes.api.reflector import Reflector, WatchPatience
from hekla.cluster.kubernetes.api.resources import RESOURCES
from hekla.cluster.kubernetes.cluster import WATCHED
from hekla.cluster.kubernetes.facts import Facts
from hekla.cluster.store import Store
from hekla.errors import ClusterError
from hekla.objects import Manifest

GLANCE = 0.1


class Follower:
    """The objects behind the client, in `store`, for as long as `run` runs."""

    def __init__(
        self,
        client: Client,
        kinds: Sequence[type[Manifest]] = WATCHED,
        *,
        patience: WatchPatience | None = None,
    ) -> None:
        self.store = Store()
        self.facts = Facts(self.store)
        self.reflectors = {
            kind: Reflector(client, RESOURCES[kind], kind, self.facts, patience=patience) for kind in kinds
        }

    async def run(self) -> None:
        """For ever; trouble is waited out."""
        async with asyncio.TaskGroup() as group:
            for reflector in self.reflectors.values():
                group.create_task(reflector.run())

    async def synced(self, seconds: float = 60.0) -> list[str]:
        """Wait until every kind has been listed; what had to be gone without, in words.

        Raises ClusterError where a kind that no scheduler can do without is not to be had in time.
        """
        lacking = set(self.reflectors)
        try:
            async with asyncio.timeout(seconds):
                while lacking := {kind for kind in lacking if not self._is_there(kind)}:
                    if self._is_hopeless(lacking):
                        break
                    await asyncio.sleep(GLANCE)
        except TimeoutError:
            pass
        for kind, reflector in self.reflectors.items():
            health = reflector.health
            if kind in INDISPENSABLE and (health.is_absent or not health.synced.is_set()):
                trouble = "not defined on this cluster" if health.is_absent else health.trouble
                raise ClusterError(f"{RESOURCES[kind].plural}: {trouble or 'no answer in time'}")
        return [f"{RESOURCES[kind].plural}: {self.reflectors[kind].health.trouble}" for kind in lacking]

    def _is_there(self, kind: type[Manifest]) -> bool:
        return self.reflectors[kind].health.synced.is_set()

    def _is_hopeless(self, lacking: set[type[Manifest]]) -> bool:
        """All that is lacking was refused twice; waiting longer does not help."""
        return all(self.reflectors[kind].health.breaks >= 2 for kind in lacking)

    def trouble(self, after: float) -> str:
        """Why the server has not been heard of for so many seconds, if it has not."""
        health_by_kind = [self.reflectors[kind].health for kind in self.reflectors if self._is_there(kind)]
        silent = [health.trouble for health in health_by_kind if health.is_stale(after)]
        return silent[0] if silent else ""
