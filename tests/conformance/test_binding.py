"""pods/binding: a pod gets its node, once."""

from __future__ import annotations

from typing import Any

from support.arms import Answer, Obj
from support.arms_marks import CONFORMANCE
from support.arms_objects import pod
from support.arms_scene import Scene
from vacate.api.kinds import PODS

pytestmark = CONFORMANCE


async def bind(scene: Scene, node: str = "n", *, target: Obj | None = None, **more: Any) -> Answer:
    meta = {"name": more.pop("name", "p"), **more.pop("meta", {})}
    aim = {"kind": "Node", "name": node} if target is None else target
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": aim}
    return await scene.ask("POST", PODS, "p", "binding", body, **more)


def conflict(why: str) -> str:
    return f'Operation cannot be fulfilled on pods/binding "p": {why}'


async def test_binds(scene: Scene) -> None:
    await scene.given(PODS, pod("p"))
    answer = (await bind(scene, meta={"annotations": {"a": "b"}})).ok(201)
    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    read = await scene.get(PODS, "p")
    assert read["spec"]["nodeName"] == "n"
    assert read["metadata"]["annotations"] == {"a": "b"}
    scheduled = [one for one in read["status"]["conditions"] if one["type"] == "PodScheduled"]
    assert [one["status"] for one in scheduled] == ["True"]


async def test_only_once(scene: Scene) -> None:
    await scene.given(PODS, pod("p", node="n1"))
    (await bind(scene, "n2")).refused(409, "Conflict", conflict('pod p is already assigned to node "n1"'))


async def test_not_while_it_goes(scene: Scene) -> None:
    held = pod("p")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await scene.given(PODS, held)
    await scene.arm.drop(scene.at(PODS, "p"))
    (await bind(scene)).refused(
        409, "Conflict", conflict("pod p is being deleted, cannot be assigned to a host")
    )
    await scene.given_patch(PODS, "p", {"metadata": {"finalizers": None}})


async def test_not_behind_a_gate(scene: Scene) -> None:
    await scene.given(PODS, pod("p", schedulingGates=[{"name": "example.com/gate"}]))
    (await bind(scene)).refused(409, "Conflict", conflict("pod p has non-empty .spec.schedulingGates"))


async def test_something_that_is_not_there(scene: Scene) -> None:
    (await bind(scene)).refused(404, "NotFound", 'pods "p" not found')


async def test_another_pod(scene: Scene) -> None:
    created = await scene.given(PODS, pod("p"))
    answer = await bind(scene, meta={"uid": "other"})
    why = f"Precondition failed: UID in precondition: other, UID in object meta: {created['metadata']['uid']}"
    start = 'Operation cannot be fulfilled on pods "p": StorageError: invalid object'
    answer.refused(409, "Conflict", starting=start)
    assert str(answer.message).endswith(why)


async def test_another_name(scene: Scene) -> None:
    await scene.given(PODS, pod("p"))
    answer = await bind(scene, name="q")
    answer.refused(400, "BadRequest", "name in URL does not match name in Binding object")


async def test_no_target(scene: Scene) -> None:
    await scene.given(PODS, pod("p"))
    answer = await bind(scene, target={"kind": "Node"})
    answer.refused(500, "", "target.name: Required value")


async def test_dry_run(scene: Scene) -> None:
    await scene.given(PODS, pod("p"))
    (await bind(scene, query={"dryRun": "All"})).ok(201)
    assert "nodeName" not in (await scene.get(PODS, "p"))["spec"]
