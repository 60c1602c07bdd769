"""A number or a percentage of a total, as budgets and rolling updates have them."""

from __future__ import annotations

from vacate.api.integers import parse_integer

_SHOWN = 64  # characters of a value that is quoted


class InvalidIntOrPercent(ValueError):
    """The text is no percentage."""


def scaled_value(value: int | str, total: int, *, round_up: bool) -> int:
    """The number, or that percentage of the total, rounded as asked; InvalidIntOrPercent for other text."""
    if isinstance(value, int):
        return value
    percent = parse_integer(value.removesuffix("%")) if value.endswith("%") else None
    if percent is None:
        raise InvalidIntOrPercent(f'expected an integer or a percentage, got "{value[:_SHOWN]}"')
    share = percent * total
    return -(-share // 100) if round_up else share // 100
