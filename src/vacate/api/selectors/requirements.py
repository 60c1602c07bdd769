"""One condition on one label: the unit of which label selectors are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vacate.api import fielderrors, names
from vacate.api.integers import parse_integer
from vacate.errors import BadRequest

IN, NOT_IN, EXISTS, DOES_NOT_EXIST = "in", "notin", "exists", "!"
EQUALS, DOUBLE_EQUALS, NOT_EQUALS, GREATER, LESS = "=", "==", "!=", "gt", "lt"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels meet this condition."""
        operator, value = self.operator, labels.get(self.key)
        if operator in (EQUALS, IN, DOUBLE_EQUALS):
            return value is not None and value in self.values
        if operator in (NOT_EQUALS, NOT_IN):
            return value is None or value not in self.values
        if operator in (EXISTS, DOES_NOT_EXIST):
            return (value is not None) is (operator == EXISTS)
        return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        actual = _int64(value)
        limit = _int64(self.values[0])
        if actual is None or limit is None:
            return False
        return actual > limit if self.operator == GREATER else actual < limit

    def __str__(self) -> str:
        listed = ",".join(sorted(self.values))
        if self.operator == EXISTS:
            return self.key
        if self.operator == DOES_NOT_EXIST:
            return f"!{self.key}"
        if self.operator in (IN, NOT_IN):
            return f"{self.key} {self.operator} ({listed})"
        sign = {GREATER: ">", LESS: "<"}.get(self.operator, self.operator)
        return f"{self.key}{sign}{listed}"


def requirement(key: str, operator: str, values: Sequence[str]) -> Requirement:
    """A requirement whose parts are well formed; BadRequest otherwise, with all the errors."""
    field_errors = [
        fielderrors.invalid("key", key, "; ".join(found)) for found in (names.label_key(key),) if found
    ]
    field_errors += _count_errors(operator, values)
    for index, value in enumerate(values):
        if found := names.label_value(value):
            field_errors.append(fielderrors.invalid(f"values[{index}][{key}]", value, "; ".join(found)))
    if field_errors:
        listed = list(dict.fromkeys(map(str, field_errors)))
        raise BadRequest(listed[0] if len(listed) == 1 else f"[{', '.join(listed)}]")
    return Requirement(key, operator, tuple(values))


def _count_errors(operator: str, values: Sequence[str]) -> list[fielderrors.FieldError]:
    complaint = ""
    if operator in (IN, NOT_IN) and not values:
        complaint = "for 'in', 'notin' operators, values set can't be empty"
    elif operator in (EQUALS, DOUBLE_EQUALS, NOT_EQUALS) and len(values) != 1:
        complaint = "exact-match compatibility requires one single value"
    elif operator in (EXISTS, DOES_NOT_EXIST) and values:
        complaint = "values set must be empty for exists and does not exist"
    elif operator in (GREATER, LESS):
        number = "for 'Gt', 'Lt' operators, the value must be an integer"
        return [
            fielderrors.invalid(f"values[{index}]", value, number)
            for index, value in enumerate(values)
            if _int64(value) is None
        ]
    return [fielderrors.invalid("values", list(values), complaint)] if complaint else []


def _int64(text: str) -> int | None:
    return parse_integer(text) if len(text) <= 64 else None
