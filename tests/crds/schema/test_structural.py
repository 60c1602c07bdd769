"""Pruning, defaults and errors by a structural schema, as kube-apiserver 1.36.4 was seen to answer."""

# ruff: noqa: E501 - messages are as long as they are
from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.effort import examples
from vacate.api.kinds import EVICTIONREQUESTS
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.crds.schema import structural_schema, structure
from vacate.embedded import schema

pytestmark = pytest.mark.unit

SCHEMA = structural_schema(EvictionRequest)
STRUCTURE = structure(EvictionRequest)
Obj = dict[str, Any]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ("spec", "status", "target", "podRef", "name", "requesters", "conditions", "type", "x", "message")
    ), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def field_errors(obj: Any) -> list[str]:
    return [str(field_error) for field_error in STRUCTURE.field_errors(obj)]


def test_unknown_fields_and_nulls_go() -> None:
    obj: Obj = {
        "kind": "K", "metadata": {"x": 1}, "y": 1,
        "spec": {"type": None, "z": {}, "requesters": [{"name": "a", "b": 1}], "heartbeatDeadlineSeconds": 600.0},
    }  # fmt: skip
    STRUCTURE.prune(obj)
    assert obj == {
        "kind": "K",
        "metadata": {"x": 1},
        "spec": {"requesters": [{"name": "a"}], "heartbeatDeadlineSeconds": 600},
    }
    assert type(obj["spec"]["heartbeatDeadlineSeconds"]) is int


def test_defaults_fill_what_was_left_out() -> None:
    obj: Obj = {"spec": {"type": "Hard"}}
    STRUCTURE.fill_defaults(obj)
    assert obj["spec"] == {"type": "Hard", "heartbeatDeadlineSeconds": 1800}
    assert obj["status"] == {"message": "", "evictionRequestCancellationPolicy": "Allow"}
    obj["status"]["message"] = "mine"
    assert "default" in SCHEMA["properties"]["status"]
    again: Obj = {"spec": {}}
    STRUCTURE.fill_defaults(again)
    assert again["status"] == {"message": "", "evictionRequestCancellationPolicy": "Allow"}


REFUSED: list[tuple[Obj, list[str]]] = [
    ({}, ["spec: Required value"]),
    ({"spec": "x"}, ['spec: Invalid value: "string": spec in body must be of type object: "string"']),
    ({"spec": {}}, ["spec.target: Required value"]),
    (
        {"spec": {"target": {"podRef": {"name": "", "uid": 5}}}},
        [
            'spec.target.podRef.name: Invalid value: "": spec.target.podRef.name in body should be at least 1 chars long',
            'spec.target.podRef.uid: Invalid value: "integer": spec.target.podRef.uid in body must be of type string: "integer"',
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("obj", "expected"), REFUSED)
def test_errors(obj: Obj, expected: list[str]) -> None:
    assert field_errors(obj) == expected


def spec(**fields: Any) -> Obj:
    return {"spec": {"target": {"podRef": {"name": "p", "uid": "u"}}, **fields}}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"heartbeatDeadlineSeconds": 599.5},
            ['spec.heartbeatDeadlineSeconds: Invalid value: "float64": spec.heartbeatDeadlineSeconds in body must be of type int32: "float64"'],
        ),
        (
            {"requesters": [{"name": "a"}, {"name": "a"}, {"name": "a"}]},
            ['spec.requesters[1]: Duplicate value: {"name":"a"}'],
        ),
        (
            {"requesters": [{"name": "a"}, {"name": "a"}, 3]},
            [
                'spec.requesters[2]: Invalid value: "integer": spec.requesters[2] in body must be of type object: "integer"',
                "spec.requesters[2]: Invalid value: 3: must be an object for an array of list-type map",
            ],
        ),
        (
            {"interceptors": [{"name": "x"}, None]},
            ['spec.interceptors[1]: Invalid value: "null": spec.interceptors[1] in body must be of type object: "null"'],
        ),
    ],
    ids=["fraction", "thrice", "no-objects", "null"],
)  # fmt: skip
def test_lists_and_numbers(fields: Obj, expected: list[str]) -> None:
    assert field_errors(spec(**fields)) == expected


def test_an_error_in_a_part_of_an_object_has_its_full_path() -> None:
    found = STRUCTURE.status_errors({"message": 5})
    assert list(map(str, found)) == [
        'status.message: Invalid value: "integer": message in body must be of type string: "integer"'
    ]
    found = STRUCTURE.status_errors(7)
    assert str(found[0]) == 'status: Invalid value: "integer":  in body must be of type object: "integer"'


@settings(max_examples=examples(200), deadline=None)
@given(VALUES)
def test_no_value_is_too_odd(value: Any) -> None:
    obj = copy.deepcopy(value)
    STRUCTURE.prune(obj)
    STRUCTURE.fill_defaults(obj)
    assert all(str(field_error) for field_error in STRUCTURE.field_errors(obj))
    once = copy.deepcopy(obj)
    STRUCTURE.prune(obj)
    STRUCTURE.fill_defaults(obj)
    assert obj == once


def test_metadata_is_decoded_as_that_of_all_kinds() -> None:
    wrong = {"metadata": {"name": 5}}
    expected = "metadata.name: expected a string, got 5"
    assert schema.settle(EVICTIONREQUESTS, wrong) == [expected]
    kept = {"metadata": {"name": "a", "colour": "red", "labels": None}, "spec": {"x": 1}}
    assert schema.settle(EVICTIONREQUESTS, kept) == []
    assert kept == {"metadata": {"name": "a"}, "spec": {}}
