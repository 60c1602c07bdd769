"""DeschedulingPolicies by every verb, as custom resources are."""

from __future__ import annotations

from support.arms import JSON_PATCH, Obj
from support.arms_kube import REAL
from support.arms_marks import CONFORMANCE, without
from support.arms_scene import Scene, names, told
from vacate.api.kinds import DESCHEDULINGPOLICIES as KIND

pytestmark = [CONFORMANCE, without(REAL, because="its definition is not there without an installation")]


def policy(scene: Scene, base: str = "tidy", **labels: str) -> Obj:
    meta = {"name": scene.unique(base), "labels": labels}
    spec = {"rules": ["NodeTaints"]}
    return {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": meta, "spec": spec}


async def made(scene: Scene, base: str = "tidy", **labels: str) -> Obj:
    return await scene.given(KIND, policy(scene, base, **labels))


async def test_create(scene: Scene) -> None:
    one = await scene.create(KIND, policy(scene))
    assert (one["status"], one["spec"]["mode"], one["metadata"]["generation"]) == ({}, "Report", 1)


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
    changed = (await scene.put(KIND, {**one, "spec": {**one["spec"], "reason": "kernel"}})).ok()
    assert (changed["spec"]["reason"], changed["metadata"]["generation"]) == ("kernel", 2)
    unguarded = {**one, "metadata": {"name": one["metadata"]["name"]}}
    (await scene.put(KIND, unguarded)).refused(
        422, "Invalid", f'{KIND.resource} "{one["metadata"]["name"]}" is invalid: metadata.resourceVersion: '
        "Invalid value: 0: must be specified for an update",
    )  # fmt: skip


async def test_patch(scene: Scene) -> None:
    name = (await made(scene))["metadata"]["name"]
    await scene.given_patch(KIND, name, {"spec": {"maxTotal": 5}})
    steps = [{"op": "add", "path": "/spec/rules/-", "value": "NodeAffinity"}]
    changed = (await scene.patch(KIND, name, steps, JSON_PATCH)).ok()
    assert (changed["spec"]["maxTotal"], changed["spec"]["rules"]) == (5, ["NodeTaints", "NodeAffinity"])


async def test_status(scene: Scene) -> None:
    name = (await made(scene))["metadata"]["name"]
    changed = await scene.given_status(KIND, name, {"message": "x", "violations": 5})
    assert changed["status"] == {"message": "x", "violations": 5}


async def test_watch(scene: Scene) -> None:
    since = await scene.version(KIND)
    one = await made(scene)
    name = one["metadata"]["name"]
    await scene.given_status(KIND, name, {"message": "x"})
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
