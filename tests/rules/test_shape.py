"""Small rules of the kind that no other room shows."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest

from embedded.registry.given import context, made, stepped, stored
from vacate.admission.pipeline import admit_update
from vacate.api.kinds import EVICTIONREQUESTS, PODS
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.crds.schema import structural_schema
from vacate.embedded.registry.strategies import strategy_for
from vacate.errors import Invalid
from vacate.eviction.registration import PREFIXES

pytestmark = pytest.mark.unit

REGISTERS = f"{PREFIXES[0]}/priority_a.example.com"


def fields(schema: Obj, path: str) -> Iterator[tuple[str, Obj]]:
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}.{name}", inner
        yield from fields(inner, f"{path}.{name}")
    if "items" in schema:
        yield from fields(schema["items"], f"{path}[]")


def test_every_field_is_described() -> None:
    descriptions = {
        path: inner.get("description", "") for path, inner in fields(structural_schema(EvictionRequest), "")
    }
    assert len(descriptions) > 25
    assert [path for path, text in descriptions.items() if not text.endswith(".")] == []


def test_a_put_names_the_version_that_it_was_made_from() -> None:
    old = stored(EVICTIONREQUESTS)
    new = copy.deepcopy(old)
    new["metadata"].pop("resourceVersion", None)
    with pytest.raises(Invalid, match="must be specified for an update"):
        admit_update(strategy_for(EVICTIONREQUESTS), new, old, context())


def test_annotations_of_a_pod_may_change_and_its_field_may_not() -> None:
    before = {f"metadata.annotations[{REGISTERS}]": "1"}
    assert stepped(PODS, {f"metadata.annotations[{REGISTERS}]": "2"}, before)[2] == []
    assert stepped(PODS, {f"metadata.annotations[{REGISTERS}]": "x"}, before)[2] != []
    listed = {"spec.evictionInterceptors": [{"name": "a.example.com"}]}
    field_errors = stepped(PODS, {"spec.evictionInterceptors": [{"name": "b.example.com"}]}, listed)[2]
    assert any("evictionInterceptors" in field_error for field_error in field_errors), field_errors


def test_a_request_is_valid_as_it_is_made() -> None:
    assert strategy_for(EVICTIONREQUESTS).validate(made(EVICTIONREQUESTS), context()) == []


def test_a_write_of_the_status_changes_nothing_else() -> None:
    step = {"spec.requesters": [], "metadata.labels": {"a": "b"}, "status.message": "x"}
    new, old, field_errors = stepped(EVICTIONREQUESTS, step, {}, context("status"))
    assert field_errors == []
    assert new["spec"] == old["spec"]
    assert new["metadata"]["labels"] == old["metadata"]["labels"]
    assert new["status"]["message"] == "x"
