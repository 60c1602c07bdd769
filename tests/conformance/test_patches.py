"""The three forms of patches, and those that cannot be applied."""

from __future__ import annotations

import pytest

from support.arms.arm import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Obj
from support.arms.caseapi import CaseApi
from support.arms.marks import CONFORMANCE, without
from support.arms.objects import condition, config_map, named, pod, workload
from vacate.api.kinds import CONFIGMAPS, DEPLOYMENTS, NODES, PODS, SERVICEACCOUNTS

pytestmark = CONFORMANCE

NOT_READY = "node.kubernetes.io/not-ready"  # every node is, at first

JSON_PATCHES = {
    "add": ({"op": "add", "path": "/data/b", "value": "2"}, {"a": "1", "b": "2"}),
    "remove": ({"op": "remove", "path": "/data/a"}, None),
    "replace": ({"op": "replace", "path": "/data/a", "value": "2"}, {"a": "2"}),
    "move": ({"op": "move", "from": "/data/a", "path": "/data/b"}, {"b": "1"}),
    "copy": ({"op": "copy", "from": "/data/a", "path": "/data/b"}, {"a": "1", "b": "1"}),
    "test": ({"op": "test", "path": "/data/a", "value": "1"}, {"a": "1"}),
}
REJECTED = "the server rejected our request due to an error in our request"


@pytest.mark.parametrize("operation", JSON_PATCHES)
async def test_json(api: CaseApi, operation: str) -> None:
    step, result = JSON_PATCHES[operation]
    await api.given(CONFIGMAPS, config_map("m", a="1"))
    patched = (await api.patch(CONFIGMAPS, "m", [step], JSON_PATCH)).ok()
    assert patched.get("data") == result


async def test_json_appends_to_lists(api: CaseApi) -> None:
    await api.given(
        NODES, named(name := api.unique("n"), spec={"taints": [{"key": "a", "effect": "NoSchedule"}]})
    )
    step = {"op": "add", "path": "/spec/taints/-", "value": {"key": "b", "effect": "NoExecute"}}
    patched = (await api.patch(NODES, name, [step], JSON_PATCH)).ok()
    assert [taint["key"] for taint in patched["spec"]["taints"]] == ["a", NOT_READY, "b"]


@pytest.mark.parametrize(
    "step",
    [
        {"op": "test", "path": "/data/a", "value": "2"},
        {"op": "remove", "path": "/data/nothing"},
        {"op": "replace", "path": "/nowhere/at/all", "value": 1},
    ],
    ids=["test", "remove", "replace"],
)
async def test_json_that_does_not_apply(api: CaseApi, step: Obj) -> None:
    await api.given(CONFIGMAPS, config_map("m", a="1"))
    answer = await api.patch(CONFIGMAPS, "m", [step, {"op": "remove", "path": "/data"}], JSON_PATCH)
    answer.refused(422, "Invalid", REJECTED)
    assert (await api.get(CONFIGMAPS, "m"))["data"] == {"a": "1"}


async def test_merge_changes_adds_and_takes_away(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, config_map("m", a="1", b="2"))
    patch = {"data": {"a": "9", "b": None, "c": "3"}}
    assert (await api.patch(CONFIGMAPS, "m", patch)).ok()["data"] == {"a": "9", "c": "3"}


async def test_merge_replaces_lists(api: CaseApi) -> None:
    await api.given(DEPLOYMENTS, workload("w"))
    containers = [{"name": "other", "image": "i"}]
    patched = (
        await api.patch(DEPLOYMENTS, "w", {"spec": {"template": {"spec": {"containers": containers}}}})
    ).ok()
    assert [one["name"] for one in patched["spec"]["template"]["spec"]["containers"]] == ["other"]


async def test_strategic_merges_lists_by_key(api: CaseApi) -> None:
    await api.given(DEPLOYMENTS, workload("w"))
    containers = [{"name": "c", "image": "new"}, {"name": "d", "image": "j"}]
    patch = {"spec": {"template": {"spec": {"containers": containers}}}}
    patched = (await api.patch(DEPLOYMENTS, "w", patch, STRATEGIC_PATCH)).ok()
    found = [(one["name"], one["image"]) for one in patched["spec"]["template"]["spec"]["containers"]]
    assert sorted(found) == [("c", "new"), ("d", "j")]


async def test_strategic_deletes_from_lists(api: CaseApi) -> None:
    await api.given(DEPLOYMENTS, workload("w"))
    await api.given_patch(
        DEPLOYMENTS,
        "w",
        {
            "spec": {
                "template": {
                    "spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "j"}]}
                }
            }
        },
    )
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "d", "$patch": "delete"}]}}}}
    patched = (await api.patch(DEPLOYMENTS, "w", patch, STRATEGIC_PATCH)).ok()
    assert [one["name"] for one in patched["spec"]["template"]["spec"]["containers"]] == ["c"]


async def test_strategic_replaces_maps(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, config_map("m", a="1"))
    patch = {"data": {"$patch": "replace", "b": "2"}}
    assert (await api.patch(CONFIGMAPS, "m", patch, STRATEGIC_PATCH)).ok()["data"] == {"b": "2"}


async def test_strategic_merges_lists_of_words(api: CaseApi) -> None:
    obj = config_map("m")
    obj["metadata"]["finalizers"] = ["example.com/a"]
    await api.given(CONFIGMAPS, obj)
    patch = {"metadata": {"finalizers": ["example.com/b"]}}
    patched = (await api.patch(CONFIGMAPS, "m", patch, STRATEGIC_PATCH)).ok()
    assert sorted(patched["metadata"]["finalizers"]) == ["example.com/a", "example.com/b"]
    removal = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a", "example.com/b"]}}
    patched = (await api.patch(CONFIGMAPS, "m", removal, STRATEGIC_PATCH)).ok()
    assert "finalizers" not in patched["metadata"]


async def test_strategic_merges_conditions_by_type(api: CaseApi) -> None:
    await api.given(PODS, pod("p", node="n"))
    await api.given_status(PODS, "p", {"conditions": [condition("Ready", "False"), condition("a.example/x")]})
    path = api.at(PODS, "p", "status")
    patch = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    await api.arm.given("PATCH", path, patch, content_type=STRATEGIC_PATCH)
    found = {one["type"]: one["status"] for one in (await api.get(PODS, "p"))["status"]["conditions"]}
    assert (found["Ready"], found["a.example/x"]) == ("True", "True")


@pytest.mark.parametrize(
    "form", [MERGE_PATCH, STRATEGIC_PATCH, JSON_PATCH], ids=["merge", "strategic", "json"]
)
async def test_something_that_is_not_there(api: CaseApi, form: str) -> None:
    patch: object = [] if form == JSON_PATCH else {"data": {"a": "1"}}
    answer = await api.patch(CONFIGMAPS, "none", patch, form)
    answer.refused(404, "NotFound", 'configmaps "none" not found')


async def test_a_patch_cannot_rename(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, config_map("m"))
    answer = await api.patch(CONFIGMAPS, "m", {"metadata": {"name": "n"}})
    message = "the name of the object (n) does not match the name on the URL (m)"
    answer.refused(400, "BadRequest", message)


async def test_a_patch_is_validated(api: CaseApi) -> None:
    await api.given(DEPLOYMENTS, workload("w"))
    answer = await api.patch(DEPLOYMENTS, "w", {"spec": {"replicas": -1}})
    field_error = "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
    answer.refused(
        422, "Invalid", f'Deployment.apps "w" is invalid: {field_error}', field_errors=[field_error]
    )


@without("kubectl", because="kubectl reads the patch itself before it sends it")
@pytest.mark.parametrize(
    "form", [MERGE_PATCH, STRATEGIC_PATCH, JSON_PATCH], ids=["merge", "strategic", "json"]
)
async def test_a_patch_that_is_no_json(api: CaseApi, form: str) -> None:
    await api.given(SERVICEACCOUNTS, named("s"))
    answer = await api.patch(SERVICEACCOUNTS, "s", b'{"metadata":', form)
    answer.refused(400, "BadRequest")


@without("kubectl", because="kubectl patch knows three forms only")
async def test_a_form_that_nobody_knows(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, config_map("m"))
    answer = await api.patch(CONFIGMAPS, "m", {"data": {"a": "1"}}, "application/json")
    answer.refused(415, "UnsupportedMediaType", "415: Unsupported Media Type")


@without("kubectl", because="kubectl makes a patch of its own where it can read the object")
@pytest.mark.parametrize(
    "patch",
    [
        {"replicas": "x"},
        {"replicas": 1.5},
        {"strategy": {"type": 5}},
        {"paused": "x", "replicas": True},
        {"template": []},
        {"selector": {"matchLabels": ["a"], "$retainKeys": ["matchLabels"]}},
        {"minReadySeconds": [None, {"a": None}]},
    ],
)
async def test_strategic_refuses_wrong_types(api: CaseApi, patch: Obj) -> None:
    await api.given(DEPLOYMENTS, workload("w"))
    answer = await api.patch(DEPLOYMENTS, "w", {"spec": patch}, STRATEGIC_PATCH)
    answer.refused(422, "Invalid").caused_in(("FieldValueInvalid", "patch"))


async def test_strategic_refuses_numbers_out_of_range(api: CaseApi) -> None:
    await api.given(DEPLOYMENTS, workload("w"))
    answer = await api.patch(DEPLOYMENTS, "w", b'{"spec":{"replicas":8589934599}}', STRATEGIC_PATCH)
    (field_error,) = answer.refused(422, "Invalid").field_errors
    assert field_error.endswith("spec.replicas: expected a 32-bit integer, got 8589934599")


async def test_strategic_takes_whole_numbers(api: CaseApi) -> None:
    await api.given(DEPLOYMENTS, workload("w"))
    patched = await api.patch(DEPLOYMENTS, "w", b'{"spec":{"replicas":3.0}}', STRATEGIC_PATCH)
    assert patched.ok()["spec"]["replicas"] == 3


async def test_a_patch_that_makes_something_else_of_it(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, config_map("m"))
    answer = await api.patch(CONFIGMAPS, "m", [{"op": "add", "path": "/kind", "value": "Pod"}], JSON_PATCH)
    assert len(answer.refused(422, "Invalid").field_errors) == 1
    unknown = [{"op": "add", "path": "/kind", "value": "Cat"}, {"op": "add", "path": "/data", "value": 5}]
    (field_error,) = (
        (await api.patch(CONFIGMAPS, "m", unknown, JSON_PATCH)).refused(422, "Invalid").field_errors
    )
    assert 'no kind "Cat" is registered for version "v1"' in field_error
