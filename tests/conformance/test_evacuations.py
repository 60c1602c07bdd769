"""Evacuations by every verb, where their feature gate is open."""

from __future__ import annotations

from support.arms.arm import JSON_PATCH, Obj
from support.arms.caseapi import CaseApi, names, types_and_names
from support.arms.kube import REAL
from support.arms.marks import CONFORMANCE, without
from support.arms.objects import pod
from vacate.api.kinds import EVACUATIONS as KIND
from vacate.api.kinds import PODS

pytestmark = [CONFORMANCE, without(REAL, because="its definition is not part of an installation")]

INSTIGATOR = f"{KIND.group}/instigator_drain.example.com"


async def wanted(api: CaseApi, base: str = "web", **labels: str) -> Obj:
    target = (await api.given(PODS, pod(base, labels={"app": base, **labels})))["metadata"]
    return {
        "apiVersion": KIND.api_version,
        "kind": KIND.kind,
        "metadata": {"name": f"{target['uid']}-{target['name']}", "finalizers": [INSTIGATOR]},
        "spec": {"podRef": {"name": target["name"], "uid": target["uid"]}},
    }


async def made(api: CaseApi, base: str = "web", **labels: str) -> Obj:
    return await api.given(KIND, await wanted(api, base, **labels))


async def test_create(api: CaseApi) -> None:
    one = await api.create(KIND, await wanted(api))
    assert one["spec"]["progressDeadlineSeconds"] == 1800
    assert one["status"]["evacuationCancellationPolicy"] == "Allow"
    assert one["metadata"]["labels"]["app"] == "web"


async def test_get(api: CaseApi) -> None:
    one = await made(api)
    assert await api.get(KIND, one["metadata"]["name"]) == one


async def test_list(api: CaseApi) -> None:
    one = await made(api)
    await made(api, "other")
    assert names(await api.listed(KIND, {"labelSelector": "app=web"})) == [one["metadata"]["name"]]


async def test_update(api: CaseApi) -> None:
    one = await made(api)
    joined = f"{KIND.group}/instigator_upgrade.example.com"
    changed = {**one, "metadata": {**one["metadata"], "finalizers": [INSTIGATOR, joined]}}
    assert (await api.put(KIND, changed)).ok()["metadata"]["finalizers"] == [INSTIGATOR, joined]
    later = {**one, "spec": {**one["spec"], "progressDeadlineSeconds": 900}}
    later["metadata"] = await version(api, one)
    assert (await api.put(KIND, later)).code in (None, 422)


async def test_patch(api: CaseApi) -> None:
    name = (await made(api))["metadata"]["name"]
    await api.given_patch(KIND, name, {"metadata": {"annotations": {"a": "b"}}})
    steps = [{"op": "add", "path": "/metadata/annotations/c", "value": "d"}]
    changed = (await api.patch(KIND, name, steps, JSON_PATCH)).ok()
    assert {"a": "b", "c": "d"}.items() <= changed["metadata"]["annotations"].items()


async def test_status(api: CaseApi) -> None:
    name = (await made(api))["metadata"]["name"]
    assert (await api.given_status(KIND, name, {"message": "Draining"}))["status"]["message"] == "Draining"


async def test_watch(api: CaseApi) -> None:
    since = await api.version(KIND)
    name = (await made(api))["metadata"]["name"]
    await api.given_status(KIND, name, {"message": "Draining"})
    events = await api.watch(KIND, {"resourceVersion": since, "fieldSelector": f"metadata.name={name}"}, 2)
    assert types_and_names(events) == [("ADDED", name), ("MODIFIED", name)]


async def test_delete(api: CaseApi) -> None:
    name = (await made(api))["metadata"]["name"]
    (await api.delete(KIND, name)).ok()
    await api.given_patch(KIND, name, {"metadata": {"finalizers": []}})
    await api.gone(KIND, name)


async def test_deletecollection(api: CaseApi) -> None:
    one, other = (await made(api))["metadata"]["name"], (await made(api, "other"))["metadata"]["name"]
    (await api.ask("DELETE", KIND, query={"labelSelector": "app=web"})).ok()
    await api.given_patch(KIND, one, {"metadata": {"finalizers": []}})
    await api.gone(KIND, one)
    await api.get(KIND, other)


async def version(api: CaseApi, one: Obj) -> Obj:
    """The metadata as it is stored now."""
    found: Obj = (await api.get(KIND, one["metadata"]["name"]))["metadata"]
    return found
