"""FencingPolicies by every verb, as custom resources are."""

from __future__ import annotations

from support.arms import JSON_PATCH, Obj
from support.arms_kube import REAL
from support.arms_marks import CONFORMANCE, without
from support.arms_scene import Scene, names, told
from vacate.api.kinds import FENCINGPOLICIES as KIND

pytestmark = [CONFORMANCE, without(REAL, because="its definition is not there without an installation")]


AGENT = {"command": {"program": "fence_redfish"}}


def policy(scene: Scene, base: str = "rack", **labels: str) -> Obj:
    meta = {"name": scene.unique(base), "labels": labels}
    return {
        "apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": meta, "spec": {"agent": AGENT},
    }  # fmt: skip


async def made(scene: Scene, base: str = "rack", **labels: str) -> Obj:
    return await scene.given(KIND, policy(scene, base, **labels))


async def test_create(scene: Scene) -> None:
    one = await scene.create(KIND, policy(scene))
    assert (one["status"], one["spec"]["when"], one["metadata"]["generation"]) == ({}, "PodsWait", 1)


async def test_get(scene: Scene) -> None:
    one = await made(scene)
    assert await scene.get(KIND, one["metadata"]["name"]) == one


async def test_list(scene: Scene) -> None:
    one = await made(scene, of=scene.unique("us"))
    await made(scene, "other")
    assert names(await scene.listed(KIND, {"labelSelector": f"of={scene.unique('us')}"})) == [
        one["metadata"]["name"]
    ]


async def test_update(scene: Scene) -> None:
    one = await made(scene)
    changed = (await scene.put(KIND, {**one, "spec": {**one["spec"], "approval": "Manual"}})).ok()
    assert (changed["spec"]["approval"], changed["metadata"]["generation"]) == ("Manual", 2)
    unguarded = {**one, "metadata": {"name": one["metadata"]["name"]}}
    (await scene.put(KIND, unguarded)).refused(
        422, "Invalid", f'{KIND.resource} "{one["metadata"]["name"]}" is invalid: metadata.resourceVersion: '
        "Invalid value: 0: must be specified for an update",
    )  # fmt: skip


async def test_patch(scene: Scene) -> None:
    name = (await made(scene))["metadata"]["name"]
    await scene.given_patch(KIND, name, {"spec": {"minHealthy": "60%"}})
    steps = [{"op": "add", "path": "/spec/maxFenced", "value": 2}]
    changed = (await scene.patch(KIND, name, steps, JSON_PATCH)).ok()
    assert (changed["spec"]["minHealthy"], changed["spec"]["maxFenced"]) == ("60%", 2)


async def test_status(scene: Scene) -> None:
    name = (await made(scene))["metadata"]["name"]
    changed = await scene.given_status(KIND, name, {"message": "all report", "nodesFenced": 1})
    assert changed["status"] == {"message": "all report", "nodesFenced": 1}


async def test_watch(scene: Scene) -> None:
    since = await scene.version(KIND)
    one = await made(scene)
    name = one["metadata"]["name"]
    await scene.given_status(KIND, name, {"nodesFenced": 1})
    await scene.delete(KIND, name)
    events = await scene.watch(KIND, {"resourceVersion": since, "fieldSelector": f"metadata.name={name}"}, 3)
    assert told(events) == [("ADDED", name), ("MODIFIED", name), ("DELETED", name)]


async def test_delete(scene: Scene) -> None:
    name = (await made(scene))["metadata"]["name"]
    (await scene.delete(KIND, name)).ok()
    await scene.gone(KIND, name)


async def test_deletecollection(scene: Scene) -> None:
    one, other = await made(scene, of=scene.unique("us")), await made(scene, "other")
    (await scene.ask("DELETE", KIND, query={"labelSelector": f"of={scene.unique('us')}"})).ok()
    await scene.gone(KIND, one["metadata"]["name"])
    await scene.get(KIND, other["metadata"]["name"])
