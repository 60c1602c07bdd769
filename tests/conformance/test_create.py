"""Creating: names that the server makes up, dry runs, and what a creator may not decide."""

from __future__ import annotations

import re

import pytest

from support.arms.arm import MERGE_PATCH
from support.arms.caseapi import CaseApi, names
from support.arms.marks import CONFORMANCE
from support.arms.objects import config_map, named, pod, workload
from vacate.api.kinds import CONFIGMAPS, DEPLOYMENTS, NAMESPACES, PODS

pytestmark = CONFORMANCE

ALL = {"dryRun": "All"}
SUFFIX = "[bcdfghjklmnpqrstvwxz2456789]{5}"


async def test_a_generated_name(api: CaseApi) -> None:
    created = await api.create(CONFIGMAPS, {"metadata": {"generateName": "cfg-"}})
    assert re.fullmatch(f"cfg-{SUFFIX}", created["metadata"]["name"])
    assert created["metadata"]["generateName"] == "cfg-"


async def test_generated_names_differ(api: CaseApi) -> None:
    made = [await api.create(CONFIGMAPS, {"metadata": {"generateName": "x-"}}) for _ in range(3)]
    assert len({one["metadata"]["name"] for one in made}) == 3


async def test_a_name_beats_a_generated_one(api: CaseApi) -> None:
    created = await api.create(CONFIGMAPS, {"metadata": {"generateName": "x-", "name": "y"}})
    assert created["metadata"]["name"] == "y"


async def test_a_long_prefix_is_cut(api: CaseApi) -> None:
    created = await api.create(CONFIGMAPS, {"metadata": {"generateName": "a" * 70}})
    assert re.fullmatch(f"a{{58}}{SUFFIX}", created["metadata"]["name"])


async def test_no_name_at_all(api: CaseApi) -> None:
    answer = await api.post(CONFIGMAPS, {"metadata": {}})
    field_error = "metadata.name: Required value: name or generateName is required"
    answer.refused(422, "Invalid", f'ConfigMap "" is invalid: {field_error}', field_errors=[field_error])


async def test_kind_and_version_may_be_left_out(api: CaseApi) -> None:
    created = await api.create(CONFIGMAPS, {"metadata": {"name": "m"}})
    assert (created["kind"], created["apiVersion"]) == ("ConfigMap", "v1")


async def test_the_server_alone_says_who_and_when(api: CaseApi) -> None:
    obj = config_map("m")
    obj["metadata"] |= {
        "uid": "mine",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 5,
        "selfLink": "/x",
    }
    meta = (await api.create(CONFIGMAPS, obj))["metadata"]
    assert meta["uid"] != "mine"
    assert meta["creationTimestamp"] != "2001-01-01T00:00:00Z"
    assert not {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} & meta.keys()


async def test_generations_are_counted_for_some_kinds_only(api: CaseApi) -> None:
    """Others keep what their creator says, and no update changes it."""
    counted, kept = workload("w"), config_map("m")
    for obj in (counted, kept):
        obj["metadata"]["generation"] = 7
    assert (await api.create(DEPLOYMENTS, counted))["metadata"]["generation"] == 1
    assert (await api.create(CONFIGMAPS, kept))["metadata"]["generation"] == 7
    kept["metadata"]["generation"] = 8
    kept["data"] = {"a": "b"}
    assert (await api.put(CONFIGMAPS, kept)).ok()["metadata"]["generation"] == 7


async def test_status_is_not_for_creators(api: CaseApi) -> None:
    obj = workload("w")
    obj["status"] = {"replicas": 7, "observedGeneration": 7}
    created = await api.create(DEPLOYMENTS, obj)
    assert not created.get("status", {}).get("replicas")


async def test_the_namespace_of_the_address_counts(api: CaseApi) -> None:
    obj = config_map("m")
    obj["metadata"]["namespace"] = "elsewhere"
    answer = await api.post(CONFIGMAPS, obj)
    message = "the namespace of the provided object does not match the namespace sent on the request"
    answer.refused(400, "BadRequest", message)


async def test_another_name_than_the_address(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, config_map("m"))
    answer = await api.ask("PUT", CONFIGMAPS, "m", body=config_map("n"))
    message = "the name of the object (n) does not match the name on the URL (m)"
    answer.refused(400, "BadRequest", message)


async def test_dry_run_of_a_create(api: CaseApi) -> None:
    shown = await api.create(PODS, pod("p"), query=ALL)
    assert shown["metadata"]["uid"]
    assert shown["spec"]["restartPolicy"] == "Always"
    await api.gone(PODS, "p")


async def test_dry_run_of_a_create_that_exists(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, config_map("m"))
    answer = await api.post(CONFIGMAPS, config_map("m"), query=ALL)
    answer.refused(409, "AlreadyExists", 'configmaps "m" already exists')


async def test_dry_run_validates(api: CaseApi) -> None:
    answer = await api.post(PODS, pod("p", restartPolicy="Sometimes"), query=ALL)
    values = 'supported values: "Always", "OnFailure", "Never"'
    answer.refused(422, "Invalid")
    assert f'spec.restartPolicy: Unsupported value: "Sometimes": {values}' in answer.field_errors


async def test_dry_run_of_an_update(api: CaseApi) -> None:
    old = await api.given(CONFIGMAPS, config_map("m", a="1"))
    shown = (await api.put(CONFIGMAPS, config_map("m", a="2"), query=ALL)).ok()
    assert shown["data"] == {"a": "2"}
    read = await api.get(CONFIGMAPS, "m")
    assert (read["data"], read["metadata"]["resourceVersion"]) == (
        {"a": "1"},
        old["metadata"]["resourceVersion"],
    )


async def test_dry_run_of_a_patch(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, config_map("m", a="1"))
    shown = (await api.patch(CONFIGMAPS, "m", {"data": {"a": "2"}}, MERGE_PATCH, query=ALL)).ok()
    assert shown["data"] == {"a": "2"}
    assert (await api.get(CONFIGMAPS, "m"))["data"] == {"a": "1"}


async def test_dry_run_of_a_delete(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, config_map("m"))
    (await api.delete(CONFIGMAPS, "m", query=ALL)).ok()
    (await api.delete(CONFIGMAPS, "m", {"dryRun": ["All"]})).ok()
    await api.get(CONFIGMAPS, "m")


async def test_dry_run_of_a_collections_deletion(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, config_map("m"))
    (await api.ask("DELETE", CONFIGMAPS, query=ALL)).ok()
    assert "m" in names(await api.listed(CONFIGMAPS))


@pytest.mark.parametrize(
    ("method", "options"),
    [("POST", "CreateOptions"), ("PUT", "UpdateOptions"), ("DELETE", "DeleteOptions")],
)
async def test_dry_run_of_something_unknown(api: CaseApi, method: str, options: str) -> None:
    await api.given(CONFIGMAPS, config_map("m"))
    body = None if method == "DELETE" else config_map("m")
    name = "" if method == "POST" else "m"
    answer = await api.ask(method, CONFIGMAPS, name, body=body, query={"dryRun": "Some"})
    field_error = 'dryRun: Unsupported value: ["Some"]: supported values: "All"'
    answer.refused(
        422, "Invalid", f'{options}.meta.k8s.io "" is invalid: {field_error}', field_errors=[field_error]
    )


async def test_a_namespace_gets_a_label_with_its_name(api: CaseApi) -> None:
    name = api.unique("ns")
    created = await api.create(NAMESPACES, named(name))
    assert created["metadata"]["labels"] == {"kubernetes.io/metadata.name": name}
    assert created["spec"]["finalizers"] == ["kubernetes"]
    assert created["status"]["phase"] == "Active"
