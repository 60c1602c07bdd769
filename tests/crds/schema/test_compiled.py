"""The compiled forms of a schema do and say what a plain walk does and says, about any value."""

from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import structural_walk as walk
from support.effort import examples
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.crds.schema import Structure, structural_errors, structural_schema, structure
from vacate.crds.schema.compiled import unknown_paths
from vacate.crds.schema.fastcheck import fits, knows

pytestmark = pytest.mark.unit

Obj = dict[str, Any]
SCHEMA = structural_schema(EvictionRequest)
COMPILED = structure(EvictionRequest)
TYPED: Obj = {
    "type": "object",
    "required": ["status", "elsewhere"],
    "properties": {
        **{key: {"type": "object"} for key in ("apiVersion", "kind", "metadata")},
        "status": {
            "type": "object",
            "default": {},
            "properties": {
                "numbers": {"type": "array", "items": {"type": "integer", "format": "int32"}},
                "rows": {
                    "type": "array",
                    "items": {"type": "array", "items": {"type": "object", "properties": {"a": {
                        "type": "integer", "minimum": 1, "default": 7}}}},
                },
                "named": {
                    "type": "array",
                    "maxItems": 3,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["a", "b"],
                    "items": {"type": "object", "properties": {
                        "a": {"type": "string", "enum": ["x", "y"]},
                        "b": {"type": "boolean", "default": True}}},
                },
            },
        },
    },
}  # fmt: skip
"""What no kind of ours has: items of items, lists by two keys, an integer without limits."""

TIMES = ("2026-01-01T00:00:00Z", "2026-13-01T00:00:00Z")
TEXTS = st.sampled_from(("", "a", "x", "y", "Soft", "Hard", "True", "Allow", *TIMES, "a" * 254))
SCALARS = (
    st.none() | st.booleans() | TEXTS | st.sampled_from((-1, 0, 1, 599, 600.0, 600.5, 1800, 2**31, 2**63))
)


def values(schema: Obj) -> st.SearchStrategy[Any]:
    """Values that mostly follow the schema, so that errors are found deep inside them."""
    return st.one_of(*[_following(schema)] * 8, SCALARS, st.just([]), st.just({}))


def _following(schema: Obj) -> st.SearchStrategy[Any]:
    if schema["type"] == "object":
        fields = {key: values(one) for key, one in schema.get("properties", {}).items()}
        return st.fixed_dictionaries({}, optional={**fields, "other": SCALARS})
    if schema["type"] == "array":
        return st.lists(values(schema["items"]), max_size=4)
    return st.sampled_from(schema["enum"]) if "enum" in schema else SCALARS


BOTH = pytest.mark.parametrize(
    ("schema", "compiled"), [(SCHEMA, COMPILED), (TYPED, Structure(TYPED))], ids=["ours", "typed"]
)


@BOTH
@settings(max_examples=examples(300), deadline=None)
@given(data=st.data())
def test_pruning_and_defaults(schema: Obj, compiled: Structure, data: st.DataObject) -> None:
    value = data.draw(values(schema))
    expected, found = copy.deepcopy(value), copy.deepcopy(value)
    walk.prune(schema, expected)
    compiled.prune(found)
    assert orjson.dumps(found) == orjson.dumps(expected), "to the byte, and so in the same order"
    walk.fill_defaults(schema, expected)
    compiled.fill_defaults(found)
    assert orjson.dumps(found) == orjson.dumps(expected)


@BOTH
@settings(max_examples=examples(300), deadline=None)
@given(data=st.data())
def test_errors_and_unknown_fields(schema: Obj, compiled: Structure, data: st.DataObject) -> None:
    value = data.draw(values(schema))
    status = data.draw(values(schema["properties"]["status"]))
    assert compiled.unknown(value) == unknown_paths(schema, value)
    assert compiled.field_errors(value) == structural_errors(schema, value)
    expected = structural_errors(schema["properties"]["status"], status, "status")
    assert compiled.status_errors(status) == expected


def test_what_is_right_is_seen_at_a_glance() -> None:
    """Without this the looks could always say no, and every value would be walked over."""
    right: Obj = {"spec": {"target": {"podRef": {"name": "p", "uid": "u"}}, "requesters": [{"name": "a"}]}}
    COMPILED.fill_defaults(right)
    known = knows(SCHEMA)
    assert fits(SCHEMA)(right)
    assert known is not None
    assert known(right)
