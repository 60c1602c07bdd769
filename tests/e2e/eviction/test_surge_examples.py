"""The proposal's surges of a Deployment and of an autoscaler, each of its numbered steps, in order.

The revisions of all objects tell when a step happened. The order is that of the proposal but for one: a
ReplicaSet controller deletes as soon as the count is lowered, so the count is lowered when the ReplicaSet's
turn has come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from support.evictions.moving import moving, pods, quiet
from support.evictions.namespace import EvictionNamespace, is_ready
from support.evictions.steps import Moment, Steps, following
from vacate.api.kinds import (
    DEPLOYMENTS,
    EVICTIONREQUESTS,
    HORIZONTALPODAUTOSCALERS,
    NODEMAINTENANCES,
    NODES,
    PODS,
    REPLICASETS,
)
from vacate.api.objects import Obj
from vacate.api.workloads import (
    AUTOSCALER_INTERCEPTOR,
    DEPLOYMENT_INTERCEPTOR,
    OPT_IN,
    REPLICASET_INTERCEPTOR,
)
from vacate.eviction.registration import resolve
from vacate.kube.surge import SURGE
from vacate.testing import horizontalpodautoscaler


def labelled(place: EvictionNamespace) -> Obj:
    """A template by whose pods the drain knows them: those of other tests may be on the same node."""
    return {"metadata": {"labels": {"drained-by": place.namespace}}}


async def drain(place: EvictionNamespace, node: str) -> str:
    """A NodeMaintenance for the pods of the Deployment on the node: the node drain controller."""
    name = f"steps-{place.namespace}"
    spec = {
        "nodes": [node],
        "pods": {
            "selector": {"matchLabels": {"drained-by": place.namespace}},
            "daemonSetPods": "Ignore",
            "unmanagedPods": "Evict",
        },
    }
    identity = {"apiVersion": NODEMAINTENANCES.api_version, "kind": NODEMAINTENANCES.kind}
    await place.client.create(NODEMAINTENANCES, {**identity, "metadata": {"name": name}, "spec": spec})
    return name


def surge_steps(old: Sequence[Obj], replicas: int, node: str, surging: str) -> Mapping[str, Sequence[Moment]]:
    """What the steps from the cordon to the deletion look like; `surging` has the turn of the surge."""
    uids = {one["metadata"]["uid"] for one in old}
    on_node = [one for one in old if one["spec"]["nodeName"] == node]
    (going,) = [one["metadata"]["uid"] for one in on_node]

    def is_request(obj: Obj) -> bool:
        return bool(obj["spec"]["target"]["podRef"]["uid"] == going)

    def turn(obj: Obj, name: str, *, completed: bool) -> bool:
        status = obj.get("status", {})
        found = (status.get("activeInterceptorName"), bool(status.get("activeInterceptorCompleted")))
        return is_request(obj) and found == (name, completed)

    def is_new(pod: Obj) -> bool:
        return pod["metadata"]["uid"] not in uids and pod["spec"].get("nodeName") not in (None, node)

    def size(obj: Obj) -> int:
        return int(obj["spec"]["replicas"])

    return {
        "cordon": [(NODES, lambda obj: obj["metadata"]["name"] == node and obj["spec"].get("unschedulable"))],
        "request": [(EVICTIONREQUESTS, is_request)],
        "surging turn": [(EVICTIONREQUESTS, lambda obj: turn(obj, surging, completed=False))],
        "surge": [
            (DEPLOYMENTS, lambda obj: size(obj) == replicas + 1),
            (REPLICASETS, lambda obj: size(obj) == replicas + 1),
            (PODS, lambda obj: obj["metadata"]["uid"] not in uids),
        ],
        "scheduled elsewhere": [(PODS, is_new)],
        "available": [(PODS, lambda obj: is_new(obj) and is_ready(obj))],
        "scale down": [
            (REPLICASETS, lambda obj: size(obj) == replicas + 1),
            (DEPLOYMENTS, lambda obj: size(obj) == replicas),
            (REPLICASETS, lambda obj: size(obj) == replicas),
        ],
        "completed": [(EVICTIONREQUESTS, lambda obj: turn(obj, surging, completed=True))],
        "replicaset's turn": [
            (EVICTIONREQUESTS, lambda obj: turn(obj, REPLICASET_INTERCEPTOR, completed=False))
        ],
        "deleted": [
            (
                PODS,
                lambda obj: obj["metadata"]["uid"] == going and obj["metadata"].get("deletionTimestamp"),
            )
        ],
    }


ORDER = [
    "cordon",  # 2 of the Deployment's list, 3 of the autoscaler's
    "request",  # 3, 4
    "surging turn",  # 4, 5
    "surge",  # 5, 6
    "scheduled elsewhere",  # 6, 7
    "available",  # 7, 8
    "completed",  # 9, 10
    "replicaset's turn",  # 10, 11
    "scale down",  # 8, 9
    "deleted",  # 11, 12
]


async def in_order(place: EvictionNamespace, steps: Steps, moments: Mapping[str, Sequence[Moment]]) -> None:
    async def seen() -> bool:
        return len(steps.order(moments)) == len(moments)

    await place.until(seen, "every step has happened")
    assert steps.order(moments) == ORDER


async def drained(place: EvictionNamespace, name: str) -> None:
    async def look() -> bool:
        found = await place.client.get(NODEMAINTENANCES, name)
        return bool(found.get("status", {}).get("phase") == "Drained")

    await place.until(look, "the node is drained")


async def test_the_deployment_pod_surge_example(place: EvictionNamespace) -> None:
    old = await moving(place, 1, metadata={"annotations": {OPT_IN: "true"}}, template=labelled(place))
    for one in old:  # 1
        assert resolve(one).interceptors == (REPLICASET_INTERCEPTOR, DEPLOYMENT_INTERCEPTOR)
    node = old[0]["spec"]["nodeName"]
    async with following(place) as steps:
        name = await drain(place, node)
        try:
            await in_order(place, steps, surge_steps(old, 1, node, DEPLOYMENT_INTERCEPTOR))
            await drained(place, name)
            await quiet(place, 1)
        finally:
            await place.client.delete(NODEMAINTENANCES, name)


async def test_the_autoscaler_pod_surge_example(place: EvictionNamespace) -> None:
    client, namespace = place.client, place.namespace
    scaler = horizontalpodautoscaler(namespace=namespace, most=3)
    await client.create(HORIZONTALPODAUTOSCALERS, scaler, namespace)
    old = await moving(place, 1, metadata={"annotations": {OPT_IN: "true"}}, template=labelled(place))

    async def registered() -> bool:
        names = [resolve(one).interceptors for one in await pods(place)]
        return names == [(REPLICASET_INTERCEPTOR, AUTOSCALER_INTERCEPTOR, DEPLOYMENT_INTERCEPTOR)]

    await place.until(registered, "the autoscaler's interceptor is registered")  # 1, 2
    node = old[0]["spec"]["nodeName"]
    async with following(place) as steps:
        name = await drain(place, node)
        try:
            await in_order(place, steps, surge_steps(old, 1, node, AUTOSCALER_INTERCEPTOR))
            await drained(place, name)

            async def restored() -> bool:
                found = await client.get(HORIZONTALPODAUTOSCALERS, "web", namespace)
                left = SURGE in (found["metadata"].get("annotations") or {})
                return not left and found["spec"]["minReplicas"] == 1

            await place.until(restored, "the floor is back")
            await quiet(place, 1)
        finally:
            await client.delete(NODEMAINTENANCES, name)
