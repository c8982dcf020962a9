"""Facts: the objects as the API server told of them last.

Events may come twice, late, or in another order than things happened: by version, what is older than what
is known changes nothing. Where the server does not know an object that is known here, mostly the event that
it is gone is on its way. If it does not come, the server has another history than was heard of, restored from
a backup perhaps: then everything is listed anew.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable

from hekla.cluster.store import Store
from hekla.objects import Manifest
from hekla.objects.complaint import Complaint

logger = logging.getLogger("hekla.cluster")
MOST_COMPLAINTS = 10_000
MOST_GONE = 4096


class Facts:
    """Keeps the store at the newest that was heard of."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._told: set[Complaint] = set()
        self._gone: OrderedDict[str, None] = OrderedDict()

    def put(self, manifest: Manifest, *, listed_at: int | None = None) -> None:
        """The object looks like this; in a list it did so at that version, and may have changed since."""
        known = self.store.get(type(manifest), manifest.key)
        if listed_at is None:
            # The answer to a write may come after the event that the object is gone.
            if manifest.metadata.uid in self._gone or (known is not None and is_older(manifest, known)):
                return
        elif known is not None and version_of(known) > listed_at:
            return
        if known is not None and known.metadata.uid != manifest.metadata.uid:
            self._remove(known)
        self.store.put(manifest)

    def drop(self, kind: type[Manifest], key: str, uid: str = "", *, listed_at: int | None = None) -> None:
        """The object is gone; one that is newer than the list that lacks it is not."""
        known = self.store.get(kind, key)
        if known is None or (uid and known.metadata.uid != uid):
            return
        if listed_at is None or version_of(known) <= listed_at:
            self._remove(known)

    def _remove(self, known: Manifest) -> None:
        self._gone[known.metadata.uid] = None
        if len(self._gone) > MOST_GONE:
            self._gone.popitem(last=False)
        self.store.remove(known)

    def keys(self, kind: type[Manifest]) -> set[str]:
        return set(self.store.by_key(kind))

    def complain(self, complaint: Complaint) -> None:
        """Told once, however often it is seen."""
        if complaint in self._told:
            return
        if len(self._told) >= MOST_COMPLAINTS:
            self._told.clear()
        self._told.add(complaint)
        logger.warning("%s", complaint)


def is_older(manifest: Manifest, known: Manifest) -> bool:
    return 0 < version_of(manifest) < version_of(known)


def version_of(manifest: Manifest) -> int:
    """0 where it has none that can be compared."""
    version = manifest.metadata.resource_version
    return int(version) if version.isdecimal() else 0


class MissingObjectCheck:
    """Calls `start_over` once an object proves to be missing and no event has said so."""

    def __init__(self, store: Store, start_over: Callable[[], None], grace: float = 3.0) -> None:
        self._store = store
        self._start_over = start_over
        self._grace = grace
        self._timer: asyncio.TimerHandle | None = None

    def missing(self, kind: type[Manifest], key: str) -> None:
        """The server says that there is no such object; one check at a time is enough."""
        known = self._store.get(kind, key)
        if known is not None and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._grace, self._look_again, known)

    def _look_again(self, known: Manifest) -> None:
        self._timer = None
        if self._store.get(type(known), known.key) is known:
            word = type(known).__name__.lower()
            logger.warning("%s %s: is gone without an event; everything is listed anew", word, known.key)
            self._start_over()
