"""A DeschedulingPolicy on an embedded and on a real cluster: pods move off a tainted node, gracefully."""

from __future__ import annotations

from typing import Any

from support.evictions.namespace import EvictionNamespace
from vacate.api.kinds import DEPLOYMENTS, DESCHEDULINGPOLICIES, EVICTIONREQUESTS, NODES, PODS
from vacate.api.objects import Obj
from vacate.api.options import ListOptions
from vacate.descheduling.names import requester_of
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.sdk import EvictionContext, Interceptor
from vacate.testing import deployment

MOVER = "mover.example.com"


def a_policy(place: EvictionNamespace, mode: str) -> Obj:
    """For the pods of this test alone: others use the nodes too."""
    spec = {"mode": mode, "rules": ["NodeTaints"], "namespaces": [place.namespace], "intervalSeconds": 10}
    return {
        "apiVersion": DESCHEDULINGPOLICIES.api_version,
        "kind": DESCHEDULINGPOLICIES.kind,
        "metadata": {"name": f"tidy-{place.namespace}"},
        "spec": spec,
    }


async def test_a_policy_reports_first_and_then_moves_pods_through_their_interceptors(
    place: EvictionNamespace,
) -> None:
    app, name, key = place.namespace, f"tidy-{place.namespace}", f"example.com/{place.namespace}"
    prepared: list[str] = []

    async def prepare(context: EvictionContext) -> None:
        prepared.append(context.pod.metadata.name)

    registered = {f"interceptor.evictionrequest.coordination.k8s.io/priority_{MOVER}": "10"}
    template = {"metadata": {"annotations": registered}}
    await place.client.create(DEPLOYMENTS, deployment(app, replicas=1, namespace=app, template=template), app)

    async def running() -> Any:
        found = (await place.client.list(PODS, app, ListOptions(label_selector=f"app={app}"))).items
        ready = [one for one in found if one["status"].get("phase") == "Running"]
        return ready[0] if len(ready) == 1 else None

    async def status() -> Obj:
        found: Obj = (await place.client.get(DESCHEDULINGPOLICIES, name)).get("status", {})
        return found

    pod = await place.until(running, "the pod runs")
    node = pod["spec"]["nodeName"]
    before = (await place.client.get(NODES, node))["spec"].get("taints") or []
    await place.client.create(DESCHEDULINGPOLICIES, a_policy(place, "Report"))
    try:
        taints = [*before, {"key": key, "effect": "NoSchedule"}]
        await place.client.patch(NODES, node, {"spec": {"taints": taints}})

        async def reported() -> Any:
            return [one for one in (await status()).get("pods", []) if one["state"] == "Reported"]

        (shown,) = await place.until(reported, "the pod is reported")
        assert (shown["pod"], shown["node"], shown["rule"]) == (pod["metadata"]["name"], node, "NodeTaints")
        async with place.serving(Interceptor(MOVER, prepare, namespace=app)):
            await place.client.patch(DESCHEDULINGPOLICIES, name, {"spec": {"mode": "Evict"}})
            await place.gone(pod)
        assert prepared == [pod["metadata"]["name"]]
        moved = await place.until(running, "its replacement runs")
        assert moved["spec"]["nodeName"] != node

        async def settled() -> bool:
            return (await status()).get("message") == "every pod is where it should be"

        await place.until(settled, "nothing is misplaced")
        requests = (await place.client.list(EVICTIONREQUESTS, app)).items
        names = {one["name"] for each in requests for one in each["spec"].get("requesters") or []}
        assert names <= {requester_of(name, EVICTION_REQUEST)}
    finally:
        await place.client.patch(NODES, node, {"spec": {"taints": before or None}})
        await place.client.delete(DESCHEDULINGPOLICIES, name)
