"""Safe text: text from files and clusters, made fit to be printed.

Names, labels, annotations and messages may hold what moves a cursor, rings a bell, hides or turns around what
stands beside it. Whatever cannot be seen is written out instead: `\\x1b`, `\\u202e`.
"""

from __future__ import annotations

import re

_UNSEEN = re.compile(r"[^\n\x20-\x7e]")


def escaped(text: str) -> str:
    """The text on one line, with everything in it to be seen."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _written(char) for char in text)


def escaped_lines(text: str) -> str:
    """The same, line by line."""
    return "\n".join(map(escaped, text.split("\n")))


def escaped_json(text: str) -> str:
    """The JSON text with everything in it to be seen; it means what it meant."""
    return _UNSEEN.sub(lambda found: found[0] if found[0].isprintable() else _in_json(found[0]), text)


def _written(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def _in_json(char: str) -> str:
    """As pairs of surrogates where one unit of 16 bits is not enough."""
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
