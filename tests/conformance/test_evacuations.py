"""Evacuations by every verb, where their feature gate is open."""

from __future__ import annotations

from support.arms import JSON_PATCH, Obj
from support.arms_kube import REAL
from support.arms_marks import CONFORMANCE, without
from support.arms_objects import pod
from support.arms_scene import Scene, names, told
from vacate.api.kinds import EVACUATIONS as KIND
from vacate.api.kinds import PODS

pytestmark = [CONFORMANCE, without(REAL, because="its definition is not part of an installation")]

INSTIGATOR = f"{KIND.group}/instigator_drain.example.com"


async def wanted(scene: Scene, base: str = "web", **labels: str) -> Obj:
    target = (await scene.given(PODS, pod(base, labels={"app": base, **labels})))["metadata"]
    return {
        "apiVersion": KIND.api_version,
        "kind": KIND.kind,
        "metadata": {"name": f"{target['uid']}-{target['name']}", "finalizers": [INSTIGATOR]},
        "spec": {"podRef": {"name": target["name"], "uid": target["uid"]}},
    }


async def made(scene: Scene, base: str = "web", **labels: str) -> Obj:
    return await scene.given(KIND, await wanted(scene, base, **labels))


async def test_create(scene: Scene) -> None:
    one = await scene.create(KIND, await wanted(scene))
    assert one["spec"]["progressDeadlineSeconds"] == 1800
    assert one["status"]["evacuationCancellationPolicy"] == "Allow"
    assert one["metadata"]["labels"]["app"] == "web"


async def test_get(scene: Scene) -> None:
    one = await made(scene)
    assert await scene.get(KIND, one["metadata"]["name"]) == one


async def test_list(scene: Scene) -> None:
    one = await made(scene)
    await made(scene, "other")
    assert names(await scene.listed(KIND, {"labelSelector": "app=web"})) == [one["metadata"]["name"]]


async def test_update(scene: Scene) -> None:
    one = await made(scene)
    joined = f"{KIND.group}/instigator_upgrade.example.com"
    changed = {**one, "metadata": {**one["metadata"], "finalizers": [INSTIGATOR, joined]}}
    assert (await scene.put(KIND, changed)).ok()["metadata"]["finalizers"] == [INSTIGATOR, joined]
    later = {**one, "spec": {**one["spec"], "progressDeadlineSeconds": 900}}
    later["metadata"] = await version(scene, one)
    assert (await scene.put(KIND, later)).code in (None, 422)


async def test_patch(scene: Scene) -> None:
    name = (await made(scene))["metadata"]["name"]
    await scene.given_patch(KIND, name, {"metadata": {"annotations": {"a": "b"}}})
    steps = [{"op": "add", "path": "/metadata/annotations/c", "value": "d"}]
    changed = (await scene.patch(KIND, name, steps, JSON_PATCH)).ok()
    assert {"a": "b", "c": "d"}.items() <= changed["metadata"]["annotations"].items()


async def test_status(scene: Scene) -> None:
    name = (await made(scene))["metadata"]["name"]
    assert (await scene.given_status(KIND, name, {"message": "Draining"}))["status"]["message"] == "Draining"


async def test_watch(scene: Scene) -> None:
    since = await scene.version(KIND)
    name = (await made(scene))["metadata"]["name"]
    await scene.given_status(KIND, name, {"message": "Draining"})
    events = await scene.watch(KIND, {"resourceVersion": since, "fieldSelector": f"metadata.name={name}"}, 2)
    assert told(events) == [("ADDED", name), ("MODIFIED", name)]


async def test_delete(scene: Scene) -> None:
    name = (await made(scene))["metadata"]["name"]
    (await scene.delete(KIND, name)).ok()
    await scene.given_patch(KIND, name, {"metadata": {"finalizers": []}})
    await scene.gone(KIND, name)


async def test_deletecollection(scene: Scene) -> None:
    one, other = (await made(scene))["metadata"]["name"], (await made(scene, "other"))["metadata"]["name"]
    (await scene.ask("DELETE", KIND, query={"labelSelector": "app=web"})).ok()
    await scene.given_patch(KIND, one, {"metadata": {"finalizers": []}})
    await scene.gone(KIND, one)
    await scene.get(KIND, other)


async def version(scene: Scene, one: Obj) -> Obj:
    """The metadata as it is stored now."""
    found: Obj = (await scene.get(KIND, one["metadata"]["name"]))["metadata"]
    return found
