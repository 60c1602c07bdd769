"""Deployments with an autoscaler, moved before their eviction and scaled down: the proposal, step by step.

Numbers in comments are those of its lists "HorizontalPodAutoscaler Pod Surge Example" and "HPA Downscaling
example".
"""

from __future__ import annotations

from support.evictions.moving import OURS, annotated, moving, pods
from support.evictions.namespace import EvictionNamespace, is_ready
from support.realcluster.evictions import REAL
from vacate.admission.pods.workloads import (
    AUTOSCALER_INTERCEPTOR,
    EVICTION_PRIORITY,
    OPT_IN,
    REPLICASET_INTERCEPTOR,
)
from vacate.api.kinds import DEPLOYMENTS, HORIZONTALPODAUTOSCALERS, NODES
from vacate.api.objects import Obj
from vacate.eviction.registration import resolve
from vacate.kube.deletionorder import DELETION_COST
from vacate.kube.surge import SURGE
from vacate.testing import deployment, horizontalpodautoscaler


async def test_the_pod_surge_example(place: EvictionNamespace) -> None:
    client, namespace = place.client, place.namespace
    scaler = horizontalpodautoscaler(namespace=namespace, most=3)
    await client.create(HORIZONTALPODAUTOSCALERS, scaler, namespace)
    made = deployment("web", namespace=namespace, replicas=1, metadata={"annotations": {OPT_IN: "true"}})
    await client.create(DEPLOYMENTS, made, namespace)

    async def registered() -> Obj | None:
        found = [one for one in await pods(place) if is_ready(one)]
        names = resolve(found[0]).interceptors if found else ()
        return found[0] if {AUTOSCALER_INTERCEPTOR, REPLICASET_INTERCEPTOR} <= set(names) else None

    old = await place.until(registered, "the pod is ready and registered")  # 1, 2
    assert resolve(old).interceptors[0] == REPLICASET_INTERCEPTOR
    node = old["spec"]["nodeName"]
    await client.patch(NODES, node, {"spec": {"unschedulable": True}})  # 3
    try:
        await place.ask(old)  # 4
        await place.until_active(old, AUTOSCALER_INTERCEPTOR)  # 5
        await place.stays(old)

        async def surged() -> Obj | None:  # 6, 7, 8
            new = [one for one in await pods(place) if one["metadata"]["uid"] != old["metadata"]["uid"]]
            return new[0] if new and is_ready(new[0]) else None

        new = await place.until(surged, "the replacement is ready")
        assert new["spec"]["nodeName"] != node
        await place.until_complete(old)  # 9 to 12

        async def restored() -> bool:
            found = await client.get(DEPLOYMENTS, "web", namespace)
            autoscaler = await client.get(HORIZONTALPODAUTOSCALERS, "web", namespace)
            left = SURGE in (autoscaler["metadata"].get("annotations") or {})
            here = [one["metadata"]["uid"] for one in await pods(place)]
            counts = (found["spec"]["replicas"], autoscaler["spec"]["minReplicas"])
            return not left and counts == (1, 1) and here == [new["metadata"]["uid"]]

        await place.until(restored, "floor, count and annotations are back")
    finally:
        await client.patch(NODES, node, {"spec": {"unschedulable": None}})


async def test_the_downscaling_example(place: EvictionNamespace) -> None:
    """Exactly the chosen pods go. A real autoscaler chooses none: the test does, as a descheduler would."""
    client, namespace = place.client, place.namespace
    scaler = horizontalpodautoscaler(namespace=namespace, most=3)
    scaler["metadata"]["annotations"] = {EVICTION_PRIORITY: "10050"}
    await client.create(HORIZONTALPODAUTOSCALERS, scaler, namespace)
    old = await moving(place, 3, metadata={"annotations": {OPT_IN: "true"}})  # 1, 2

    async def first() -> bool:
        found = [resolve(one).interceptors for one in await pods(place)]
        return all(one[-1:] == (AUTOSCALER_INTERCEPTOR,) for one in found)

    await place.until(first, "the autoscaler is the first interceptor of every pod")
    lower = {"spec": {"maxReplicas": 2}}
    if place.cluster.sort == REAL:
        await place.ask(old[0], AUTOSCALER_INTERCEPTOR)  # 3, 4
        await place.until_active(old[0], AUTOSCALER_INTERCEPTOR)  # 5

        async def marked() -> bool:
            return DELETION_COST in annotated(await place.there(old[0]) or {"metadata": {}})

        await place.until(marked, "the chosen pod goes first")
        await place.stays(old[0])
    await client.patch(HORIZONTALPODAUTOSCALERS, "web", lower, namespace)  # 6 to 12

    async def scaled() -> list[Obj]:
        here = await pods(place)
        found = await client.get(DEPLOYMENTS, "web", namespace)
        done = found["spec"]["replicas"] == 2 == found["status"].get("replicas")
        return here if done and len(here) == 2 and not any(map(annotations_left, here)) else []

    here = await place.until(scaled, "two pods are left, and nothing is left of the request")
    left = {one["metadata"]["uid"] for one in here}
    assert left < {one["metadata"]["uid"] for one in old}
    if place.cluster.sort == REAL:
        assert old[0]["metadata"]["uid"] not in left


def annotations_left(pod: Obj) -> bool:
    return bool(OURS & annotated(pod))
