"""Field selectors: `spec.nodeName=n1,status.phase!=Running`, with backslashes before `\\`, `,` and `=`.

Which fields a kind can be selected by is for the caller to say; a missing field counts as an empty text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vacate.errors import BadRequest

_ESCAPED = ("\\", ",", "=")


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One field and the value that it must or must not have."""

    field: str
    value: str
    equal: bool = True

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether the fields meet this condition."""
        return (fields.get(self.field, "") == self.value) is self.equal

    def __str__(self) -> str:
        return f"{self.field}{'=' if self.equal else '!='}{escape_value(self.value)}"


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """All requirements together; none of them selects everything."""

    requirements: tuple[FieldRequirement, ...] = ()

    @property
    def everything(self) -> bool:
        """Whether any fields match."""
        return not self.requirements

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether an object with these fields is selected."""
        return all(requirement.matches(fields) for requirement in self.requirements)

    def exact(self, field: str) -> str | None:
        """The one value that the field must have, where the selector says so."""
        return next((one.value for one in self.requirements if one.equal and one.field == field), None)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def parse_field_selector(text: str) -> FieldSelector:
    """Read a selector; BadRequest in the words of the API server where it cannot be read."""
    terms = sorted(term for term in _terms(text) if term)
    return FieldSelector(tuple(_requirement(text, term) for term in terms))


def escape_value(value: str) -> str:
    """The value as it is written in a selector."""
    for sign in _ESCAPED:
        value = value.replace(sign, f"\\{sign}")
    return value


def _terms(text: str) -> Iterator[str]:
    start, escaped = 0, False
    for position, sign in enumerate(text):
        if escaped:
            escaped = False
        elif sign == "\\":
            escaped = True
        elif sign == ",":
            yield text[start:position]
            start = position + 1
    yield text[start:]


def _requirement(text: str, term: str) -> FieldRequirement:
    for position in range(len(term)):
        for operator in ("!=", "==", "="):
            if term.startswith(operator, position):
                value = _unescape(term[position + len(operator) :])
                return FieldRequirement(term[:position], value, equal=operator != "!=")
    raise BadRequest(f"invalid selector: '{text}'; can't understand '{term}'")


def _unescape(written: str) -> str:
    if not any(sign in written for sign in _ESCAPED):
        return written
    value, signs = [], iter(written)
    for sign in signs:
        if sign == "\\":
            escaped = next(signs, "")
            if escaped not in _ESCAPED:
                raise BadRequest(f"invalid field selector: invalid escape sequence: \\{escaped}")
            value.append(escaped)
        elif sign in _ESCAPED:
            raise BadRequest(f"invalid field selector: unescaped character in value: {ord(sign)}")
        else:
            value.append(sign)
    return "".join(value)
