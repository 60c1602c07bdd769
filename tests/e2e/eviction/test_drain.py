"""A drain on an embedded and on a real cluster: interceptors run, the node is freed, all is undone."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
import yaml

from support.evictions.namespace import TIMEOUT, EvictionNamespace, is_ready
from support.processes.cluster import vacate
from support.realcluster.evictions import RealCluster
from support.realcluster.users import done_by
from support.yaml_text import yaml_document
from vacate.api.kinds import (
    DAEMONSETS,
    DEPLOYMENTS,
    NODEMAINTENANCES,
    NODES,
    PODDISRUPTIONBUDGETS,
    PODS,
)
from vacate.api.objects import Obj
from vacate.api.options import ListOptions
from vacate.errors import NotFound
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.plan.fields import KINDS
from vacate.sdk import EvictionContext, Interceptor
from vacate.testing import daemonset, deployment, pdb
from vacate.testing import pod as pod_of


def a_maintenance(place: EvictionNamespace, node: str, app: str) -> Obj:
    """Of one node, and of the pods of this test alone: others use the node too."""
    pods = {"selector": {"matchLabels": {"app": app}}, "unmanagedPods": "Evict", "daemonSetPods": "Ignore"}
    return {
        "apiVersion": NODEMAINTENANCES.api_version,
        "kind": NODEMAINTENANCES.kind,
        "metadata": {"name": f"drain-{place.namespace}"},
        "spec": {
            "nodes": [node],
            "reason": "kernel update",
            "pods": pods,
            "requestKind": place.dialect.request_kind,
        },
    }


async def status(place: EvictionNamespace) -> Obj:
    found: Obj = (await place.client.get(NODEMAINTENANCES, f"drain-{place.namespace}")).get("status", {})
    return found


async def undone(place: EvictionNamespace, node: str) -> None:
    """Delete the maintenance, and see that nothing of it is left."""
    name = f"drain-{place.namespace}"
    await place.client.delete(NODEMAINTENANCES, name)

    async def gone() -> bool:
        try:
            await place.client.get(NODEMAINTENANCES, name)
        except NotFound:
            return True
        return False

    await place.until(gone, "the maintenance is gone")
    found = await place.client.get(NODES, node)
    assert not found["spec"].get("unschedulable")
    assert "vacate.dev/nodemaintenances" not in (found["metadata"].get("annotations") or {})
    assert not any(one["type"] in ("Draining", "Drained") for one in found["status"]["conditions"])


async def planned(place: EvictionNamespace, node: str, app: str, *options: str) -> Obj:
    """What `vacate plan` says, which lists and does nothing else."""
    planner, real = f"planner-{app}", place.cluster.kubeconfig
    config = yaml_document(real.read_text())
    config["users"][0]["user"] |= {"as": planner, "as-groups": ["system:masters"]}
    own = real.parent / f"{planner}.kubeconfig"
    own.write_text(yaml.safe_dump(config))
    words = (node, "--pod-selector", f"app={app}", "--ignore-daemonsets", "--kubeconfig", str(own), *options)
    done = await asyncio.to_thread(vacate, "plan", *words, "-o", "json")
    assert done.returncode in (0, 5, 6), (done.stdout, done.stderr)
    found: Obj = json.loads(done.stdout)
    if isinstance(place.cluster, RealCluster):
        asked = {(call.verb, call.resource) for call in done_by(place.cluster, planner)}
        assert asked == {("list", kind.plural) for kind in KINDS}
    return found


async def planned_blockers(place: EvictionNamespace, node: str, app: str) -> list[Obj]:
    """What would block the drain; and one command would help."""
    found = await planned(place, node, app, "--force", "--runs", "1")
    assert found["outcome"]["verdict"] == "Blocks"
    commands = [one["commands"][0] for one in found["remedies"] if one["outcome"]["verdict"] == "Finishes"]
    assert any("move-before-eviction" in one for one in commands), found["remedies"]
    return [
        {key: value for key, value in one.items() if value and key != "since"}
        for one in found["decisive"]["blockers"]
    ]


@pytest.mark.both_dialects
async def test_a_drain_waits_for_interceptors_and_is_undone(place: EvictionNamespace) -> None:
    async def prepare(context: EvictionContext) -> None:
        await context.report("Copying")

    pod = await place.pod("db", "drainer.example.com", labels={"app": place.namespace})
    node = pod["spec"]["nodeName"]
    apis = (place.dialect.kind.singular,)
    drainer = Interceptor("drainer.example.com", prepare, namespace=place.namespace, apis=apis)
    async with place.serving(drainer):
        await place.client.create(NODEMAINTENANCES, a_maintenance(place, node, place.namespace))

        async def drained() -> Any:
            found = await status(place)
            return found if found.get("phase") == "Drained" else None

        found = await place.until(drained, "the node is drained")
    assert (found["podsTotal"], found["podsEvicted"], found["percent"]) == (1, 1, 100)
    await place.gone(pod)
    shown = {
        one["type"]: one["status"] for one in (await place.client.get(NODES, node))["status"]["conditions"]
    }
    assert (shown.get("Draining"), shown.get("Blocked")) in (("False", "False"), ("True", "False"))
    await undone(place, node)


@pytest.mark.thorough
@pytest.mark.both_dialects
async def test_a_budget_blocks_a_drain_and_is_named_and_the_drain_is_called_off(
    place: EvictionNamespace,
) -> None:
    app = place.namespace
    await place.client.create(PODDISRUPTIONBUDGETS, pdb(app, min_available=1, namespace=app), app)
    await place.client.create(DEPLOYMENTS, deployment(app, replicas=1, namespace=app), app)

    async def running() -> Any:
        found = (await place.client.list(PODS, app, ListOptions(label_selector=f"app={app}"))).items
        ready = [one for one in found if one["status"].get("phase") == "Running"]
        return ready[0] if ready else None

    pod = await place.until(running, "the pod runs")
    node = pod["spec"]["nodeName"]
    planned = await planned_blockers(place, node, app) if place.dialect is EVICTION_REQUEST else None
    await place.client.create(NODEMAINTENANCES, a_maintenance(place, node, app))

    async def blocked() -> Any:
        held = (await status(place)).get("blockers") or []
        return held[0] if held else None

    held = await place.until(blocked, "the budget is named")
    assert (held["kind"], held["name"], held["pod"]) == ("DisruptionBudget", app, pod["metadata"]["name"])
    assert "add replicas" in held["remedy"]
    assert planned in (None, [{key: value for key, value in held.items() if key != "since"}])
    await undone(place, node)
    assert (await place.find_pod(pod["metadata"]["name"])) is not None

    async def withdrawn() -> bool:
        """An Evacuation that is cancelled is removed; an EvictionRequest stays."""
        stays = place.dialect is not EVACUATION
        return [len(one.spec.requesters) for one in await place.requests()] == ([0] if stays else [])

    await place.until(withdrawn, "nobody requests the eviction")


async def test_pods_of_a_daemon_set_go_last_stay_away_and_return(place: EvictionNamespace) -> None:
    """Where the maintenance includes them. The taint that keeps them away goes with the maintenance.

    A static pod stays, and nobody requests its eviction: only its node could end it.
    """
    app, agent = place.namespace, f"{place.namespace}-agent"
    begun, let_go = asyncio.Event(), asyncio.Event()

    async def prepare(context: EvictionContext) -> None:
        begun.set()
        await let_go.wait()

    pod = await place.pod("db", "drainer.example.com", labels={"app": app})
    node = pod["spec"]["nodeName"]
    await place.client.create(DAEMONSETS, daemonset(agent, namespace=app), app)
    mirror = {"annotations": {"kubernetes.io/config.mirror": "of a file on the node"}}
    static = pod_of("static", namespace=app, node=node, labels={"app": app}, metadata=mirror)
    static = await place.client.create(PODS, static, app)

    async def on_node() -> list[Obj]:
        found = (await place.client.list(PODS, app, ListOptions(label_selector=f"app={agent}"))).items
        return [one for one in found if one["spec"].get("nodeName") == node and is_ready(one)]

    (daemon,) = await place.until(on_node, "the DaemonSet has a pod on the node")
    drain = a_maintenance(place, node, app)
    drain["spec"]["pods"] |= {
        "daemonSetPods": "Evict",
        "selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": [app, agent]}]},
    }
    async with place.serving(Interceptor("drainer.example.com", prepare, namespace=place.namespace)):
        await place.client.create(NODEMAINTENANCES, drain)
        await asyncio.wait_for(begun.wait(), TIMEOUT)
        await place.stays(daemon)
        let_go.set()
        await place.gone(pod)
        await place.gone(daemon)

        async def drained() -> bool:
            return (await status(place)).get("phase") == "Drained"

        await place.until(drained, "the node is drained")
    assert not await on_node()
    assert await place.there(static) is not None
    assert static["metadata"]["uid"] not in {one.metadata.name for one in await place.requests()}
    await undone(place, node)
    (back,) = await place.until(on_node, "the DaemonSet returns")
    assert back["metadata"]["uid"] != daemon["metadata"]["uid"]
