"""What selectors ask about, read out of a stored value once, when it is written or replayed.

For each kind a small struct is made that decodes just its labels and selectable fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import msgspec

from vacate.api.kinds import Kind
from vacate.embedded.registry.kinds import SERVED_KINDS
from vacate.embedded.store.types import Attributes, Key

# What Kubernetes' typed structs say where a field is missing; everything else is an empty string.
_ABSENT = {"spec.unschedulable": "false", "spec.hostNetwork": "false"}

_KINDS = {kind.resource: kind for kind in SERVED_KINDS}


def project(key: Key, value: bytes) -> Attributes:
    """The labels and selectable fields of a stored value."""
    return _reader(key.resource)(key, value)


def selectable(kind: Kind) -> frozenset[str]:
    """The fields that a field selector of this kind may name."""
    # Kinds with fields of their own say whether they have a namespace; all others are asked for both.
    named = kind.namespaced or not kind.selectable_fields
    common = {"metadata.name"} | ({"metadata.namespace"} if named else set())
    return frozenset(common | set(kind.selectable_fields))


@cache
def _reader(resource: str) -> Callable[[Key, bytes], Attributes]:
    kind = _KINDS[resource]
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_struct(_tree(kind)))
    paths = [(path, path.split("."), _ABSENT.get(path, "")) for path in kind.selectable_fields]
    by_namespace = "metadata.namespace" in selectable(kind)
    adjust = _event_fields if kind.plural == "events" else None

    def read(key: Key, value: bytes) -> Attributes:
        decoded = decoder.decode(value)
        fields = {path: _text(_follow(decoded, steps), absent) for path, steps, absent in paths}
        if adjust is not None:
            adjust(decoded, fields)
        fields["metadata.name"] = key.name
        if by_namespace:
            fields["metadata.namespace"] = key.namespace
        return Attributes(decoded.metadata.labels or {}, fields)

    return read


def _tree(kind: Kind) -> dict[str, Any]:
    """Nested dicts of the wanted paths; a leaf is None."""
    root: dict[str, Any] = {"metadata": {"labels": None}}
    paths = [*kind.selectable_fields]
    if kind.plural == "events":
        paths = [path for path in paths if path not in ("source", "reportingComponent")]
        paths += ["source.component", "reportingComponent"]
    for path in paths:
        *parents, leaf = path.split(".")
        branch = root
        for step in parents:
            branch = branch.setdefault(step, {})
        branch[leaf] = None
    return root


def _struct(tree: Mapping[str, Any]) -> type[msgspec.Struct]:
    fields: list[tuple[str, Any, Any]] = []
    for name, below in tree.items():
        if below is None:
            fields.append((name, Any, None))
        else:
            inner = _struct(below)
            fields.append((name, inner | None, msgspec.field(default_factory=inner)))
    return msgspec.defstruct("Selectable", fields, gc=False)


def _follow(value: Any, steps: list[str]) -> Any:
    for step in steps:
        value = getattr(value, step, None)
    return value


def _text(value: Any, absent: str) -> str:
    if value is None or value == "":
        return absent
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _event_fields(decoded: Any, fields: dict[str, str]) -> None:
    """An event's source is its component, or the reporting component of the newer form."""
    reporting = _text(decoded.reportingComponent, "")
    fields["reportingComponent"] = reporting
    fields["source"] = _text(_follow(decoded, ["source", "component"]), reporting)
