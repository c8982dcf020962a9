"""Typed arguments: how plugins and actions declare what they can be told, and how it is read.

    @dataclass(frozen=True)
    class BinpackArguments:
        weight: int = argument(1, key="binpack.weight", help="how much the score counts")
        per_resource: Mapping[str, int] = arguments_by_prefix(
            "binpack.resources.", {}, help="weight of the resource", minimum=0
        )

A bad value is told and the default stays, as in Volcano; nothing stops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import lru_cache
from typing import Any, TypeVar, get_args, get_type_hints

from hekla.conf.kinds import ValueKind, kind_of, written
from hekla.conf.model import Mistake, did_you_mean, under, warning
from hekla.errors import HeklaError, PluginError
from hekla.objects.complaint import quoted, spoken

Value = TypeVar("Value")
Arguments = TypeVar("Arguments")
Check = Callable[[Any], object]


@dataclass(frozen=True)
class Declared:
    """What `argument` and `arguments_by_prefix` say about a field."""

    key: str
    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: Sequence[object] | None = None
    aliases: Sequence[str] = ()
    check: Check | None = None
    is_prefix: bool = False

    @property
    def range(self) -> str:
        """The bounds as words: `from 0 to 100`, `at least 1`, `one of "a", "b"`; or empty."""
        if self.choices is not None:
            return "one of " + ", ".join(f'"{choice}"' for choice in self.choices)
        if self.minimum is not None and self.maximum is not None:
            return f"from {self.minimum} to {self.maximum}"
        if self.minimum is not None:
            return f"at least {self.minimum}"
        return "" if self.maximum is None else f"at most {self.maximum}"

    def allows(self, value: object) -> bool:
        """Whether the value, or each value inside it, keeps to the range."""
        if isinstance(value, Mapping):
            return all(self.allows(item) for item in value.values())
        if isinstance(value, tuple):
            return all(self.allows(item) for item in value)
        if self.choices is not None and value not in self.choices:
            return False
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return not is_number or self._bounds(value)

    def _bounds(self, number: Any) -> bool:
        return not (
            (self.minimum is not None and number < self.minimum)
            or (self.maximum is not None and number > self.maximum)
        )


def argument(
    default: Value,
    *,
    key: str,
    help: str,  # noqa: A002 - the word users of argparse and click know
    minimum: float | None = None,
    maximum: float | None = None,
    choices: Sequence[object] | None = None,
    aliases: Sequence[str] = (),
    check: Check | None = None,
) -> Value:
    """A dataclass field read from `key`; `check` raises ValueError or HeklaError saying what it expects."""
    return _declared(default, Declared(key, help, minimum, maximum, choices, aliases, check))


def arguments_by_prefix(
    prefix: str,
    default: Value,
    help: str,  # noqa: A002 - the word users of argparse and click know
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    choices: Sequence[object] | None = None,
    check: Check | None = None,
) -> Value:
    """A Mapping field that collects the keys `<prefix>.<name>` under their names."""
    prefix = prefix.removesuffix(".") + "."
    return _declared(default, Declared(prefix, help, minimum, maximum, choices, (), check, is_prefix=True))


def _declared(default: Value, declared: Declared) -> Value:
    metadata = {Declared: declared}
    if isinstance(default, Mapping | list):
        return field(default_factory=lambda: copy(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Slot:
    """A declared field, ready to read values."""

    name: str
    declared: Declared
    kind: ValueKind
    default: Any

    @property
    def expects(self) -> str:
        """What a value must be, as a message says it."""
        if self.declared.choices is not None:
            return self.declared.range
        return f"{self.kind.expects} {self.declared.range}".rstrip()

    def read(self, value: object) -> Any:
        """The typed value; raises ValueError with what was expected instead."""
        refusal = ValueError(f"expected {self.expects}, got {spoken(value)}")
        try:
            typed = self.kind.read(value)
        except ValueError:
            raise refusal from None
        if not self.declared.allows(typed):
            raise refusal
        if self.declared.check is not None:
            self.declared.check(typed)
        return typed


@lru_cache(maxsize=256)
def slots_of(cls: type) -> tuple[Slot, ...]:
    """The declared arguments of an Arguments class, in order."""
    hints = get_type_hints(cls)
    return tuple(_slot(part, hints[part.name]) for part in fields(cls) if Declared in part.metadata)


def _slot(part: Field[Any], annotation: Any) -> Slot:
    declared: Declared = part.metadata[Declared]
    default = part.default if part.default_factory is MISSING else part.default_factory()
    if declared.is_prefix:
        inside = get_args(annotation)
        if len(inside) != 2:
            raise PluginError(
                f'argument "{declared.key}<name>" must be a Mapping[str, ...], not {annotation}'
            )
        return Slot(part.name, declared, kind_of(inside[1]), default)
    return Slot(part.name, declared, kind_of(annotation), default)


@dataclass
class Accepted:
    """Arguments sorted out: by field for the dataclass, by key for the Conf, and what was wrong."""

    where: str
    by_field: dict[str, Any] = field(default_factory=dict)
    by_key: dict[str, Any] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)

    def complain(self, key: str, message: str) -> None:
        self.mistakes.append(warning(under(self.where, key), message))

    def take(self, slot: Slot, key: str, value: object) -> None:
        """Keep a good value; of a bad one tell what was expected."""
        declared = slot.declared
        try:
            typed = slot.read(value)
        except (ValueError, HeklaError) as problem:
            stays = "it is ignored" if declared.is_prefix else f"the default {written(slot.default)} stays"
            self.complain(key, f"{problem}; {stays}")
            return
        if declared.is_prefix:
            self.by_key[key] = typed
            collected = self.by_field.setdefault(slot.name, dict(slot.default))
            collected[key.removeprefix(declared.key)] = typed
        else:
            self.by_key[declared.key] = self.by_field[slot.name] = typed


def read_arguments(
    cls: type[Arguments], raw: Mapping[str, object], where: str
) -> tuple[Arguments, list[Mistake]]:
    """An instance of `cls` with every good value of `raw`, defaults for the rest, and the mistakes."""
    accepted = accept_arguments(cls, raw, where)
    return cls(**accepted.by_field), accepted.mistakes


def accept_arguments(cls: type, raw: Mapping[str, object], where: str) -> Accepted:
    """The good values of `raw`, under the field names and under the keys that Volcano reads."""
    accepted, slots = Accepted(where), slots_of(cls)
    for key, value in raw.items():
        slot = _slot_for(slots, key)
        if slot is None:
            known = [slot.declared.key for slot in slots]
            hint = did_you_mean(key, known) if known else "; it takes none"
            accepted.complain(key, f"no argument {quoted(key)}{hint}")
            continue
        is_alias = key in slot.declared.aliases
        if is_alias:
            proper = quoted(slot.declared.key)
            accepted.complain(key, f"{quoted(key)} is not a key that Volcano reads; write {proper}")
        if not (is_alias and slot.declared.key in raw):
            accepted.take(slot, key, value)
    return accepted


def _slot_for(slots: Sequence[Slot], key: str) -> Slot | None:
    """The slot of a key: its own name or an alias first, then the longest prefix."""
    for slot in slots:
        if not slot.declared.is_prefix and key in (slot.declared.key, *slot.declared.aliases):
            return slot
    prefixed = [s for s in slots if s.declared.is_prefix and key.startswith(s.declared.key)]
    fitting = [slot for slot in prefixed if len(key) > len(slot.declared.key)]
    return max(fitting, key=lambda slot: len(slot.declared.key), default=None)


@dataclass(frozen=True)
class ArgumentRow:
    """One argument as a reference page or `--help` prints it."""

    key: str
    type: str
    default: str
    range: str
    help: str


def describe_arguments(cls: type) -> list[ArgumentRow]:
    """A row for each argument that the class declares."""
    return [
        ArgumentRow(
            f"{slot.declared.key}<name>" if slot.declared.is_prefix else slot.declared.key,
            slot.kind.name,
            written(slot.default),
            slot.declared.range,
            slot.declared.help,
        )
        for slot in slots_of(cls)
    ]


def effective_arguments(cls: type, given: Mapping[str, object]) -> Iterator[tuple[str, object, bool]]:
    """Every key with the value that is in effect, and whether that is the default."""
    accepted = accept_arguments(cls, given, "")
    for slot in slots_of(cls):
        value = accepted.by_field.get(slot.name, slot.default)
        if slot.declared.is_prefix:
            for name, item in value.items():
                key = slot.declared.key + name
                yield key, item, key not in accepted.by_key
        else:
            yield slot.declared.key, value, slot.declared.key not in accepted.by_key
