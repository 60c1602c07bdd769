"""How many items the lists and maps of an object may have: a look that decodes none of them.

Kubernetes limits neither finalizers nor owners, and of annotations only the size. An object with tens of
thousands of them costs an API server and its webhooks seconds; no request needs so many. Labels have no
limit here: a request takes those of its pod, whose author must not keep it from being evicted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from vacate.api.fielderrors import FieldError, too_many
from vacate.api.objects import Obj

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
