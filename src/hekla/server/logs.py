"""Logs: a line that a person can read, or one JSON object per line."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

from hekla.safe_text import escaped, escaped_json


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
