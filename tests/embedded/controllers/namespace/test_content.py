"""What a terminating namespace says of its content."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest

from support.workload_objects import NOW, ago
from vacate.api.kinds import DEPLOYMENTS, PODS
from vacate.api.types import Condition, Namespace, ObjectMeta
from vacate.embedded.controllers.namespace.content import Content, content_conditions, must_be_emptied

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("leaving", "finalizers", "expected"),
    [
        (False, ["kubernetes"], False),
        (True, ["kubernetes"], True),
        (True, [], False),
        (True, ["mine"], False),
    ],
)
def test_only_a_leaving_namespace_is_emptied(leaving: bool, finalizers: list[str], expected: bool) -> None:
    metadata: dict[str, Any] = {"name": "n", "deletionTimestamp": ago()} if leaving else {"name": "n"}
    namespace = msgspec.convert({"metadata": metadata, "spec": {"finalizers": finalizers}}, Namespace)
    assert must_be_emptied(namespace) is expected


def conditions_by_type(content: Content, before: list[Condition] | None = None) -> dict[str, Condition]:
    return {one.type: one for one in content_conditions(before or [], content, NOW)}


def test_an_empty_namespace_has_nothing_to_complain_of() -> None:
    content = Content()
    assert content.empty
    found = conditions_by_type(content)
    assert len(found) == 5
    assert {one.status for one in found.values()} == {"False"}
    assert found["NamespaceContentRemaining"].message == "All content successfully removed"


def test_what_remains_is_counted_by_kind_and_by_finalizer() -> None:
    content = Content()
    content.count(PODS, [ObjectMeta(name="a"), ObjectMeta(name="b", finalizers=["x/y"])])
    content.count(DEPLOYMENTS, [ObjectMeta(name="d", finalizers=["x/y", "z/z"])])
    assert not content.empty
    found = conditions_by_type(content)
    remaining = found["NamespaceContentRemaining"]
    assert (remaining.status, remaining.reason) == ("True", "SomeResourcesRemain")
    assert remaining.message == (
        "Some resources are remaining: "
        "deployments.apps has 1 resource instances, pods. has 2 resource instances"
    )
    assert found["NamespaceFinalizersRemaining"].message == (
        "Some content in the namespace has finalizers remaining: "
        "x/y in 2 resource instances, z/z in 1 resource instances"
    )
    assert found["NamespaceDeletionContentFailure"].status == "False"


def test_failures_are_in_a_condition() -> None:
    failure = conditions_by_type(Content(failures=["b", "a"]))["NamespaceDeletionContentFailure"]
    assert failure.message == "Failed to delete all resource types, 2 remaining: a, b"
    assert not Content(failures=["a"]).empty


def test_times_move_with_the_status_only_and_foreign_conditions_stay() -> None:
    foreign = Condition(type="Mine", status="True")
    first = content_conditions([foreign], Content(counts={"pods.": 2}), NOW)
    later = NOW + dt.timedelta(minutes=5)
    second = {one.type: one for one in content_conditions(first, Content(counts={"pods.": 1}), later)}
    assert second["Mine"] == foreign
    assert second["NamespaceContentRemaining"].last_transition_time == NOW
    assert "1 resource instances" in second["NamespaceContentRemaining"].message
    third = {one.type: one for one in content_conditions(list(second.values()), Content(), later)}
    assert third["NamespaceContentRemaining"].last_transition_time == later
