"""Options of the process, and its log; the names are those of the scheduler of Volcano where it has them."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import socket
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from hekla.cluster.kubernetes import KubernetesOptions
from hekla.cluster.kubernetes.api.lease import LeaseOptions
from hekla.conf import BUILT_IN_DEFAULT, Conf, read_conf, require
from hekla.engine.framework.registry import Registry
from hekla.errors import ConfError, said_by
from hekla.text import escaped, escaped_json

logger = logging.getLogger("hekla.conf")


def own_identity() -> str:
    """A name that no other replica has, and that people can find."""
    return f"{os.environ.get('HOSTNAME') or socket.gethostname()}_{uuid.uuid4()}"


@dataclass(frozen=True)
class ServeOptions:
    """How the process runs; times are seconds."""

    cluster: KubernetesOptions = field(default_factory=KubernetesOptions)
    lease: LeaseOptions | None = None
    """None: there is only one replica, and it leads."""
    identity: str = field(default_factory=own_identity)
    conf_file: Path | None = None
    period: float = 1.0
    shortest_gap: float = 0.05
    """How soon after a cycle the next one may begin when something has changed."""
    metrics_address: str = ""
    health_address: str = ""
    qps: float = 2000.0
    burst: int = 2000
    timeout: float = 30.0
    drain_seconds: float = 10.0
    """How long a stopping process waits for writes that are under way."""
    with_controllers: bool = False
    plugins: tuple[str, ...] = ()
    """Plugins and actions that the command line names, as it names them."""
    record: Path | None = None
    """Where to keep every cycle; a recording that is there already is put aside."""
    record_limit: int | None = None
    """How many bytes recordings may take, about."""
    staleness_limit: float = 60.0
    """Silence of the API server after which nothing is decided: the facts may have changed."""
    stall_limit: float = 300.0
    """Time without the end of a cycle after which health says no."""


class JsonLines(logging.Formatter):
    """One object per line; messages of other people's objects are escaped by JSON itself."""

    def format(self, record: logging.LogRecord) -> str:
        said: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            said["error"] = self.formatException(record.exc_info)
        return escaped_json(json.dumps(said))


class Lines(logging.Formatter):
    """Time, level, who and what, on one line whatever the message holds."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S.%f")[:-3]
        message = record.getMessage()
        text = (
            f"{time} {record.levelname.lower():7} {record.name.removeprefix('hekla.'):8} {escaped(message)}"
        )
        if not record.exc_info:
            return text
        # Lines that are set in cannot be taken for records, whatever the exception says.
        return "\n    ".join([text, *map(escaped, self.formatException(record.exc_info).split("\n"))])


def set_up_logs(style: str, level: str) -> None:
    """Everything goes to standard error, in one style."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if style == "json" else Lines())
    root = logging.getLogger("hekla")
    root.handlers = [handler]
    root.setLevel(level.upper())
    root.propagate = False


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
        for name in sorted(self._registry.declaring(conf, lambda plugin: plugin.hands_out_devices)):
            logger.warning('plugin "%s": what it gives to pods is not written on them', name)
        return conf


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
