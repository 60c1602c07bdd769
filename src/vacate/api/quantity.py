"""Resource quantities: exact numbers with a decimal or binary suffix, as `500m`, `1536Mi` or `2e3`.

A quantity remembers the family of its suffix and prints itself in canonical form: no fraction, the largest
suffix that loses nothing. Text that is canonical enough for Kubernetes is printed as it was written.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field
from functools import lru_cache, total_ordering

_SHAPE = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES = ("", *_BINARY)
_DECIMAL_SUFFIXES = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_NANO = -9
_LARGEST = 2**63 - 1
# Beyond any quantity that means something; it keeps hostile exponents from becoming gigabytes of digits.
_MAX_DIGITS = 1000

FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
NUMBER_WRONG = "unable to parse numeric part of quantity"
SUFFIX_WRONG = "unable to parse quantity's suffix"


class Format(enum.Enum):
    """The family of suffixes in which a quantity is printed."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """`unscaled` times ten to the power of `exponent`. Equal quantities are equal however they print."""

    unscaled: int
    exponent: int = 0
    format: Format = Format.DECIMAL_SI
    written: str = field(default="", repr=False)

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.unscaled > 0) - (self.unscaled < 0)

    def scaled(self, exponent: int) -> int:
        """In units of ten to the power of `exponent`, rounded away from zero."""
        shift = self.exponent - exponent
        if shift >= 0:
            return self.unscaled * int(10**shift)
        whole, rest = divmod(abs(self.unscaled), int(10**-shift))
        return self.sign * (whole + bool(rest))

    def value(self) -> int:
        """In whole units, rounded away from zero."""
        return self.scaled(0)

    def milli(self) -> int:
        """In thousandths, rounded away from zero."""
        return self.scaled(-3)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        mine, theirs, _ = _aligned(self, other)
        return mine == theirs

    def __lt__(self, other: Quantity) -> bool:
        mine, theirs, _ = _aligned(self, other)
        return mine < theirs

    def __hash__(self) -> int:
        return hash(_without_zeroes(self.unscaled, self.exponent))

    def __bool__(self) -> bool:
        return self.unscaled != 0

    def __add__(self, other: Quantity) -> Quantity:
        mine, theirs, exponent = _aligned(self, other)
        return Quantity(mine + theirs, exponent, self.format if self else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        return self + -other

    def __neg__(self) -> Quantity:
        return Quantity(-self.unscaled, self.exponent, self.format)

    def __abs__(self) -> Quantity:
        return -self if self.unscaled < 0 else self

    def __str__(self) -> str:
        return self.written or _canonical(self)


ZERO = Quantity(0)


def parse_quantity(source: str | int | float) -> Quantity:
    """Read a quantity from text or a JSON number; ValueError in the words of Kubernetes."""
    text = source if isinstance(source, str) else str(source)
    return _remembered(text) if len(text) <= _REMEMBERED_CHARACTERS else _parse(text)


def _parse(text: str) -> Quantity:
    found = _SHAPE.fullmatch(text)
    if not found or not text:
        raise ValueError(FORMAT_WRONG)
    sign, whole, fraction, suffix = found[1], found[2].lstrip("0") or "0", found[3] or "", found[4]
    if len(whole) + len(fraction) > _MAX_DIGITS:
        raise ValueError(NUMBER_WRONG)
    family, power = _interpret(suffix)
    if family is Format.DECIMAL_EXPONENT and len(whole) + power > _MAX_DIGITS:
        raise ValueError(SUFFIX_WRONG)  # its canonical form would have a larger exponent than is read
    number = int(whole + fraction) * (-1 if sign == "-" else 1)
    if family is Format.BINARY_SI:
        return _binary(text, number, len(fraction), power)
    return _decimal(text, number, whole + fraction, power - len(fraction), family)


_REMEMBERED_CHARACTERS = 64  # any number of zeroes may stand in front, and must not fill the memory
_remembered = lru_cache(maxsize=4096)(_parse)


def _interpret(suffix: str) -> tuple[Format, int]:
    if suffix in _DECIMAL:
        return Format.DECIMAL_SI, _DECIMAL[suffix]
    if suffix in _BINARY:
        return Format.BINARY_SI, _BINARY[suffix]
    if suffix[:1] in ("e", "E") and re.fullmatch("[+-]?[0-9]{1,18}", suffix[1:]):
        power = int(suffix[1:])
        if abs(power) <= _MAX_DIGITS:
            return Format.DECIMAL_EXPONENT, power
    raise ValueError(SUFFIX_WRONG)


def _decimal(text: str, number: int, digits: str, exponent: int, family: Format) -> Quantity:
    exact = len(digits) <= 18 and exponent >= _NANO
    if not exact:
        return _no_finer_than_nano(number, exponent, family)
    kept = exponent % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    return Quantity(number, exponent, family, text if kept else "")


def _binary(text: str, number: int, places: int, power: int) -> Quantity:
    if places == 0:
        small = len(str(abs(number))) + power * 3 // 10 <= 14
        kept = text if small and abs(number) & 7 else ""
        return Quantity(_capped(number << power), 0, Format.BINARY_SI, kept)
    rounded = _no_finer_than_nano(number << power, -places, Format.BINARY_SI)
    if rounded and abs(rounded) < Quantity(1):
        return Quantity(rounded.unscaled, rounded.exponent)
    if abs(rounded) > Quantity(_LARGEST):
        return Quantity(rounded.sign * _LARGEST, 0, Format.BINARY_SI)
    return rounded


def _capped(number: int) -> int:
    return max(-_LARGEST, min(_LARGEST, number))


def _no_finer_than_nano(number: int, exponent: int, family: Format) -> Quantity:
    quantity = Quantity(number, exponent, family)
    return quantity if exponent >= _NANO else Quantity(quantity.scaled(_NANO), _NANO, family)


def _aligned(one: Quantity, other: Quantity) -> tuple[int, int, int]:
    if one.exponent == other.exponent:
        return one.unscaled, other.unscaled, one.exponent
    exponent = min(one.exponent, other.exponent)
    return (
        one.unscaled * 10 ** (one.exponent - exponent),
        other.unscaled * 10 ** (other.exponent - exponent),
        exponent,
    )


def _canonical(quantity: Quantity) -> str:
    if not quantity:
        return "0"
    if quantity.format is Format.BINARY_SI and _prints_in_binary(quantity):
        return _in_binary(quantity.value())
    number, exponent = _without_zeroes(quantity.unscaled, quantity.exponent)
    while exponent % 3:
        number, exponent = number * 10, exponent - 1
    if quantity.format is Format.DECIMAL_EXPONENT:
        return f"{number}e{exponent}" if exponent else str(number)
    if exponent > 18:
        number, exponent = number * 10 ** (exponent - 18), 18
    return f"{number}{_DECIMAL_SUFFIXES[exponent]}"


def _prints_in_binary(quantity: Quantity) -> bool:
    whole = Quantity(quantity.value())
    return whole == quantity and abs(whole.unscaled) >= 1024


def _in_binary(number: int) -> str:
    steps = 0
    while abs(number) >= 1024 and number % 1024 == 0 and steps < 6:
        number, steps = number // 1024, steps + 1
    return f"{number}{_BINARY_SUFFIXES[steps]}"


def _without_zeroes(number: int, exponent: int) -> tuple[int, int]:
    if not number:
        return 0, 0
    while number % 10 == 0:
        number, exponent = number // 10, exponent + 1
    return number, exponent
