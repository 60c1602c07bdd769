"""Deployments that an autoscaler scales down by eviction requests.

Numbers in comments are those of the proposal's list "HPA Downscaling example".
"""

from __future__ import annotations

from support.evictions.moving import OURS, annotated, moving, pods
from support.evictions.namespace import EvictionNamespace
from support.realcluster.evictions import REAL
from vacate.admission.pods.workloads import EVICTION_PRIORITY
from vacate.api.kinds import DEPLOYMENTS, HORIZONTALPODAUTOSCALERS
from vacate.api.objects import Obj
from vacate.api.workloads import AUTOSCALER_INTERCEPTOR, OPT_IN
from vacate.eviction.registration import resolve
from vacate.kube.deletionorder import DELETION_COST
from vacate.testing import horizontalpodautoscaler


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
