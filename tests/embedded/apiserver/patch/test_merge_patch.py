from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.embedded.apiserver.patch.mergepatch import apply_merge_patch, without_nulls

pytestmark = pytest.mark.unit

# Target, patch, result: the appendix of RFC 7386 as far as both are objects, and what lies beside it.
MERGED: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ({"a": 1}, {"a": {"b": None}}, {"a": {}}),
    ({}, {"a": [{"b": None}, None]}, {"a": [{}, None]}),
    ({"a": {"x": 1}}, {"a": [{"b": None}]}, {"a": [{"b": None}]}),
]


@pytest.mark.parametrize(("target", "patch", "expected"), MERGED)
def test_merges(target: Any, patch: Any, expected: Any) -> None:
    assert apply_merge_patch(copy.deepcopy(target), copy.deepcopy(patch)) == expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), JSON, max_size=3)


@given(OBJECTS, OBJECTS)
def test_merging_twice_changes_nothing_more_than_nulls(target: Any, patch: Any) -> None:
    once = apply_merge_patch(copy.deepcopy(target), copy.deepcopy(patch))
    twice = apply_merge_patch(copy.deepcopy(once), copy.deepcopy(patch))
    assert without_nulls(twice) == without_nulls(once)
