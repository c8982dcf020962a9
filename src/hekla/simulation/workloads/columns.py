"""Columns: which column of a table says what about a job, as `submit=SubmitTime,run=Minutes:min`."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from hekla.errors import InputError
from hekla.objects.complaint import did_you_mean, quoted
from hekla.objects.quantity import DAY

TEXTS = ("name", "namespace", "user", "queue", "priorityClass")
MOMENTS = ("submit", "start", "end")
SPANS = ("run", "estimate")
COUNTS = ("pods", "minAvailable")
AMOUNTS = ("cpu", "memory", "gpu")
KEYS = (*TEXTS, *MOMENTS, *SPANS, *COUNTS, *AMOUNTS)
"""What a column may say; besides, any resource that has a slash in its name."""

SECONDS_BY_UNIT: Mapping[str, float] = {
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": DAY,
}  # fmt: skip
TOTAL = "total"
"""Of an amount: it is that of all pods together, not of each."""
_BYTES = {
    f"{prefix}{end}": float(base**power)
    for base, infix in ((1000, ""), (1024, "i"))
    for power, letter in enumerate("KMGT", start=1)
    for prefix in [letter + infix]
    for end in ("", "B")
}
_PARTS = {"milli": 1e-3, "percent": 1e-2}
FACTORS: Mapping[str, Mapping[str, float]] = {
    "cpu": {"cores": 1.0, **_PARTS},
    "memory": {"B": 1.0, **_BYTES},
    "gpu": {"gpus": 1.0, **_PARTS},
}
"""By resource its units, and how many cores, bytes or GPUs one of them is."""
_CALLED: Mapping[str, Sequence[str]] = {
    "submit": ("submit", "arriv", "creat", "queued"),
    "start": ("start", "began", "begin"),
    "end": ("end", "finish", "complet"),
    "run": ("duration", "runtime", "run_time", "runseconds", "run_seconds", "elapsed", "wall"),
    "name": ("jobname", "job_name", "name", "jobid", "job_id", "id"),
    "queue": ("queue", "partition", "pool", "project"),
    "user": ("user", "owner"),
    "pods": ("pods", "replicas", "tasks", "nodes", "instances"),
    "cpu": ("cpu", "core", "proc", "slots"),
    "memory": ("mem", "ram"),
    "gpu": ("gpu",),
}
"""What columns are often called, in small letters."""
EXAMPLE = "submit=SubmitTime,run=Duration:min,cpu=Cores,memory=Mem:GiB"


class Column(msgspec.Struct, frozen=True):
    """One column: its name in the header, and how its cells are meant."""

    name: str
    unit: str = ""
    is_total: bool = False
    """Whether an amount is that of all pods together."""


Columns = Mapping[str, Column]
"""By what they say."""


def columns_in(texts: Iterable[str]) -> dict[str, Column]:
    """The columns that are named on the command line."""
    found: dict[str, Column] = {}
    for part in _parts(texts):
        key, equals, said = (piece.strip() for piece in part.partition("="))
        if not (key and equals and said):
            raise InputError(f'columns: {quoted(part)} names no column; write it like "{EXAMPLE}"')
        if not _is_key(key):
            near = did_you_mean(key, KEYS) or f"; known are {', '.join(KEYS)}, and resources with a slash"
            raise InputError(f"columns: no key {quoted(key)}{near}")
        if key in found:
            raise InputError(f"columns: {quoted(key)} is given twice")
        found[key] = column_of(key, said)
    for needed in ("submit", "start"):
        if needed in found:
            return found
    raise InputError(f'columns: "submit" is missing: when jobs arrive; write it like "{EXAMPLE}"')


def _parts(texts: Iterable[str]) -> Iterator[str]:
    """What stands between commas; a name with commas in it stands in quotes."""
    for text in texts:
        yield from (part for part in next(csv.reader([text], skipinitialspace=True), ()) if part.strip())


def _is_key(key: str) -> bool:
    return key in KEYS or "/" in key


def column_of(key: str, said: str) -> Column:
    """The column that `NAME`, `NAME:UNIT` or `NAME:UNIT:total` means for a key."""
    name, *words = said.split(":")
    units = units_for(key)
    unit, is_total = "", False
    for word in words:
        if word == TOTAL and is_amount(key):
            is_total = True
        elif word in units:
            unit = word
        else:
            known = [*units, *([TOTAL] if is_amount(key) else [])]
            hint = did_you_mean(word, known) or (
                f"; known are {', '.join(known)}" if known else "; it has none"
            )
            raise InputError(f"columns: {key}={said}: no unit {quoted(word)}{hint}")
    return Column(name, unit, is_total)


def units_for(key: str) -> Collection[str]:
    if key in (*MOMENTS, *SPANS):
        return SECONDS_BY_UNIT
    return FACTORS.get(key, ())


def is_amount(key: str) -> bool:
    return key in AMOUNTS or "/" in key


def factor_of(key: str, column: Column) -> float:
    """How many cores, bytes or pieces a number in the column is."""
    return FACTORS[key][column.unit] if column.unit else 1.0


def suggested(names: Sequence[str]) -> str:
    """What `--columns` may be for a table with these columns, as far as they are called as usual."""
    found: dict[str, str] = {}
    for key, words in _CALLED.items():
        free = [name for name in names if name not in found.values() and not set(name) & set(",:=")]
        hits = (name for word in words for name in free if word in name.lower())
        if hit := next(hits, ""):
            found[key] = hit
    has_times = {"submit", "start"} & found.keys() and ("run" in found or {"start", "end"} <= found.keys())
    return ",".join(f"{key}={name}" for key, name in found.items()) if has_times else EXAMPLE
