"""What becomes of fields that a type does not have. They are never stored.

With `fieldValidation` a client chooses whether it is refused (`Strict`), warned (`Warn`, the default) or gets
no answer about them (`Ignore`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vacate.wire.message import Request

_MAX_WARNINGS = 10
_MAX_PATH_CHARACTERS = 256


@dataclass(slots=True)
class FieldValidation:
    """What the client asked for, and the unknown fields that its object has."""

    directive: str = "Ignore"
    unknown: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # warnings that the client gets whatever it asked for

    @property
    def refusal(self) -> str:
        """Why the object is refused; empty where it is not."""
        return strict_error(self.unknown) if self.unknown and self.directive == "Strict" else ""

    @property
    def headers(self) -> dict[str, str]:
        """The warnings that the answer carries."""
        unknown = _unknown_warnings(self.unknown) if self.directive == "Warn" else []
        shown = [note for note in self.notes if note.isascii() and note.isprintable()]
        return _header([*unknown, *map(_warning, shown[:_MAX_WARNINGS])])


def field_validation(request: Request) -> FieldValidation:
    """What a request asks for."""
    return FieldValidation(request.query.get("fieldValidation") or "Warn")


def strict_error(unknown: Sequence[str]) -> str:
    """Why an object with these fields is refused."""
    return "strict decoding error: " + ", ".join(f'unknown field "{path}"' for path in unknown)


def _unknown_warnings(unknown: Sequence[str]) -> list[str]:
    """A header names only what can stand in one."""
    shown = [path for path in unknown if _can_be_shown(path)]
    return [_warning(f'unknown field "{path}"') for path in shown[:_MAX_WARNINGS]]


def _warning(text: str) -> str:
    return f'299 - "{_escaped(text)}"'


def _header(warnings: Sequence[str]) -> dict[str, str]:
    return {"Warning": ", ".join(warnings)} if warnings else {}


def _can_be_shown(path: str) -> bool:
    return path.isascii() and path.isprintable() and len(path) <= _MAX_PATH_CHARACTERS


def _escaped(path: str) -> str:
    return path.replace("\\", "\\\\").replace('"', '\\"')
