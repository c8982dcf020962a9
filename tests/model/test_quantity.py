"""Quantities: what people write, as whole numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hekla.errors import InputError
from hekla.model.resources import canonical
from hekla.objects.quantity import exact, milli, whole


@pytest.mark.parametrize(
    ("written", "in_whole", "in_milli"),
    [
        ("2", 2, 2000),
        (2, 2, 2000),
        (0.5, 1, 500),
        ("500m", 1, 500),
        ("1Ki", 1024, 1024000),
        ("1k", 1000, 1000000),
        ("1e3", 1000, 1000000),
        ("1E3", 1000, 1000000),
        ("1.5Gi", 1610612736, 1610612736000),
        ("100u", 1, 1),
        ("1n", 1, 1),
        ("0", 0, 0),
        (".5", 1, 500),
        ("+1", 1, 1000),
    ],
)
def test_what_people_write(written: str | float, in_whole: int, in_milli: int) -> None:
    assert (whole(written), milli(written)) == (in_whole, in_milli)


@pytest.mark.parametrize("written", ["", "lots", "1 Gi", "1GB", "--1", "0x10", "1e", "NaN", "inf", True])
def test_what_is_no_quantity_is_refused(written: object) -> None:
    with pytest.raises(InputError, match="is not a quantity"):
        whole(written)


@pytest.mark.parametrize(("written", "value"), [("1Ei", 2**60), ("1E", 10**18), ("1E0", 1), ("0.5Ei", 2**59)])
def test_exbibytes_are_no_exponents(written: str, value: int) -> None:
    assert exact(written) == value


def test_what_cannot_be_counted_is_refused() -> None:
    with pytest.raises(InputError, match="too large"):
        whole("9000000000E")
    with pytest.raises(InputError, match="negative"):
        canonical("cpu", "-1")


@given(st.integers(0, 10**6), st.sampled_from(["", "k", "M", "Ki", "Mi"]))
def test_thousandths_are_a_thousand_times_the_whole(number: int, suffix: str) -> None:
    assert milli(f"{number}{suffix}") == 1000 * whole(f"{number}{suffix}")


@given(st.integers(0, 10**12))
def test_rounding_goes_up_to_the_next_unit(number: int) -> None:
    assert whole(f"{number}m") == -(-number // 1000)
