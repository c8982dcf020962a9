"""Rules for the rows about actions, plugins, their arguments, switches and extension points."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compat_page import Row
from compat_words import PARTS

from hekla.conf import SWITCHES, ArgumentRow, describe_arguments, read_arguments
from hekla.engine.actions import BUILTIN_ACTIONS
from hekla.engine.framework.action import Action
from hekla.engine.framework.plugin import Plugin
from hekla.engine.framework.points import POINTS

Problems = Iterator[str]

NO_EFFECT = ("no effect", "accepted for Volcano's sake")
"""How the help of an argument begins that changes nothing."""
VERDICTS = ("same", "accepted without effect", "hekla's own", "different", "a feature gate of the process")


def argument_of(part: str, key: str) -> ArgumentRow | None:
    rows = describe_arguments(PARTS[part].Arguments)
    return next((row for row in rows if row.key == key), None)


def check_argument(row: Row) -> Problems:
    keys, parts = row.names, row.cells[1].split(", ")
    if not row.remark.startswith(VERDICTS):
        yield f"begins with none of {VERDICTS}"
    if parts == ["all of these"]:
        yield from check_other_spelling(keys)
        return
    for part, key in ((part, key) for part in parts for key in keys):
        known = argument_of(part, key) if part in PARTS else None
        if known is None:
            yield f"{part} has no argument {key}"
        else:
            yield from check_effect(row, known)


def check_effect(row: Row, known: ArgumentRow) -> Problems:
    says_none = "without effect" in row.remark
    if says_none != known.help.startswith(NO_EFFECT):
        yield f"{known.key}: the program's help says something else about its effect: {known.help}"
    if re.search(r"hekla's own, off|off by default", row.remark) and known.default != "false":
        yield f"{known.key} is not off by default"
    if re.search(r"(?<!as )\b(on|true) by default", row.remark) and known.default != "true":
        yield f"{known.key} is not on by default"


def check_other_spelling(keys: list[str]) -> Problems:
    """Understood, with a warning, by every action that has the argument under its right name."""
    having = [part for part in BUILTIN_ACTIONS if argument_of(part, "predicateErrorCacheEnable")]
    for part, key in ((part, key) for part in having for key in keys):
        arguments, mistakes = read_arguments(BUILTIN_ACTIONS[part].Arguments, {key: False}, part)
        if arguments.error_cache or len(mistakes) != 1:
            yield f"{part} does not understand {key} with one warning"


def check_part(row: Row) -> Problems:
    if row.subject not in PARTS:
        yield "the program has none of this name"
    if row.cells[1] != "yes":
        yield "is there, and the table does not say yes"


GUARDING = {switch for point in POINTS for switch in point.switches}


def check_switch(row: Row) -> Problems:
    known = {switch.key: switch for switch in SWITCHES}
    for key in row.names:
        if key not in known:
            yield f"the program has no switch {key}"
        elif "without effect" in row.remark:
            yield from [f"{key} guards an extension point"] if key in GUARDING else []
        elif known[key].default == ("off by default" in row.remark):
            yield f"{key} is {'on' if known[key].default else 'off'} by default"
        elif not (key in GUARDING or all(name in known[key].guards for name in plugins_in(row.remark))):
            yield f"{key} guards something else: {known[key].guards}"


def plugins_in(text: str) -> list[str]:
    """The plugins that are named, or one that is none."""
    return [name for name in PARTS if re.search(rf"\b{name}\b", text)] or ["no plugin"]


def plain(name: str) -> str:
    """`SubJobOrder` and `sub-job order` alike."""
    return re.sub("[ -]", "", name).lower()


def check_point(row: Row) -> Problems:
    theirs, ours = ([name.strip("`") for name in cell.split(", ")] for cell in row.cells[:2])
    points = {point.name: point for point in POINTS}
    if (ours == ["-"]) != row.remark.startswith("not there"):
        yield "what is not there, and only that, has a dash on hekla's side"
    if (theirs == ["-"]) != row.remark.startswith("hekla's own"):
        yield "what is hekla's own, and only that, has a dash on Volcano's side"
    for name in ours:
        point = points.get(name)
        if point is None:
            is_there = name == "-" or hasattr(Plugin, name) or hasattr(Action, name)
            yield from () if is_there else [f"there is no extension point {name}"]
        elif "cannot be switched off" in row.remark and point.switches:
            yield f"{name} has a switch"
        elif theirs != ["-"] and not any(plain(one).startswith(plain(name)) for one in theirs):
            yield f"{name} is none of {theirs}"
