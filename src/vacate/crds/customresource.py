"""What one kind of Vacate's own declares about itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from vacate.admission.strategy import KindStrategy
from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.crds.schema import Structure, structure


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A column of `kubectl get`, and where in the object its value is."""

    name: str
    description: str
    json_path: str
    type: str = "string"
    priority: int = 0
    # What the embedded server shows instead, where no path leads to the value.
    shown: Callable[[Obj], Any] | None = None

    def definition(self) -> Obj:
        """The column as a CRD writes it."""
        made: Obj = {"name": self.name, "type": self.type, "description": self.description}
        if self.priority:
            made["priority"] = self.priority
        return {**made, "jsonPath": self.json_path}


@dataclass(frozen=True, slots=True)
class CelRule:
    """One rule in CEL, which API servers evaluate.

    `at` is the place in the schema (`spec.nodeSelector`, with `[]` for items; empty for the root). `field` is
    what the error names, relative to `at`.
    """

    at: str
    cel: str
    message: str
    field: str = ""
    reason: str = "FieldValueInvalid"

    def definition(self) -> Obj:
        """The rule as a CRD writes it."""
        made: Obj = {"rule": self.cel, "message": self.message, "reason": self.reason}
        return {**made, "fieldPath": f".{self.field}"} if self.field else made


@dataclass(frozen=True, slots=True)
class CustomResource:
    """All that servers, installers and documentation need to know about one kind."""

    kind: Kind
    struct: type[msgspec.Struct]
    columns: tuple[PrinterColumn, ...]
    # Makes what admits its objects; most kinds need no more than `vacate.crds.strategy.DeclaredStrategy`.
    strategy: Callable[[CustomResource], KindStrategy]
    rules: tuple[CelRule, ...] = ()
    # Adds the rules in CEL that depend on the installation: on the names allowed for interceptors.
    add_rules: Callable[[Obj, Sequence[str]], None] | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)
    # What a CRD may say about metadata.name; rules can see the name only if it is described here.
    name_schema: Mapping[str, Any] = field(default_factory=dict)

    @property
    def structure(self) -> Structure:
        """What a server does with its objects by their schema."""
        return structure(self.struct)
