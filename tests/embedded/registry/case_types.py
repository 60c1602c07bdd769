"""The shapes of cases: each names the rule that it shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vacate.admission.context import Context
from vacate.api.identity import StatusAuthority
from vacate.api.kinds import Kind


@dataclass(frozen=True)
class Broken:
    """A new object that breaks one rule, and the whole error."""

    rule: str
    kind: Kind
    changes: Mapping[str, Any]
    field_error: str


@dataclass(frozen=True)
class BrokenStep:
    """An update that breaks one rule. `before` is what the stored object has beyond a valid one."""

    rule: str
    kind: Kind
    step: Mapping[str, Any]
    field_error: str
    before: Mapping[str, Any] = field(default_factory=dict)
    subresource: str = ""
    authority: StatusAuthority | None = None  # where the writer is not the controller


@dataclass(frozen=True)
class Done:
    """What creation makes of a field."""

    rule: str
    kind: Kind
    changes: Mapping[str, Any]
    path: str
    value: Any
    ctx: Context | None = None


@dataclass(frozen=True)
class DoneByStep:
    """What an update makes of a field."""

    rule: str
    kind: Kind
    step: Mapping[str, Any]
    path: str
    value: Any
    before: Mapping[str, Any] = field(default_factory=dict)
    subresource: str = ""


@dataclass(frozen=True)
class Refused:
    """A new object that is refused as a whole, and in what words."""

    rule: str
    kind: Kind
    changes: Mapping[str, Any]
    code: int
    message: str
    ctx: Context | None = None


Case = Broken | BrokenStep | Done | DoneByStep | Refused
Cases = tuple[Case, ...]
