"""The configuration file, read again when it changes; a bad one is refused, and the last good one stays."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from pathlib import Path

from hekla.conf import BUILT_IN_DEFAULT, Conf, read_conf, require
from hekla.engine.framework.registry import Registry
from hekla.errors import ConfError, said_by

logger = logging.getLogger("hekla.conf")
UNWRITTEN = {"deviceshare", "numa-aware"}
"""Plugins whose decisions a node's own tools read from annotations, which hekla does not write."""


class ConfFile:
    """What the file says; without a file, the configuration that is built in.

    Its content is compared, not its time: a mounted ConfigMap changes by swapping a link.
    """

    def __init__(self, path: Path | None, registry: Registry) -> None:
        self._path = path
        self._registry = registry
        text = self._read()
        self._text: str | None = text
        """What was read last; None where the file could not be read since."""
        self.conf = self._understood(text)
        self.hash = _hash(text)
        self.is_good = True
        self.mistake = ""
        self.reloads = 0

    def refresh(self, use: Callable[[Conf], None] = lambda _conf: None) -> bool:
        """Take in a changed file; whether another configuration holds from now on.

        `use` is called with it first, and may refuse it by a PluginError; whatever fails, the old one stays.
        """
        if self._path is None:
            return False
        try:
            before, self._text = self._text, None
            self._text = text = self._read()
            if text == before:
                return False
            conf = self._understood(text)
            use(conf)
        except Exception as error:
            self._refuse(said_by(error))
            return False
        self.conf, self.hash, self.is_good, self.mistake = conf, _hash(text), True, ""
        self.reloads += 1
        logger.info("configuration %s taken: %s", self._path, self.hash)
        return True

    def _refuse(self, mistake: str) -> None:
        if mistake != self.mistake:
            logger.error("configuration %s refused, the last good one stays: %s", self._path, mistake)
        self.is_good, self.mistake = False, mistake

    def _read(self) -> str:
        if self._path is None:
            return BUILT_IN_DEFAULT
        try:
            return self._path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise ConfError(f'cannot read "{self._path}": {reason}') from error

    def _understood(self, text: str) -> Conf:
        reading = read_conf(text, str(self._path or "default"), self._registry.catalogue())
        conf = require(reading, strict=False)
        for mistake in reading[1]:
            logger.warning("%s", mistake)
        for name in sorted({entry.name for entry in conf.plugins} & UNWRITTEN):
            logger.warning('plugin "%s": what it gives to pods is not written on them', name)
        return conf


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
