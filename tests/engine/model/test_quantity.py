"""Quantities: what people write, as whole numbers."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hekla.engine.model.resources import MOST, amounts_in, canonical, read_limits, read_resources
from hekla.errors import InputError
from hekla.objects.quantity import LARGEST, exact, milli, read_count, read_integer, whole


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


NO_QUANTITIES: list[object] = [
    *("", " ", "lots", "1 Gi", "1GB", "--1", "+-1", "0x10", "1e", "1E+", "1e1.5", "1e3Ki", "NaN", "inf"),
    *(
        ".",
        "+",
        "-k",
        "Ki",
        "1.5.2",
        "1Zi",
        "1i",
        "1ki",
        "1K",
        "1eE",
        "1_000",
        "1\n",
        "\t1",
        "\u0661",
        "\uff11",
    ),
    *(True, float("nan"), float("inf"), "1" * 1001),
]


@pytest.mark.parametrize("written", NO_QUANTITIES, ids=lambda written: repr(written)[:12])
def test_what_is_no_quantity_is_refused(written: object) -> None:
    for read in (exact, whole, milli):
        with pytest.raises(InputError, match="is not a quantity"):
            read(written)


def test_true_is_no_quantity_even_after_one() -> None:
    assert exact(1) == exact(1.0) == 1
    with pytest.raises(InputError, match='"True" is not a quantity'):
        exact(True)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        *[
            ("1Ei", 2**60),
            ("1E", 10**18),
            ("1E0", 1),
            ("0.5Ei", 2**59),
            ("1e3", 1000),
            ("1E-3", Fraction(1, 1000)),
        ],
        *[
            ("  1", 1),
            ("1  ", 1),
            ("007", 7),
            ("5.", 5),
            (".5k", 500),
            ("1e0003", 1000),
            ("1e-5000", Fraction(1, 10**9)),
        ],
        *[("0.0000000001", Fraction(1, 10**9)), ("-0.0000000001", Fraction(-1, 10**9)), ("0e99999", 0)],
        *[(f"1.{'0' * 400}1", 1 + Fraction(1, 10**9)), ("9223372036854775807", LARGEST)],
    ],
)
def test_the_verdicts_of_the_api_server(written: str, value: Fraction | int) -> None:
    assert Fraction(exact(written)) == value


BEYOND: list[str | float] = [
    "9223372036854775808",
    "8Ei",
    "-8.1Ei",
    "10E",
    "1e19",
    "9" * 400,
    1e300,
    10**5000,
]


@pytest.mark.parametrize(
    "written", BEYOND, ids=lambda written: str(written)[:9] if isinstance(written, str) else ""
)
def test_what_is_beyond_64_bits_is_refused_in_one_sentence(written: str | float) -> None:
    for read in (exact, whole, milli):
        with pytest.raises(
            InputError, match="is too large to be counted; at most 9223372036854775807 can be"
        ):
            read(written)


def test_negative_amounts_are_refused() -> None:
    with pytest.raises(InputError, match='cpu: "-1" is negative; amounts start at 0'):
        canonical("cpu", "-1")


def test_amounts_that_are_added_up_leave_room_for_others() -> None:
    assert read_resources({"memory": MOST}) == {"memory": MOST}
    with pytest.raises(InputError, match='memory: "1152921504606846976" is too large to be counted; at most'):
        read_resources({"memory": "1Ei"})


def test_limits_are_only_compared_and_may_be_larger() -> None:
    assert read_limits({"memory": "1Ei"}) == {"memory": 2**60}
    with pytest.raises(InputError, match="too large to be counted"):
        read_limits({"cpu": "1Ei"})
    assert amounts_in({"cpu": "1Ei"}) == {"cpu": 1000 * 2**60}


POWERS = {
    **{
        suffix: Fraction(1000) ** power
        for power, suffix in enumerate(["n", "u", "m", "", *"kMGTPE"], start=-3)
    },
    **{f"{suffix}i": Fraction(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)},
}


def by_the_book(text: str) -> Fraction | None:
    """The number that a text means by Kubernetes' grammar; None where it means none."""
    text = text.strip(" ")
    sign, text = (-1 if text[:1] == "-" else 1), (text[1:] if text[:1] in ("+", "-") else text)
    number = text[: len(text) - len(text.lstrip("0123456789."))]
    suffix = text[len(number) :]
    if number.count(".") > 1 or not number.strip("."):
        return None
    before, _, after = number.partition(".")
    value = sign * Fraction(int(before + after), 10 ** len(after))
    if suffix in POWERS:
        return value * POWERS[suffix]
    digits = suffix[2:] if suffix[1:2] in ("+", "-") else suffix[1:]
    if suffix[0] not in "eE" or not digits or digits.strip("0123456789"):
        return None
    return value * Fraction(10) ** (-int(digits) if suffix[1] == "-" else int(digits))


def up(value: Fraction, parts: int) -> Fraction:
    """To so many parts of one, away from zero."""
    return (1 if value >= 0 else -1) * Fraction(ceil(abs(value) * parts), parts)


numbers = st.from_regex(r"[+-]?([0-9]{0,25}\.?[0-9]{0,25})", fullmatch=True)
suffixes = st.sampled_from(sorted(POWERS)) | st.from_regex(r"[eE][+-]?[0-9]{0,3}", fullmatch=True)
quantities = st.builds("{}{}{}".format, st.sampled_from(["", " "]), numbers, suffixes)
scribbles = st.text("0123456789.+-eEinumkKMGTP \u0661\n", max_size=8)


@given(quantities | scribbles)
@example("1Ei")
@example("1E")
@example("1E1")
@example(".")
def test_quantities_are_what_the_grammar_says(text: str) -> None:
    value = by_the_book(text)
    if value is None or abs(value) > LARGEST:
        with pytest.raises(InputError, match="not a quantity" if value is None else "too large"):
            exact(text)
        return
    rounded = up(value, 10**9)
    assert Fraction(exact(text)) == rounded
    assert whole(text) == up(rounded, 1)
    assert milli(text) == 1000 * up(rounded, 1000)


@given(st.integers(-(10**25), 10**25) | st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_count_as_their_texts(number: float) -> None:
    try:
        value = exact(str(number))
    except InputError:
        with pytest.raises(InputError):
            exact(number)
    else:
        assert exact(number) == value


@given(st.integers(0, 10**6), st.sampled_from(["", "k", "M", "Ki", "Mi"]))
def test_thousandths_are_a_thousand_times_the_whole(number: int, suffix: str) -> None:
    assert milli(f"{number}{suffix}") == 1000 * whole(f"{number}{suffix}")


@given(st.integers(0, 10**12))
def test_rounding_goes_up_to_the_next_unit(number: int) -> None:
    assert whole(f"{number}m") == -(-number // 1000)


@pytest.mark.parametrize("text", ["", "+", "1.0", "1e3", "0x1", "1_0", "\u0661", " 1", "9" * 20, "9" * 5000])
def test_texts_that_are_no_whole_numbers_of_64_bits(text: str) -> None:
    assert (read_integer(text), read_count(text)) == (None, None)


@given(st.integers(-(2**63), LARGEST))
def test_whole_numbers_are_read_as_they_are_written(number: int) -> None:
    assert read_integer(str(number)) == number
    assert read_count(str(number)) == (number if number >= 0 else None)
    assert read_count(f"+{abs(number)}") is None
