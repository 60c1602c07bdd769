"""What a server does with the objects of a kind, compiled from the kind's schema on first use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import msgspec

from vacate.api.fielderrors import FieldError, too_many
from vacate.api.objects import Obj
from vacate.crds.schema.fastcheck import fits, knows
from vacate.crds.schema.generate import structural_schema
from vacate.crds.schema.prune import defaulter, pruner
from vacate.crds.schema.validation import structural_errors


class Structure:
    """Prunes, fills in and checks the objects of one kind."""

    def __init__(self, schema: Obj) -> None:
        self._schema = schema
        self._status = schema["properties"]["status"]
        self._prune = pruner(schema)
        self._fill = defaulter(schema)
        self._fits = fits(schema)
        self._status_fits = fits(self._status)
        self._knows = knows(schema)
        self.sizes = Sizes(schema)

    def prune(self, obj: Any) -> None:
        """Take away what the schema does not know, and nulls, which mean the same as nothing."""
        self._prune(obj)

    def fill_defaults(self, obj: Any) -> None:
        """Put defaults where nothing was given, also below objects that are there already."""
        if self._fill is not None:
            self._fill(obj)

    def field_errors(self, obj: Any) -> list[FieldError]:
        """Every error of a whole object."""
        return [] if self._fits(obj) else structural_errors(self._schema, obj)

    def status_errors(self, status: Any) -> list[FieldError]:
        """Every error of a status."""
        return [] if self._status_fits(status) else structural_errors(self._status, status, "status")

    def unknown(self, obj: Any) -> list[str]:
        """The paths of the fields that the schema does not know."""
        known = self._knows is None or self._knows(obj)
        return [] if known else unknown_paths(self._schema, obj)


@cache
def structure(struct: type[msgspec.Struct]) -> Structure:
    """The structure of the objects of this struct."""
    return Structure(structural_schema(struct))


_OF_LISTS, _OF_MAPS = "maxItems", "maxProperties"
_METADATA: Obj = {
    "annotations": {_OF_MAPS: 1000},
    "finalizers": {_OF_LISTS: 200},
    "ownerReferences": {_OF_LISTS: 100},
}


class SizeLimit(NamedTuple):
    """One list or map, and how many items it may have."""

    part: str
    field: str
    most: int
    is_map: bool


class Sizes:
    """The limits of one kind."""

    def __init__(self, schema: Obj) -> None:
        parts = {part: one.get("properties", {}) for part, one in schema["properties"].items()}
        parts["metadata"] = _METADATA
        self.limits = [
            SizeLimit(part, field, one[limit], limit == _OF_MAPS)
            for part, fields in parts.items()
            for field, one in fields.items()
            for limit in (_OF_LISTS, _OF_MAPS)
            if limit in one
        ]
        shapes: dict[str, dict[str, Any]] = {}
        for part, field, _, is_map in self.limits:
            shapes.setdefault(part, {})[field] = dict[str, msgspec.Raw] if is_map else list[msgspec.Raw]
        structs = {part: _struct(part, fields) for part, fields in shapes.items()}
        self._decoder = msgspec.json.Decoder(_struct("Sizes", structs))

    def field_errors(self, encoded: bytes | msgspec.Raw) -> list[FieldError]:
        """The lists and maps that are too long; none where the object has other types, which others find."""
        try:
            found = self._decoder.decode(encoded)
        except (msgspec.MsgspecError, RecursionError):
            return []
        return [
            too_many(f"{part}.{field}", count, most)
            for part, field, most, _ in self.limits
            if (count := len(getattr(getattr(found, part), field, None) or ())) > most
        ]


def _struct(name: str, shapes: Mapping[str, Any]) -> type[msgspec.Struct]:
    return msgspec.defstruct(name, [(key, shape | None, None) for key, shape in shapes.items()])


def unknown_paths(schema: Obj, value: Any, path: str = "") -> list[str]:
    """The path of each such field, in the order of the value."""
    if isinstance(value, list) and "items" in schema:
        return [
            one
            for index, item in enumerate(value)
            for one in unknown_paths(schema["items"], item, f"{path}[{index}]")
        ]
    if not isinstance(value, dict) or "properties" not in schema:
        return []
    found: list[str] = []
    for key, item in value.items():
        where = f"{path}.{key}" if path else key
        inner = schema["properties"].get(key)
        found += [where] if inner is None else unknown_paths(inner, item, where)
    return found
