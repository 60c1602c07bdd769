"""Cases of strategic merge patches, by what they show; the pod's real merge keys are behind them."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.api.kinds import DEPLOYMENTS, NODES, PODDISRUPTIONBUDGETS, PODS
from vacate.api.objects import Obj
from vacate.embedded.apiserver.patch.strategic import apply_strategic_patch
from vacate.embedded.schema import table
from vacate.errors import ApiError, BadRequest, Invalid

pytestmark = pytest.mark.unit


def patched(original: Obj, patch: Obj, kind: Any = PODS) -> Obj:
    return apply_strategic_patch(table().struct_of(kind), copy.deepcopy(original), copy.deepcopy(patch))


def spec(**fields: Any) -> Obj:
    return {"spec": fields}


def named(*names: str) -> list[Obj]:
    return [{"name": name} for name in names]


def containers(*names: str) -> Obj:
    return spec(containers=named(*names))


def env(*pairs: tuple[str, Any]) -> Obj:
    return spec(containers=[{"name": "c", "env": [{"name": name, "value": value} for name, value in pairs]}])


MAPS: list[tuple[str, Obj, Obj, Obj]] = [
    ("adds", {}, {"metadata": {"labels": {"a": "1"}}}, {"metadata": {"labels": {"a": "1"}}}),
    ("merges", {"metadata": {"labels": {"a": "1"}}}, {"metadata": {"labels": {"b": "2"}}},
     {"metadata": {"labels": {"a": "1", "b": "2"}}}),
    ("null removes", {"metadata": {"labels": {"a": "1", "b": "2"}}}, {"metadata": {"labels": {"a": None}}},
     {"metadata": {"labels": {"b": "2"}}}),
    ("null of what is not there", {}, {"spec": None, "metadata": {"labels": {"a": None}}},
     {"metadata": {"labels": {}}}),
    ("replace directive", {"metadata": {"labels": {"a": "1"}}},
     {"metadata": {"labels": {"$patch": "replace", "b": "2"}}}, {"metadata": {"labels": {"b": "2"}}}),
    ("delete directive empties a map", {"metadata": {"labels": {"a": "1"}}},
     {"metadata": {"labels": {"$patch": "delete"}}}, {"metadata": {"labels": {}}}),
    ("directive on what is not there", {"metadata": {}}, {"metadata": {"labels": {"$patch": "delete"}}},
     {"metadata": {}}),
    ("another type replaces", {"x": {"a": 1}}, {"x": [1]}, {"x": [1]}),
    ("unknown fields merge as JSON does", spec(x={"a": {"b": 1}, "l": [1]}),
     spec(x={"a": {"c": None, "d": 2}, "l": [2]}), spec(x={"a": {"b": 1, "d": 2}, "l": [2]})),
    ("no nulls in what is new", {}, spec(x={"a": None, "l": [{"b": None}]}), spec(x={"l": [{}]})),
]  # fmt: skip

LISTS: list[tuple[str, Obj, Obj, Obj]] = [
    ("appends by key", containers("a"), containers("b"), containers("b", "a")),
    ("merges by key", spec(containers=[{"name": "a", "image": "1"}]),
     spec(containers=[{"name": "a", "tty": True}]),
     spec(containers=[{"name": "a", "image": "1", "tty": True}])),
    ("the order of the patch, the others in between", containers("1", "2", "3"), containers("3", "1"),
     containers("2", "3", "1")),
    ("deletes by key", containers("a", "b", "c"),
     spec(containers=[{"name": "b", "$patch": "delete"}]), containers("a", "c")),
    ("deletes what is not there", containers("a"), spec(containers=[{"name": "b", "$patch": "delete"}]),
     containers("a")),
    ("replaces the list", containers("a", "b"), spec(containers=[{"$patch": "replace"}, {"name": "z"}]),
     containers("z")),
    ("replaces the list with nothing", containers("a", "b"), spec(containers=[{"$patch": "replace"}]),
     spec(containers=[])),
    ("lists without a key are replaced", spec(tolerations=[{"key": "a"}]), spec(tolerations=[{"key": "b"}]),
     spec(tolerations=[{"key": "b"}])),
    ("directives in lists that are replaced leave empty items", spec(tolerations=[{"key": "a"}]),
     spec(tolerations=[{"$patch": "replace"}, {"key": "b"}]), spec(tolerations=[{}, {"key": "b"}])),
    ("a new list drops items to delete", {}, spec(containers=[{"name": "a", "$patch": "delete"}]),
     spec(containers=[])),
    ("null removes a list", containers("a"), spec(containers=None), spec()),
    ("nested", env(("A", "1"), ("B", "2")), env(("B", "3"), ("C", "4")),
     env(("A", "1"), ("B", "3"), ("C", "4"))),
    ("null in an item", env(("A", "1"), ("B", "2")), env(("A", None)),
     spec(containers=[{"name": "c", "env": [{"name": "A"}, {"name": "B", "value": "2"}]}])),
    ("numbers as keys", spec(containers=[{"name": "c", "ports": [{"containerPort": 80}]}]),
     spec(containers=[{"name": "c", "ports": [{"containerPort": 80, "name": "h"}, {"containerPort": 81}]}]),
     spec(containers=[{"name": "c", "ports": [{"containerPort": 80, "name": "h"}, {"containerPort": 81}]}])),
    ("conditions by type", {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "r"}]}},
     {"status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "X"}]}},
     {"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "r"}, {"type": "X"}]}}),
    ("interceptors by name", spec(evictionInterceptors=named("a.io/x")),
     spec(evictionInterceptors=named("b.io/y")), spec(evictionInterceptors=named("b.io/y", "a.io/x"))),
]  # fmt: skip

SCALARS: list[tuple[str, Obj, Obj, Obj]] = [
    ("sets unite, what is new first", {"metadata": {"finalizers": ["a", "b"]}},
     {"metadata": {"finalizers": ["c", "a"]}}, {"metadata": {"finalizers": ["c", "a", "b"]}}),
    ("deletes from a set", {"metadata": {"finalizers": ["a", "b", "c"]}},
     {"metadata": {"$deleteFromPrimitiveList/finalizers": ["b", "z"]}},
     {"metadata": {"finalizers": ["a", "c"]}}),
    ("deletes from a set that is not there", {"metadata": {}},
     {"metadata": {"$deleteFromPrimitiveList/finalizers": ["b"]}}, {"metadata": {}}),
    ("deletes and adds", {"metadata": {"finalizers": ["a", "b"]}},
     {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]}},
     {"metadata": {"finalizers": ["c", "b"]}}),
    ("order of a set", {"metadata": {"finalizers": ["a", "b"]}},
     {"metadata": {"$setElementOrder/finalizers": ["b", "a"]}}, {"metadata": {"finalizers": ["b", "a"]}}),
    ("order, deletion and addition", {"metadata": {"finalizers": ["a", "b", "c"]}},
     {"metadata": {"$deleteFromPrimitiveList/finalizers": ["b"], "finalizers": ["d"],
                   "$setElementOrder/finalizers": ["c", "d", "a"]}},
     {"metadata": {"finalizers": ["c", "d", "a"]}}),
    ("lists of scalars that do not merge are replaced", spec(containers=[{"name": "c", "args": ["a", "b"]}]),
     spec(containers=[{"name": "c", "args": ["c"]}]), spec(containers=[{"name": "c", "args": ["c"]}])),
]  # fmt: skip

ORDERS: list[tuple[str, Obj, Obj, Obj]] = [
    ("reorders", containers("a", "b"), {"spec": {"$setElementOrder/containers": named("b", "a")}},
     containers("b", "a")),
    ("adds in its place", containers("a", "c"),
     {"spec": {"$setElementOrder/containers": named("a", "b", "c"), "containers": named("b")}},
     containers("a", "b", "c")),
    ("items of the server stay between", containers("a", "server", "b"),
     {"spec": {"$setElementOrder/containers": named("b", "c", "a"), "containers": named("c")}},
     containers("server", "b", "c", "a")),
    ("deletes in an order", containers("a", "b", "c"),
     {"spec": {"$setElementOrder/containers": named("c", "a"),
               "containers": [{"name": "b", "$patch": "delete"}]}}, containers("c", "a")),
    ("of a list that is not there", spec(),
     {"spec": {"$setElementOrder/containers": named("b", "a"), "containers": named("b", "a")}},
     containers("b", "a")),
    ("of nothing at all", spec(), {"spec": {"$setElementOrder/containers": named("a")}}, spec()),
    ("nested", env(("A", "1"), ("B", "2")),
     {"spec": {"$setElementOrder/containers": named("c"),
               "containers": [{"name": "c", "$setElementOrder/env": named("B", "A"),
                               "env": [{"name": "A", "value": "9"}]}]}},
     env(("B", "2"), ("A", "9"))),
    ("in a new item is dropped", containers("a"),
     spec(containers=[{"name": "b", "$setElementOrder/env": named("B"), "env": named("B")}]),
     spec(containers=[{"name": "b", "env": named("B")}, {"name": "a"}])),
]  # fmt: skip


@pytest.mark.parametrize(
    ("original", "patch", "expected"),
    [pytest.param(*case[1:], id=case[0]) for case in MAPS + LISTS + SCALARS + ORDERS],
)
def test_merges(original: Obj, patch: Obj, expected: Obj) -> None:
    assert patched(original, patch) == expected


def test_retained_keys() -> None:
    original = spec(strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}})
    patch = spec(strategy={"$retainKeys": ["type"], "type": "Recreate"})
    assert patched(original, patch, DEPLOYMENTS) == spec(strategy={"type": "Recreate"})
    volumes = spec(volumes=[{"name": "v", "emptyDir": {}}, {"name": "w"}])
    change = spec(volumes=[{"name": "v", "$retainKeys": ["name", "configMap"], "configMap": {"name": "c"}}])
    assert patched(volumes, {"spec": {"volumes": change["spec"]["volumes"]}}) == BROKEN_BY_KEYS
    change["spec"]["volumes"][0]["$retainKeys"].append("gone")
    assert patched(volumes, change) == BROKEN_BY_KEYS


BROKEN_BY_KEYS = spec(volumes=[{"name": "v", "configMap": {"name": "c"}}, {"name": "w"}])


def test_selectors_of_budgets_are_replaced() -> None:
    original = spec(selector={"matchLabels": {"a": "1"}}, minAvailable=1)
    patch = spec(selector={"matchLabels": {"b": "2"}})
    expected = spec(selector={"matchLabels": {"b": "2"}}, minAvailable=1)
    assert patched(original, patch, PODDISRUPTIONBUDGETS) == expected
    merged = patched(spec(selector={"matchLabels": {"a": "1"}}), patch, DEPLOYMENTS)
    assert merged == spec(selector={"matchLabels": {"a": "1", "b": "2"}})


REFUSED: list[tuple[Obj, Obj, type[ApiError], str]] = [
    (containers("a"), spec(containers=[{"image": "x"}]), ApiError,
     '{"image":"x"} does not contain the merge key name'),
    (containers("a"), spec(containers=[{"$patch": "delete"}]), ApiError,
     '{"$patch":"delete"} does not contain the merge key name'),
    (containers("a"), spec(containers=[{"$patch": "merge", "name": "a"}]), ApiError,
     "merging lists cannot yet be specified in the patch"),
    (containers("a"), spec(containers=[{"$patch": "bless", "name": "a"}]), ApiError,
     'unknown patch type "bless" in {"$patch":"bless","name":"a"}'),
    (containers("a"), {"spec": {"$patch": "bless", "x": [1, None, True]}}, ApiError,
     'unknown patch type "bless" in {"$patch":"bless","x":[1,null,true]}'),
    (containers("a"), spec(containers=["b"]), ApiError,
     'list element types are not identical: [[{"name":"a"}],["b"]]'),
    (containers("a"), {"spec": {"$setElementOrder/containers": "x"}}, ApiError,
     "expected a list, got a string"),
    (containers("a"), {"spec": {"$setElementOrder/containers": named("a"), "containers": {}}}, ApiError,
     "expected a list, got an object"),
    (containers("a"), {"spec": {"$setElementOrder/containers": named("a"), "containers": named("b")}},
     ApiError,
     'the order of [{"name":"b"}] is not that of $setElementOrder: [{"name":"a"}]'),
    (containers("a"), {"spec": {"$setElementOrder/containers": ["a"]}}, ApiError,
     "expected an object, got a string"),
    (containers("a"), {"spec": {"$setElementOrder": []}}, BadRequest,
     "invalid patch format of setElementOrder list"),
    ({"metadata": {}}, {"metadata": {"$deleteFromPrimitiveList": []}}, BadRequest,
     "invalid patch format of primitive list"),
    (spec(), {"spec": {"$retainKeys": "x"}}, BadRequest, "invalid patch format of retainKeys"),
    (spec(), {"spec": {"$retainKeys": ["a"], "b": 1}}, BadRequest, "invalid patch format of retainKeys"),
    (spec(podCIDRs=[["a"]]), spec(podCIDRs=[["b"]]), Invalid,
     "the server rejected our request due to an error in our request"),
]  # fmt: skip


@pytest.mark.parametrize(("original", "patch", "error", "why"), REFUSED)
def test_refusals(original: Obj, patch: Obj, error: type[ApiError], why: str) -> None:
    with pytest.raises(ApiError) as refused:
        patched(original, patch, NODES if "podCIDRs" in original.get("spec", {}) else PODS)
    assert type(refused.value) is error
    assert refused.value.message == why
    assert refused.value.status_code == error.code


def test_long_lists_merge_in_time_that_grows_with_their_length() -> None:
    many = [f"c{number}" for number in range(20_000)]
    merged = patched(containers(*many), {"spec": {"$setElementOrder/containers": named(*reversed(many))}})
    assert [one["name"] for one in merged["spec"]["containers"]] == many[::-1]
    again = patched(merged, containers(*many))
    assert [one["name"] for one in again["spec"]["containers"]] == many


NAMES = st.lists(st.sampled_from("abcdef"), unique=True, max_size=5)


@given(NAMES, NAMES)
def test_every_item_is_there_once_and_patched_ones_in_their_order(live: list[str], patch: list[str]) -> None:
    merged = [one["name"] for one in patched(containers(*live), containers(*patch))["spec"]["containers"]]
    assert sorted(merged) == sorted({*live, *patch})
    assert [name for name in merged if name in patch] == patch
    assert [name for name in merged if name not in patch] == [name for name in live if name not in patch]


@given(NAMES, NAMES)
def test_an_order_that_names_everything_is_obeyed(live: list[str], wanted: list[str]) -> None:
    order = [*wanted, *(name for name in live if name not in wanted)]
    patch = {"spec": {"$setElementOrder/containers": named(*order), "containers": named(*wanted)}}
    if live or wanted:
        assert patched(containers(*live), patch) == containers(*order)


VALUES = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["a", "delete", "replace", "merge"])
FIELDS = st.sampled_from(
    ["metadata", "spec", "containers", "env", "finalizers", "name", "labels", "tolerations", "$patch",
     "$retainKeys", "$setElementOrder/containers", "$setElementOrder/finalizers", "$setElementOrder/x",
     "$deleteFromPrimitiveList/finalizers", "$deleteFromPrimitiveList", "$setElementOrder"]
)  # fmt: skip
ANYTHING = st.recursive(
    VALUES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=14,
)


@given(st.dictionaries(FIELDS, ANYTHING, max_size=4))
def test_hostile_patches_are_applied_or_refused(patch: Obj) -> None:
    original = {
        "metadata": {"finalizers": ["a"], "labels": {"x": "y"}},
        "spec": {"containers": [{"name": "a", "env": [{"name": "e"}]}], "tolerations": [{"key": "k"}]},
    }
    try:
        result = patched(original, patch)
    except ApiError:
        return
    assert "$patch" not in str(result)
