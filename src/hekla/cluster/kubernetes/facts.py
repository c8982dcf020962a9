"""Facts: the objects as the API server told of them last.

Events may come twice, late, or in another order than things happened: by version, what is older than what
is known changes nothing.
"""

from __future__ import annotations

import logging

from hekla.cluster.store import Store
from hekla.objects import Manifest
from hekla.objects.complaint import Complaint

logger = logging.getLogger("hekla.cluster")
MOST_COMPLAINTS = 10_000


class Facts:
    """Keeps the store at the newest that was heard of."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._told: set[Complaint] = set()

    def put(self, manifest: Manifest, *, is_listed: bool = False) -> None:
        known = self.store.get(type(manifest), manifest.key)
        if known is not None and not is_listed and is_older(manifest, known):
            return
        if known is not None and known.metadata.uid != manifest.metadata.uid:
            self.store.remove(known)
        self.store.put(manifest)

    def drop(self, kind: type[Manifest], key: str, uid: str = "") -> None:
        known = self.store.get(kind, key)
        if known is not None and (not uid or known.metadata.uid == uid):
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
    mine, theirs = manifest.metadata.resource_version, known.metadata.resource_version
    return mine.isdecimal() and theirs.isdecimal() and int(mine) < int(theirs)
