from __future__ import annotations

import copy
from typing import Any

import jsonpatch
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.api.kinds import CONFIGMAPS
from vacate.embedded.apiserver.patch import JSON_PATCH, apply_patch
from vacate.embedded.apiserver.patch.jsonpatch import apply_json_patch, same
from vacate.errors import ApiError, BadRequest, Invalid, RequestTooLarge

pytestmark = pytest.mark.unit

REJECTED = "the server rejected our request due to an error in our request"
DOC = {"a": 1, "l": [1, 2, 3], "m": {"x": {"y": "z"}}, "t/~": 5, "n": None}

APPLIED: list[tuple[list[Any] | None, Any]] = [
    (None, DOC),
    ([], DOC),
    ([{"op": "add", "path": "/b", "value": 2}], {**DOC, "b": 2}),
    ([{"op": "add", "path": "/l/-", "value": 4}], {**DOC, "l": [1, 2, 3, 4]}),
    ([{"op": "add", "path": "/l/0", "value": 0}], {**DOC, "l": [0, 1, 2, 3]}),
    ([{"op": "add", "path": "/l/3", "value": 4}], {**DOC, "l": [1, 2, 3, 4]}),
    ([{"op": "add", "path": "/l/-1", "value": 4}], {**DOC, "l": [1, 2, 3, 4]}),
    ([{"op": "add", "path": "/b"}], {**DOC, "b": None}),
    ([{"op": "add", "path": "ignored/b", "value": 1}], {**DOC, "b": 1}),
    ([{"op": "replace", "path": "/missing", "value": 1}], {**DOC, "missing": 1}),
    ([{"op": "replace", "path": "/l/-1", "value": 9}], {**DOC, "l": [1, 2, 9]}),
    ([{"op": "replace", "path": "/t~1~0", "value": 6}], {**DOC, "t/~": 6}),
    ([{"op": "replace", "path": "", "value": {"q": 1}}], {"q": 1}),
    ([{"op": "remove", "path": "/l/1"}], {**DOC, "l": [1, 3]}),
    ([{"op": "move", "from": "/m/x/y", "path": "/a"}], {**DOC, "a": "z", "m": {"x": {}}}),
    ([{"op": "copy", "from": "/m/x", "path": "/l/0"}], {**DOC, "l": [{"y": "z"}, 1, 2, 3]}),
    ([{"op": "copy", "from": "/missing", "path": "/b"}], {**DOC, "b": None}),
    ([{"op": "test", "path": "/m", "value": {"x": {"y": "z"}}}], DOC),
    ([{"op": "test", "path": "/n"}, {"op": "test", "path": "/missing", "value": None}], DOC),
    ([{"op": "test", "path": "", "value": DOC}], DOC),
]


@pytest.mark.parametrize(("patch", "expected"), APPLIED)
def test_applies(patch: Any, expected: Any) -> None:
    assert apply_json_patch(copy.deepcopy(DOC), patch) == expected


REFUSED: list[list[Any]] = [
    [None],
    [{}],
    [{"op": "bless", "path": "/a"}],
    [{"op": "add", "value": 1}],
    [{"op": "add", "path": None, "value": 1}],
    [{"op": "add", "path": "", "value": {}}],
    [{"op": "add", "path": "/x/y", "value": 1}],
    [{"op": "add", "path": "/n/y", "value": 1}],
    [{"op": "add", "path": "/a/y", "value": 1}],
    [{"op": "add", "path": "/l/4", "value": 1}],
    [{"op": "add", "path": "/l/x", "value": 1}],
    [{"op": "add", "path": "/l/1_0", "value": 1}],
    [{"op": "add", "path": "/l/" + "9" * 30, "value": 1}],
    [{"op": "replace", "path": "/l/3", "value": 1}],
    [{"op": "replace", "path": "/l/-", "value": 1}],
    [{"op": "replace", "path": "", "value": 1}],
    [{"op": "remove", "path": "/missing"}],
    [{"op": "remove", "path": ""}],
    [{"op": "remove", "path": "/l/-"}],
    [{"op": "move", "path": "/b"}],
    [{"op": "move", "from": "/missing", "path": "/b"}],
    [{"op": "move", "from": "/m", "path": "/m/x"}],
    [{"op": "copy", "from": "/x/y", "path": "/b"}],
    [{"op": "test", "path": "/a", "value": 1.0}],
    [{"op": "test", "path": "/a", "value": True}],
    [{"op": "test", "path": "/a"}],
    [{"op": "test", "path": "/l/9", "value": 1}],
]


@pytest.mark.parametrize("patch", REFUSED)
def test_what_does_not_apply_is_refused_with_one_answer(patch: list[Any]) -> None:
    with pytest.raises(Invalid) as refused:
        apply_json_patch(copy.deepcopy(DOC), patch)
    assert refused.value.message == REJECTED
    assert refused.value.details == {}


DECODING = {
    '{"a": 1}': "expected a list, got an object",
    '["a"]': "[0]: expected an object, got a string",
    '[{"op": 5}]': "[0].op: expected a string, got 5",
    '[{"op": "add", "path": []}]': "[0].path: expected a string, got a list",
    '[{"op": "copy", "from": true}]': "[0].from: expected a string, got a boolean",
}


@pytest.mark.parametrize(("patch", "why"), DECODING.items())
def test_what_is_no_patch_is_a_bad_request(patch: str, why: str) -> None:
    with pytest.raises(BadRequest) as refused:
        apply_json_patch({}, orjson.loads(patch))
    assert refused.value.message == f"error decoding patch: {why}"


def test_too_many_operations() -> None:
    operations = [{"op": "test", "path": "/missing"}]
    apply_json_patch({}, operations * 10_000)
    with pytest.raises(RequestTooLarge) as refused:
        apply_json_patch({}, operations * 10_001)
    assert refused.value.message == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    )


def test_copies_may_not_amplify() -> None:
    doc = {"x": "y" * 1024 * 1024}
    apply_json_patch(copy.deepcopy(doc), [{"op": "copy", "from": "/x", "path": f"/{n}"} for n in range(2)])
    with pytest.raises(Invalid, match=REJECTED):
        apply_json_patch(doc, [{"op": "copy", "from": "/x", "path": f"/{n}"} for n in range(9)])
    doubling = [{"op": "copy", "from": "/x", "path": "/x/y"} for _ in range(300)]
    with pytest.raises(ApiError):
        apply_json_patch({"x": {"y": {}}}, doubling)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [(1, 1, True), (1, True, False), (1, 1.0, False), ([], {}, False), ({"a": [1]}, {"a": [1]}, True),
     ({"a": 1}, {"b": 1}, False), ([1, 2], [1], False), (None, None, True)],
)  # fmt: skip
def test_sameness(one: Any, other: Any, equal: bool) -> None:
    assert same(one, other) is equal


LEAVES = st.integers(0, 3) | st.sampled_from(["", "a", "b"])
KEYS = st.sampled_from(["a", "b", "c/d", "e~f", "0"])
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=4)


@given(OBJECTS, OBJECTS)
def test_differences_found_by_another_library_lead_from_one_to_the_other(one: Any, other: Any) -> None:
    patch = jsonpatch.make_patch(one, other).patch
    assert apply_json_patch(copy.deepcopy(one), patch) == other


def paths_of(value: Any, prefix: str = "") -> list[str]:
    found = [prefix] if prefix else []
    if isinstance(value, dict):
        for key, item in value.items():
            found += paths_of(item, f"{prefix}/{key.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list):
        found.append(f"{prefix}/-")
        for index, item in enumerate(value):
            found += paths_of(item, f"{prefix}/{index}")
    return found


@st.composite
def documents_and_patches(draw: st.DrawFn) -> tuple[Any, list[Any]]:
    document = draw(OBJECTS)
    pointers = st.sampled_from([*paths_of(document), "/a", "/b", "/new", "/a/b/c"])
    operation = st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), "path": pointers,
         "from": pointers, "value": JSON}
    )  # fmt: skip
    return document, draw(st.lists(operation, max_size=4))


def is_lenient(document: Any, patch: list[Any]) -> bool:
    """Where the server applies what the standard refuses, on purpose."""
    for operation in patch:
        step = [operation]
        try:
            document = jsonpatch.apply_patch(document, step)
        except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError):
            missing = operation["op"] in ("replace", "copy")
            return missing or (operation["op"] == "move" and operation["from"].startswith(operation["path"]))
    return False


@given(documents_and_patches())
def test_agrees_with_another_library(given_: tuple[Any, list[Any]]) -> None:
    document, patch = given_
    try:
        expected = jsonpatch.apply_patch(document, copy.deepcopy(patch))
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError):
        if not is_lenient(copy.deepcopy(document), copy.deepcopy(patch)):
            with pytest.raises(ApiError):
                apply_json_patch(copy.deepcopy(document), copy.deepcopy(patch))
        return
    assert apply_json_patch(copy.deepcopy(document), copy.deepcopy(patch)) == expected


def test_the_original_stays_untouched() -> None:
    original = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}
    before = copy.deepcopy(original)
    patch = orjson.dumps([{"op": "replace", "path": "/data/k", "value": "w"}])
    assert apply_patch(JSON_PATCH, CONFIGMAPS, original, patch)["data"] == {"k": "w"}
    assert original == before
