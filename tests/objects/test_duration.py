from __future__ import annotations

from datetime import timedelta

import pytest

from hekla.errors import InputError
from hekla.objects.quantity import read_duration, read_seconds, write_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1h30m", 5400),
        ("500ms", 0.5),
        ("1.5s", 1.5),
        (".5m", 30),
        ("-10s", -10),
        ("+10s", 10),
        ("0", 0),
        ("2us", 2e-6),
        ("2µs", 2e-6),
        ("3ns", 3e-9),
    ],
)
def test_a_duration_is_numbers_with_units(text: str, seconds: float) -> None:
    assert read_seconds(text) == pytest.approx(seconds)
    assert read_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "10", "s", "1h 30m", "soon", "1d", "-+5s", "--5s", "1h-30m"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a duration"):
        read_seconds(text)


@pytest.mark.parametrize(
    ("seconds", "text"), [(5, "5s"), (65, "1m5s"), (3600, "1h0m0s"), (-65, "-1m5s"), (0.9, "0s")]
)
def test_a_span_is_written_in_whole_seconds(seconds: float, text: str) -> None:
    assert write_duration(timedelta(seconds=seconds)) == text
