"""The named list of rules: what is checked, filled in, set and dropped, in one table.

Each module of this package declares the rules that it carries out. `docs/reference/validation.md` shows them
all, and every one of them has a case in the tests.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from vacate.api.fielderrors import ErrorType


class Effect(enum.Enum):
    """What a rule does other than to refuse."""

    DEFAULT = "default"
    SET = "set"
    DROPPED = "dropped"
    KEPT = "kept"
    REFUSED = "refused"


_WORDS = {
    ErrorType.NOT_FOUND: "Not found",
    ErrorType.REQUIRED: "Required",
    ErrorType.DUPLICATE: "Duplicate",
    ErrorType.INVALID: "Invalid",
    ErrorType.NOT_SUPPORTED: "Unsupported",
    ErrorType.FORBIDDEN: "Forbidden",
    ErrorType.TOO_LONG: "Too long",
    ErrorType.TOO_MANY: "Too many",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: `field` has `[]` for each position of a list and `{}` for each key of a map."""

    kind: str
    field: str
    does: ErrorType | Effect
    text: str
    tag: str = ""

    @property
    def effect(self) -> str:
        """The error, or what is done, in a word or two."""
        return _WORDS[self.does] if isinstance(self.does, ErrorType) else self.does.value

    @property
    def name(self) -> str:
        """Such as `Pod/spec.containers/required`; the tag tells rules apart that share the three."""
        parts = (self.kind, self.field, self.effect.lower(), self.tag)
        return "/".join(part.replace(" ", "-") for part in parts if part)


def table(kind: str, *rows: tuple[str, ErrorType | Effect, str]) -> tuple[Rule, ...]:
    """The rules of one kind; a field may carry a tag after a hash."""
    found = []
    for where, does, text in rows:
        field, _, tag = where.partition("#")
        found.append(Rule(kind, field, does, text, tag))
    return tuple(found)
