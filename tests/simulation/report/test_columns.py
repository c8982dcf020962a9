"""Columns come out of a page as they went in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fakes.unpacking import unpacked
from hekla.simulation.report.charts import deltas, floats, milliseconds, octets, varint_bytes, varints, zigzag


def test_small_numbers_take_one_byte_and_the_sign_is_the_lowest_bit() -> None:
    assert zigzag(np.array([0, -1, 1, -2, 63])).tolist() == [0, 1, 2, 3, 126]
    assert varint_bytes(np.array([0, 126, 128, 300], np.uint64)) == bytes([0, 126, 128, 1, 172, 2])


@pytest.mark.parametrize("pack", [varints, deltas])
def test_whole_numbers_of_any_size_come_back(pack: Any) -> None:
    values = np.array([0, -1, 1, 127, 128, -129, 2**31, 2**53 - 1, -(2**53) + 1, 5])
    assert unpacked(pack(values)) == values.tolist()


@pytest.mark.parametrize("pack", [varints, deltas])
def test_no_numbers_are_no_bytes(pack: Any) -> None:
    assert pack(np.zeros(0, np.int64)) == {"packed": pack.__name__, "size": 0, "bytes": ""}


def test_an_ordered_column_is_smaller_as_differences() -> None:
    times = np.arange(0, 10_000_000, 50)
    assert len(str(deltas(times)["bytes"])) < len(str(varints(times)["bytes"])) / 2


def test_bytes_and_floats_come_back_and_nan_stays() -> None:
    assert unpacked(octets(np.array([0, 7, 255], np.uint8))) == [0, 7, 255]
    assert np.array_equal(unpacked(floats(np.array([0.5, np.nan]))), [0.5, np.nan], equal_nan=True)


def test_a_time_that_never_came_is_minus_one() -> None:
    assert milliseconds(np.array([0.0, 1.2345, np.nan])).tolist() == [0, 1234, -1]
