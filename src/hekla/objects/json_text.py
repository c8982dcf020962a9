"""JSON as text: what decoders pass over silently, or give up at.

They keep the last of two values under one key, stop at a lone half of a surrogate pair, and recurse. All of
this is looked at here token by token, and only where a decoder has failed or something is amiss.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import msgspec

from hekla.objects.documents import DEEPEST

NOT_JSON = (msgspec.MsgspecError, RecursionError, UnicodeError)
T = TypeVar("T")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"(\s*:)?|[{}\[\]]', re.DOTALL)
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)
_NO_NUMBER = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<word>-?(?:NaN|Infinity))', re.DOTALL)
_BRACKET = ord("[")
_OBJECT: msgspec.json.Decoder[Mapping[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST: msgspec.json.Decoder[list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw])


def leniently(decode: Callable[[str], T], text: str) -> T:
    """What the text decodes to; raises one of NOT_JSON where nothing helps."""
    try:
        return decode(text)
    except NOT_JSON:
        return decode(mended(text))


def mended(text: str) -> str:
    """The text in a form that decoders take, so that what is wrong in one object spoils no other.

    Lone halves of surrogate pairs are replaced, as Go's reader does; numbers that are none become texts,
    which fit no field; and what is nested too deep becomes null: no field that is read lies there.
    """
    text = _ESCAPE.sub(lambda found: "\\ufffd" if found["lone"] else found[0], text)
    text = _NO_NUMBER.sub(lambda found: f'"{found[0]}"' if found["word"] else found[0], text)
    return _shallow(text)


def _shallow(text: str) -> str:
    parts, depth, end = [], 0, 0
    for token in _TOKEN.finditer(text):
        if token[0] in ("{", "["):
            depth += 1
            if depth == DEEPEST + 1:
                parts += [text[end : token.start()], "null"]
        elif token[0] in ("}", "]"):
            depth -= 1
            if depth == DEEPEST:
                end = token.end()
    return "".join((*parts, text[end:])) if parts else text


def repeated_keys(text: str) -> Iterator[tuple[int, str]]:
    """Keys that one object gives more than once, with the line of the later one."""
    open_keys: list[set[str]] = []
    line = 1
    seen = 0
    for token in _TOKEN.finditer(text):
        if token[0] in ("{", "["):
            open_keys.append(set())
        elif token[0] in ("}", "]"):
            open_keys.pop()
        elif token[1] is not None:
            key = json.loads(token[0].rstrip(": \t\r\n"), strict=False)
            if key in open_keys[-1]:
                line, seen = line + text.count("\n", seen, token.start()), token.start()
                yield line, key
            open_keys[-1].add(key)


def may_repeat_keys(document: bytes | msgspec.Raw) -> bool:
    """Whether some key of a document, or of the objects that it lists, may be given twice; quick to tell."""
    try:
        return _repeats_keys(document)
    except NOT_JSON:
        return True


def _repeats_keys(document: bytes | msgspec.Raw) -> bool:
    members = _OBJECT.decode(document)
    if _colons(document) != len(members) + sum(map(_colons, members.values())):
        return True
    return any(
        _loses_keys(part)
        for value in members.values()
        for part in (_LIST.decode(value) if memoryview(value)[0] == _BRACKET else (value,))
    )


def _colons(part: bytes | msgspec.Raw) -> int:
    """How many keys the part has; texts may hold what looks like one, but do so wherever they stand."""
    return msgspec.json.format(bytes(part), indent=-1).count(b'":')


def _loses_keys(part: msgspec.Raw) -> bool:
    data = bytes(part)
    kept = msgspec.json.encode(msgspec.json.decode(data))
    return _colons(data) != kept.count(b'":') or b"\\u0022" in data
