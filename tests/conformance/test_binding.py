"""pods/binding: a pod gets its node, once."""

from __future__ import annotations

import asyncio
from typing import Any

from support.arms.arm import Answer, Obj
from support.arms.caseapi import CaseApi
from support.arms.marks import CONFORMANCE
from support.arms.objects import named, pod
from vacate.api.kinds import NODES, PODS

pytestmark = CONFORMANCE


async def bind(api: CaseApi, node: str = "n", *, target: Obj | None = None, **more: Any) -> Answer:
    meta = {"name": more.pop("name", "p"), **more.pop("meta", {})}
    aim = {"kind": "Node", "name": node} if target is None else target
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": aim}
    return await api.ask("POST", PODS, "p", "binding", body, **more)


def conflict(why: str) -> str:
    return f'Operation cannot be fulfilled on pods/binding "p": {why}'


async def test_binds(api: CaseApi) -> None:
    await api.given(PODS, pod("p"))
    answer = (await bind(api, meta={"annotations": {"a": "b"}})).ok(201)
    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    read = await api.get(PODS, "p")
    assert read["spec"]["nodeName"] == "n"
    assert read["metadata"]["annotations"] == {"a": "b"}
    scheduled = [one for one in read["status"]["conditions"] if one["type"] == "PodScheduled"]
    assert [one["status"] for one in scheduled] == ["True"]


async def a_node(api: CaseApi, **labels: str) -> str:
    """A node that the server's admission has heard of, which a real one does in its own time."""
    name = api.unique("n")
    places = {f"topology.kubernetes.io/{key}": value for key, value in labels.items()}
    await api.given(NODES, named(name, meta={"labels": {"other": "label", **places}}))
    probe = pod("probe", node=name, labels={})
    async with asyncio.timeout(60):
        while not (await api.create(PODS, probe, query={"dryRun": "All"}))["metadata"].get("labels"):
            pass
    return name


async def test_a_pod_has_the_zone_and_the_region_of_its_node(api: CaseApi) -> None:
    node = await a_node(api, zone="z1", region="r1")
    places = {"topology.kubernetes.io/zone": "z1", "topology.kubernetes.io/region": "r1"}
    await api.given(PODS, pod("p", labels={"a": "b", "topology.kubernetes.io/zone": "mine"}))
    (await bind(api, node)).ok(201)
    assert (await api.get(PODS, "p"))["metadata"]["labels"] == {"a": "b", **places}
    there = await api.create(PODS, pod("q", node=node, labels={}))
    assert there["metadata"]["labels"] == places
    await api.given(PODS, pod("r", labels={"a": "b"}))
    unnamed = {"metadata": {"name": "r"}, "target": {"name": node}}
    (await api.ask("POST", PODS, "r", "binding", unnamed)).ok(201)
    assert (await api.get(PODS, "r"))["metadata"]["labels"] == {"a": "b"}  # only where the kind is given


async def test_only_once(api: CaseApi) -> None:
    await api.given(PODS, pod("p", node="n1"))
    (await bind(api, "n2")).refused(409, "Conflict", conflict('pod p is already assigned to node "n1"'))


async def test_not_while_it_goes(api: CaseApi) -> None:
    held = pod("p")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await api.given(PODS, held)
    await api.arm.drop(api.at(PODS, "p"))
    (await bind(api)).refused(
        409, "Conflict", conflict("pod p is being deleted, cannot be assigned to a host")
    )
    await api.given_patch(PODS, "p", {"metadata": {"finalizers": None}})


async def test_not_behind_a_gate(api: CaseApi) -> None:
    await api.given(PODS, pod("p", schedulingGates=[{"name": "example.com/gate"}]))
    (await bind(api)).refused(409, "Conflict", conflict("pod p has non-empty .spec.schedulingGates"))


async def test_something_that_is_not_there(api: CaseApi) -> None:
    (await bind(api)).refused(404, "NotFound", 'pods "p" not found')


async def test_another_pod(api: CaseApi) -> None:
    created = await api.given(PODS, pod("p"))
    answer = await bind(api, meta={"uid": "other"})
    why = f"Precondition failed: UID in precondition: other, UID in object meta: {created['metadata']['uid']}"
    start = 'Operation cannot be fulfilled on pods "p": StorageError: invalid object'
    answer.refused(409, "Conflict", starting=start)
    assert str(answer.message).endswith(why)


async def test_another_name(api: CaseApi) -> None:
    await api.given(PODS, pod("p"))
    answer = await bind(api, name="q")
    answer.refused(400, "BadRequest", "name in URL does not match name in Binding object")


async def test_no_target(api: CaseApi) -> None:
    await api.given(PODS, pod("p"))
    answer = await bind(api, target={"kind": "Node"})
    answer.refused(500, "", "target.name: Required value")


async def test_dry_run(api: CaseApi) -> None:
    await api.given(PODS, pod("p"))
    (await bind(api, query={"dryRun": "All"})).ok(201)
    assert "nodeName" not in (await api.get(PODS, "p"))["spec"]
