"""Evictions that a budget blocks, and what lets them go on: an opt-in, a raised ceiling."""

from __future__ import annotations

import pytest

from support.evictions.moving import moving, pods, quiet
from support.evictions.namespace import EvictionNamespace, is_ready
from vacate.api.kinds import DEPLOYMENTS, HORIZONTALPODAUTOSCALERS
from vacate.api.objects import Obj
from vacate.api.workloads import OPT_IN
from vacate.testing import deployment, horizontalpodautoscaler


async def blocked(place: EvictionNamespace, old: Obj) -> None:
    """The pod's eviction is requested and refused."""
    await place.budget("web", minAvailable=1)
    await place.requester().request(old["metadata"]["name"], place.namespace)
    await place.until_stage(old, "Blocked")


async def moved(place: EvictionNamespace, old: Obj) -> None:
    async def gone() -> bool:
        return old["metadata"]["uid"] not in {one["metadata"]["uid"] for one in await pods(place)}

    await place.until(gone, "the pod is replaced and gone")
    await quiet(place, 1)


@pytest.mark.both_dialects
async def test_opting_in_frees_a_blocked_eviction(place: EvictionNamespace) -> None:
    made = deployment("web", namespace=place.namespace, replicas=1)
    await place.client.create(DEPLOYMENTS, made, place.namespace)

    async def ready() -> list[Obj]:
        return [one for one in await pods(place) if is_ready(one)]

    (old,) = await place.until(ready, "the pod is ready")
    await blocked(place, old)
    change = {"metadata": {"annotations": {OPT_IN: "true"}}}
    await place.client.patch(DEPLOYMENTS, "web", change, place.namespace)
    await moved(place, old)


async def test_a_raised_ceiling_frees_a_blocked_eviction(place: EvictionNamespace) -> None:
    scaler = horizontalpodautoscaler(namespace=place.namespace, least=1, most=1)
    await place.client.create(HORIZONTALPODAUTOSCALERS, scaler, place.namespace)
    (old,) = await moving(place, 1, metadata={"annotations": {OPT_IN: "true"}})
    await blocked(place, old)
    await place.client.patch(HORIZONTALPODAUTOSCALERS, "web", {"spec": {"maxReplicas": 2}}, place.namespace)
    await moved(place, old)
