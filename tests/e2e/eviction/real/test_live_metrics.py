"""A Deployment whose autoscaler follows a metric that a real control plane reads every few seconds."""

from __future__ import annotations

import pytest

from support.evictions.moving import moving, pods
from support.evictions.namespace import EvictionNamespace, is_ready
from support.realcluster.evictions import RealCluster
from support.realcluster.metrics_server import serving_metrics
from support.simulated.autoscalers import REQUESTS
from vacate.api.kinds import DEPLOYMENTS, HORIZONTALPODAUTOSCALERS
from vacate.api.objects import Obj
from vacate.api.workloads import AUTOSCALER_INTERCEPTOR, DEPLOYMENT_INTERCEPTOR, OPT_IN
from vacate.eviction.registration import resolve
from vacate.kube.surge import SURGE
from vacate.testing import horizontalpodautoscaler

pytestmark = pytest.mark.thorough


async def autoscaler(place: EvictionNamespace) -> Obj:
    return await place.client.get(HORIZONTALPODAUTOSCALERS, "web", place.namespace)


async def count(place: EvictionNamespace) -> int:
    found = await place.client.get(DEPLOYMENTS, "web", place.namespace)
    return int(found["spec"]["replicas"])


async def test_a_plain_change_is_undone_and_a_raised_floor_is_kept(
    place: EvictionNamespace, real: RealCluster
) -> None:
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 0}}
    scaler = horizontalpodautoscaler(
        namespace=place.namespace, most=3, spec={"metrics": [REQUESTS], "behavior": behavior}
    )
    async with serving_metrics(place, "5"):  # as much as half a pod can do
        await place.client.create(HORIZONTALPODAUTOSCALERS, scaler, place.namespace)
        await moving(place, 1, metadata={"annotations": {OPT_IN: "true"}})

        async def measured() -> bool:
            conditions = (await autoscaler(place)).get("status", {}).get("conditions", [])
            return any(one.get("reason") == "ValidMetricFound" for one in conditions)

        await place.until(measured, "the autoscaler reads its metric")
        await place.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 2}}, place.namespace)

        async def undone() -> Obj | None:
            here = [one for one in await pods(place) if is_ready(one)]
            alone = await count(place) == 1 and len(here) == len(await pods(place)) == 1
            return here[0] if alone and AUTOSCALER_INTERCEPTOR in resolve(here[0]).interceptors else None

        old = await place.until(undone, "the autoscaler sets the plain change back")
        await place.ask(old)

        async def raised() -> bool:
            return bool((await autoscaler(place))["spec"]["minReplicas"] == 2)

        await place.until(raised, "the floor is raised")
        request = await place.until_complete(old)
        conditions = {one.type: one.message for one in request.status.conditions}
        assert "left to" in conditions[f"{DEPLOYMENT_INTERCEPTOR}/Declined"]
        assert f"{AUTOSCALER_INTERCEPTOR}/Declined" not in conditions

        async def restored() -> bool:
            found = await autoscaler(place)
            left = SURGE in (found["metadata"].get("annotations") or {})
            return not left and (found["spec"]["minReplicas"], await count(place)) == (1, 1)

        await place.until(restored, "floor and count are back")
        (new,) = await pods(place)
        assert new["metadata"]["uid"] != old["metadata"]["uid"]
