"""Differences of statuses: the patch makes of the old one the new one, on the object that was read only."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.api.kinds import DEPLOYMENTS, PODDISRUPTIONBUDGETS, PODS, Kind
from vacate.api.objects import Obj, copied
from vacate.api.types import Condition, ObjectMeta
from vacate.api.types.apps import DeploymentStatus
from vacate.api.types.deschedulingpolicy import DeschedulingPolicyStatus
from vacate.api.types.meta import Projection
from vacate.api.types.policy import PodDisruptionBudgetStatus
from vacate.embedded import schema
from vacate.embedded.apiserver.patch.mergepatch import apply_merge_patch
from vacate.embedded.apiserver.patch.strategic import apply_strategic_patch
from vacate.kube.patches import (
    MERGE_KEYS,
    condition_differences,
    guarded,
    guarded_by_uid,
    merge_difference,
    merge_status_patch,
    pod_status_patch,
    status_difference,
    strategic_difference,
)

pytestmark = pytest.mark.unit

META = ObjectMeta(name="a", uid="u", resource_version="7")
READY = {"type": "Ready", "status": "True"}
OTHER = {"type": "Other", "status": "True"}


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        ({}, {}, {}),
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {"a": 2, "b": 3}, {"a": 2, "b": 3}),
        ({"a": 1, "b": 2}, {"b": 2}, {"a": None}),
        ({"a": [1, 2]}, {"a": [2]}, {"a": [2]}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {"a": {"c": None}}),
        ({"a": {"b": 1}}, {"a": {}}, {"a": {"b": None}}),
        ({}, {"a": {}}, {"a": {}}),
        ({"a": [1]}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    ],
)
def test_a_merge_difference_names_what_changes_and_what_goes(old: Obj, new: Obj, patch: Obj) -> None:
    assert merge_difference(old, new) == patch


@pytest.mark.parametrize(
    ("old", "new", "whole", "kept"),
    [
        ({"phase": "A"}, {"phase": "A"}, {}, {}),
        ({"phase": "A"}, {"phase": "B"}, {"phase": "B"}, {"phase": "B"}),
        ({"phase": "A", "theirs": 1}, {"phase": "A"}, {"theirs": None}, {}),
        ({"conditions": [READY]}, {"conditions": [{**READY, "lastProbeTime": None}]}, {}, {}),
        ({"conditions": [OTHER, READY]}, {"conditions": [READY]},
         {"conditions": [{"$patch": "delete", "type": "Other"}]}, {}),
        ({"conditions": [{**READY, "reason": "R"}]}, {"conditions": [READY]},
         {"conditions": [{**READY, "reason": None}]}, {"conditions": [{**READY, "reason": None}]}),
        ({"conditions": [OTHER]}, {"conditions": [OTHER, READY]},
         {"conditions": [READY]}, {"conditions": [READY]}),
        ({"conditions": [None, 3, {"type": []}]}, {"conditions": [READY]},
         {"conditions": [READY]}, {"conditions": [READY]}),
        ({"conditions": 7}, {"conditions": [READY]}, {"conditions": [READY]}, {"conditions": [READY]}),
        ({"podIPs": [{"ip": "1"}]}, {"podIPs": [{"ip": "2"}]},
         {"podIPs": [{"ip": "2"}, {"$patch": "delete", "ip": "1"}]}, {"podIPs": [{"ip": "2"}]}),
        ({"containerStatuses": [{"name": "a", "state": {}}]}, {"containerStatuses": [{"name": "a"}]}, {}, {}),
        ({"containerStatuses": [{"name": "a"}]}, {"containerStatuses": []},
         {"containerStatuses": []}, {"containerStatuses": []}),
        ({"pods": {"a": 1, "b": 2}}, {"pods": {"b": 3}},
         {"pods": {"a": None, "b": 3}}, {"pods": {"a": None, "b": 3}}),
    ],
)  # fmt: skip
def test_a_strategic_difference_merges_lists_by_their_key(old: Obj, new: Obj, whole: Obj, kept: Obj) -> None:
    assert strategic_difference(old, new) == whole
    assert strategic_difference(old, new, keep_others=True) == kept


def test_a_guard_names_the_object_and_its_version_beside_other_metadata() -> None:
    patch = {"metadata": {"labels": {"a": "b"}}, "spec": {}}
    wanted = {"metadata": {"labels": {"a": "b"}, "uid": "u", "resourceVersion": "7"}, "spec": {}}
    assert guarded(META, patch) == guarded({"uid": "u", "resourceVersion": "7", "name": "a"}, patch) == wanted
    assert guarded_by_uid("u", {"status": {}}) == {"metadata": {"uid": "u"}, "status": {}}
    assert patch == {"metadata": {"labels": {"a": "b"}}, "spec": {}}


def test_status_patches_are_guarded_and_none_where_nothing_differs() -> None:
    old, new = DeschedulingPolicyStatus(message="a"), DeschedulingPolicyStatus(message="b")
    assert merge_status_patch(META, old, old) is None
    assert merge_status_patch(META, old, new) == {
        "metadata": {"uid": "u", "resourceVersion": "7"},
        "status": {"message": "b"},
    }
    assert pod_status_patch({"phase": "A", "theirs": 1}, {"phase": "A"}, "u") is None
    written = pod_status_patch({"phase": "A"}, {"phase": "B"}, "u")
    assert written == {"metadata": {"uid": "u"}, "status": {"phase": "B"}}


def test_conditions_are_set_and_removed_one_by_one() -> None:
    ready, other = Condition(type="Ready", status="True"), Condition(type="Other", status="True")
    later = msgspec.structs.replace(ready, status="False")
    assert condition_differences([ready, other], [later]) == [
        {"type": "Ready", "status": "False", "reason": "", "message": ""},
        {"$patch": "delete", "type": "Other"},
    ]


# Properties

TEXTS = st.text("ab", max_size=2)
SCALARS = st.integers(0, 3) | TEXTS | st.booleans()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
)
STATUSES = st.dictionaries(TEXTS, VALUES, max_size=4)


def items(key: str) -> st.SearchStrategy[list[Obj]]:
    one = st.fixed_dictionaries(
        {key: st.sampled_from("abc")}, optional={"status": TEXTS, "reason": TEXTS, "message": TEXTS}
    )
    return st.lists(one, max_size=3, unique_by=lambda item: item[key])


POD_STATUSES = st.fixed_dictionaries(
    {},
    optional={
        "phase": TEXTS,
        "message": TEXTS,
        "conditions": items("type"),
        "podIPs": items("ip"),
        "containerStatuses": items("name"),
        "unknown": st.dictionaries(TEXTS, SCALARS, max_size=2),
    },
)


def merged(kind: Kind, status: Obj, patch: Obj) -> Obj:
    """The status after the strategic merge patch, as the embedded server applies it."""
    obj = {"status": copied(status)}
    found = apply_strategic_patch(schema.table().struct_of(kind), obj, {"status": copied(patch)})
    made: Obj = found["status"]
    return made


def by_key(status: Obj) -> Obj:
    """Merged lists have no order, and an empty one is as good as none."""
    found: dict[str, Any] = dict(status)
    for name, key in MERGE_KEYS.items():
        if name in found:
            found[name] = {item[key]: item for item in found[name]}
    return {key: value for key, value in found.items() if value not in ({}, [])}


@pytest.mark.thorough
@given(STATUSES, STATUSES)
def test_a_merge_difference_makes_new_of_old(old: Obj, new: Obj) -> None:
    assert apply_merge_patch(copied(old), copied(merge_difference(old, new))) == new
    assert merge_difference(new, copied(new)) == {}


@given(POD_STATUSES, POD_STATUSES)
def test_a_strategic_difference_makes_new_of_old(old: Obj, new: Obj) -> None:
    assert by_key(merged(PODS, old, strategic_difference(old, new))) == by_key(new)
    assert strategic_difference(new, copied(new)) == {}


@given(POD_STATUSES, POD_STATUSES)
def test_a_difference_that_keeps_others_changes_nothing_else(old: Obj, new: Obj) -> None:
    found = by_key(merged(PODS, old, strategic_difference(old, new, keep_others=True)))
    before, after = by_key(old), by_key(new)
    wanted = {**before, **after}
    for name in MERGE_KEYS:
        if either := {**before.get(name, {}), **after.get(name, {})}:
            wanted[name] = either
    for name in ("containerStatuses", "unknown"):
        if name in new and not new[name]:
            wanted.pop(name, None)
    assert found == wanted


MOMENTS = st.integers(0, 3).map(lambda hours: dt.datetime(2026, 3, 1, hours, tzinfo=dt.UTC))
CONDITIONS = st.lists(
    st.builds(
        Condition,
        type=st.sampled_from("abc"),
        status=st.sampled_from(["True", "False"]),
        message=TEXTS,
        last_transition_time=st.none() | MOMENTS,
        observed_generation=st.integers(0, 2),
    ),
    max_size=3,
    unique_by=lambda one: one.type,
)
COUNTS = st.integers(0, 2)
DEPLOYMENT = st.builds(
    DeploymentStatus, replicas=COUNTS, collision_count=st.none() | COUNTS, conditions=CONDITIONS
)
BUDGET = st.builds(
    PodDisruptionBudgetStatus,
    current_healthy=COUNTS,
    disrupted_pods=st.dictionaries(TEXTS, MOMENTS, max_size=3),
    conditions=CONDITIONS,
)
PROJECTIONS = st.tuples(st.just(DEPLOYMENTS), DEPLOYMENT, DEPLOYMENT) | st.tuples(
    st.just(PODDISRUPTIONBUDGETS), BUDGET, BUDGET
)


@given(PROJECTIONS)
def test_the_difference_of_projections_makes_new_of_old(
    given_: tuple[Kind, DeploymentStatus | PodDisruptionBudgetStatus, Projection],
) -> None:
    kind, old, new = given_
    stored = {**msgspec.to_builtins(old), "unknown": 1}
    result = merged(kind, stored, status_difference(old, new))
    assert result.pop("unknown") == 1
    found = msgspec.convert(result, type(old))
    assert by_type(found) == by_type(new)


def by_type(status: Any) -> Projection:
    found: Projection = msgspec.structs.replace(
        status, conditions=sorted(status.conditions, key=lambda one: one.type)
    )
    return found
