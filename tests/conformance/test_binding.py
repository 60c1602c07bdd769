"""pods/binding: a pod gets its node, once."""

from __future__ import annotations

import asyncio
from typing import Any

from support.arms import Answer, Obj
from support.arms_marks import CONFORMANCE
from support.arms_objects import named, pod
from support.arms_scene import Scene
from vacate.api.kinds import NODES, PODS

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


async def a_node(scene: Scene, **labels: str) -> str:
    """A node that the server's admission has heard of, which a real one does in its own time."""
    name = scene.unique("n")
    places = {f"topology.kubernetes.io/{key}": value for key, value in labels.items()}
    await scene.given(NODES, named(name, meta={"labels": {"other": "label", **places}}))
    probe = pod("probe", node=name, labels={})
    async with asyncio.timeout(20):
        while not (await scene.create(PODS, probe, query={"dryRun": "All"}))["metadata"].get("labels"):
            pass
    return name


async def test_a_pod_has_the_zone_and_the_region_of_its_node(scene: Scene) -> None:
    node = await a_node(scene, zone="z1", region="r1")
    places = {"topology.kubernetes.io/zone": "z1", "topology.kubernetes.io/region": "r1"}
    await scene.given(PODS, pod("p", labels={"a": "b", "topology.kubernetes.io/zone": "mine"}))
    (await bind(scene, node)).ok(201)
    assert (await scene.get(PODS, "p"))["metadata"]["labels"] == {"a": "b", **places}
    there = await scene.create(PODS, pod("q", node=node, labels={}))
    assert there["metadata"]["labels"] == places
    await scene.given(PODS, pod("r", labels={"a": "b"}))
    unnamed = {"metadata": {"name": "r"}, "target": {"name": node}}
    (await scene.ask("POST", PODS, "r", "binding", unnamed)).ok(201)
    assert (await scene.get(PODS, "r"))["metadata"]["labels"] == {"a": "b"}  # only where the kind is said


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
