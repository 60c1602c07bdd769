from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.api.quantity import FORMAT_WRONG, NUMBER_WRONG, SUFFIX_WRONG, Quantity, parse_quantity

pytestmark = pytest.mark.unit

PRINTED = {
    "0": "0", "-0": "0", "00": "0", "0m": "0", "0Ki": "0", "+": "0", ".": "0",
    "1": "1", "+5": "+5", "05": "05", "100m": "100m", "0.1": "100m", "0.5": "500m", "1.5": "1500m",
    "1000m": "1", "1500m": "1500m", "1000": "1k", "1024": "1024", "1.500": "1.500", "1.000": "1",
    "1000k": "1M", "12e6": "12e6", "12E6": "12E6", "1e3": "1e3", "1000e3": "1e6", "1e-3": "1e-3",
    "10e2": "1e3",
    "1Ki": "1Ki", "1024Ki": "1Mi", "8Ki": "8Ki", "1536Mi": "1536Mi", "1.5Gi": "1536Mi", "0.5Ki": "512",
    "0.0001Ki": "102400u", "1.Ki": "1.Ki", "2048Mi": "2Gi", "1Ei": "1Ei", "100Ei": "9223372036854775807",
    "-1Ki": "-1Ki", "-1024Ki": "-1Mi", "0.1m": "100u", "0.0000000001": "1n", "-0.0000000001": "-1n",
    "1.0000000001": "1000000001n", "1e1": "10", "3.0": "3", "100G": "100G", "1000E": "1000E",
}  # fmt: skip


@pytest.mark.parametrize(("text", "printed"), PRINTED.items())
def test_prints_as_kubernetes_does(text: str, printed: str) -> None:
    assert str(parse_quantity(text)) == printed


@pytest.mark.parametrize(("number", "printed"), [(1, "1"), (0.5, "500m"), (2000, "2k"), (1e22, "10e21")])
def test_reads_json_numbers(number: float, printed: str) -> None:
    assert str(parse_quantity(number)) == printed


WRONG = {
    "": FORMAT_WRONG, "1.1.1": FORMAT_WRONG, "abc": FORMAT_WRONG, "1 Ki": FORMAT_WRONG, "--1": SUFFIX_WRONG,
    "1Kis": FORMAT_WRONG, "1\n": FORMAT_WRONG, "٣": FORMAT_WRONG, "1i": SUFFIX_WRONG, "1mm": SUFFIX_WRONG,
    "1K": SUFFIX_WRONG, "1e": SUFFIX_WRONG, "1e+": SUFFIX_WRONG, "1m5": SUFFIX_WRONG,
    "1e99999999": SUFFIX_WRONG,
    "9" * 5000: NUMBER_WRONG,
}  # fmt: skip


@pytest.mark.parametrize(("text", "why"), WRONG.items())
def test_refuses_in_the_words_of_kubernetes(text: str, why: str) -> None:
    with pytest.raises(ValueError, match="quantit") as refused:
        parse_quantity(text)
    assert str(refused.value) == why


def test_rounds_away_from_zero() -> None:
    assert parse_quantity("100m").value() == 1
    assert parse_quantity("-1500m").value() == -2
    assert parse_quantity("1.0001").milli() == 1001
    assert parse_quantity("2Gi").value() == 2 * 2**30


def test_equal_however_written() -> None:
    assert parse_quantity("1Gi") == parse_quantity("1024Mi") == parse_quantity("1073741824")
    assert len({parse_quantity("1"), parse_quantity("1000m"), parse_quantity("10e-1")}) == 1
    assert parse_quantity("1") != "1"


def test_sums_keep_the_family_of_the_first_that_is_not_zero() -> None:
    total = parse_quantity("0") + parse_quantity("512Mi") + parse_quantity("512Mi")
    assert str(total) == "1Gi"
    assert str(parse_quantity("1Gi") - parse_quantity("1Gi")) == "0"
    assert str(parse_quantity("100m") + parse_quantity("0.9")) == "1"


def exact(quantity: Quantity) -> Fraction:
    return quantity.unscaled * Fraction(10) ** quantity.exponent


NUMBERS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-", "+"]),
    st.from_regex("[0-9]{1,12}", fullmatch=True),
    st.from_regex(r"(\.[0-9]{0,4})?", fullmatch=True),
    st.sampled_from(["", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "Gi", "Ti", "e3", "E-2", "e+1"]),
)


@given(NUMBERS)
def test_printing_loses_nothing(text: str) -> None:
    quantity = parse_quantity(text)
    assert parse_quantity(str(quantity)) == quantity
    canonical = str(Quantity(quantity.unscaled, quantity.exponent, quantity.format))
    assert parse_quantity(canonical) == quantity
    assert "." not in canonical


@given(NUMBERS, NUMBERS)
def test_arithmetic_is_that_of_fractions(one: str, other: str) -> None:
    left, right = parse_quantity(one), parse_quantity(other)
    assert exact(left + right) == exact(left) + exact(right)
    assert exact(left - right) == exact(left) - exact(right)
    assert (left < right) == (exact(left) < exact(right))
    assert (left == right) == (exact(left) == exact(right))
    assert left != right or hash(left) == hash(right)


@given(st.text(max_size=12))
def test_reads_or_refuses_anything(text: str) -> None:
    try:
        quantity = parse_quantity(text)
    except ValueError:
        return
    assert parse_quantity(str(quantity)) == quantity
