"""A number or a percentage of a total, as budgets and rolling updates have them."""

from __future__ import annotations

import re

from vacate.api.integers import parse_integer

_SHOWN = 64  # characters of a value that is quoted
_WHOLE = re.compile(r"[+-]?[0-9]+")


class InvalidIntOrPercent(ValueError):
    """The text is no percentage."""


def scaled_value(value: int | str, total: int, *, round_up: bool) -> int:
    """The number, or that percentage of the total, rounded as asked; InvalidIntOrPercent for other text."""
    if isinstance(value, int):
        return value
    if not value.endswith("%"):
        raise InvalidIntOrPercent("invalid value for IntOrString: invalid type: string is not a percentage")
    digits = value[:-1]
    if not _WHOLE.fullmatch(digits):
        raise InvalidIntOrPercent(
            f'invalid value for IntOrString: invalid value "{value}": '
            f'strconv.Atoi: parsing "{digits}": invalid syntax'
        )
    percent = parse_integer(digits)
    if percent is None:
        raise InvalidIntOrPercent(
            f'invalid value for IntOrString: invalid value "{value[:_SHOWN]}": '
            f'strconv.Atoi: parsing "{digits[:_SHOWN]}": value out of range'
        )
    share = percent * total
    return -(-share // 100) if round_up else share // 100
