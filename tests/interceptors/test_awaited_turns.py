"""Surges in the proposal's own order, with workload controllers that await their turn, as in `vacate up`.

Numbers in comments are those of its lists "Deployment Pod Surge Example" and "HorizontalPodAutoscaler Pod
Surge Example".
"""

from __future__ import annotations

import pytest

from support.simulated.autoscalers import (
    AUTOSCALER_FIRST,
    DEFAULT_ORDER,
    autoscaled,
    floor,
    highest_floor,
    is_restored,
)
from support.simulated.clusters import in_world
from support.simulated.deployments import (
    cancel,
    completed,
    fewest,
    is_quiet,
    most,
    moving,
    names,
    pods,
    replicas,
    requested,
    set_size,
)
from support.simulated.evictions import found, turns
from support.simulated.workloads import made
from vacate.admission.pods.workloads import EVICTION_PRIORITY
from vacate.api.kinds import DEPLOYMENTS, EVACUATIONS, PODS
from vacate.api.objects import Obj
from vacate.api.types import Pod
from vacate.api.workloads import AUTOSCALER_INTERCEPTOR, DEPLOYMENT_INTERCEPTOR, REPLICASET_INTERCEPTOR
from vacate.client.codec import codec_for
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.features import parse_feature_gates
from vacate.sim.cluster import World

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]


def active(world: World, request: str) -> tuple[str, bool]:
    """Whose turn it is, and whether it is over."""
    status = found(world, request).get("status", {})
    return str(status.get("activeInterceptorName", "")), bool(status.get("activeInterceptorCompleted"))


def is_here(world: World, pod: Obj) -> bool:
    return pod["metadata"]["name"] in names(world)


def test_a_deployment_is_scaled_back_before_its_turn_ends_and_the_pod_goes_after() -> None:
    async def body(world: World) -> None:
        old = await moving(world, 2)  # 1
        (request,) = await requested(world, old[0])  # 3
        await world.until(lambda: active(world, request) == (DEPLOYMENT_INTERCEPTOR, False))  # 4
        await world.until(lambda: set_size(world) == 3)  # 5
        await world.until(lambda: len(world.healthy_pods()) == 3)  # 6, 7
        await world.until(lambda: set_size(world) == 2)  # 8
        assert active(world, request) == (DEPLOYMENT_INTERCEPTOR, False)
        assert is_here(world, old[0])
        await world.until(lambda: active(world, request) == (DEPLOYMENT_INTERCEPTOR, True))  # 9
        assert is_here(world, old[0])
        await world.until(lambda: active(world, request) == (REPLICASET_INTERCEPTOR, False))  # 10
        await world.until(lambda: not is_here(world, old[0]))  # 11
        await completed(world, request)
        await world.until(lambda: is_quiet(world))
        assert (fewest(world, 2), most(world), replicas(world), made(world, PODS)) == (2, 3, 2, 3)
        assert turns(world, request) == [DEPLOYMENT_INTERCEPTOR, REPLICASET_INTERCEPTOR]

    in_world(body, replicasets_await_turns=True)


@pytest.mark.thorough(beyond=2)
@pytest.mark.parametrize("metric", [None, "10"], ids=["without metrics", "with metrics"])
@pytest.mark.parametrize("order", [DEFAULT_ORDER, AUTOSCALER_FIRST], ids=["default", "autoscaler first"])
def test_an_autoscaler_scales_back_before_its_turn_ends(order: tuple[str, ...], metric: str | None) -> None:
    async def body(world: World) -> None:
        annotations = {EVICTION_PRIORITY: "10050"} if order is AUTOSCALER_FIRST else {}
        (old,) = await autoscaled(world, 1, metric=metric, order=order, annotations=annotations)  # 1, 2
        (request,) = await requested(world, old)  # 4
        await world.until(lambda: active(world, request) == (AUTOSCALER_INTERCEPTOR, False))  # 5
        await world.until(lambda: set_size(world) == 2)  # 6
        await world.until(lambda: len(world.healthy_pods()) == 2)  # 7, 8
        await world.until(lambda: set_size(world) == 1)  # 9
        assert active(world, request) == (AUTOSCALER_INTERCEPTOR, False)
        assert is_here(world, old)
        await world.until(lambda: active(world, request) == (AUTOSCALER_INTERCEPTOR, True))  # 10
        await world.until(lambda: active(world, request) == (REPLICASET_INTERCEPTOR, False))  # 11
        await world.until(lambda: not is_here(world, old))  # 12
        await completed(world, request)
        await world.until(lambda: is_restored(world))
        assert (fewest(world, 1), floor(world), highest_floor(world), made(world, PODS)) == (1, 1, 2, 2)
        declined = [one["type"] for one in found(world, request)["status"]["conditions"]]
        assert ("deployment.apps.k8s.io/Declined" in declined) == (order is DEFAULT_ORDER)

    in_world(body, replicasets_await_turns=True)


def test_an_evacuated_pod_goes_in_its_turn_as_well() -> None:
    async def body(world: World) -> None:
        (old,) = await moving(world, 1)
        evacuation = EVACUATION.new_request(codec_for(Pod).convert(old), "drain.example.com", "", None)
        await world.client.create(EVACUATIONS, evacuation, "default")
        name = evacuation["metadata"]["name"]
        await world.until(lambda: most(world) == 2 and set_size(world) == 1)
        assert is_here(world, old)
        await world.until(lambda: world.find(EVACUATIONS, name, "default") is None, 7200.0)
        await world.until(lambda: is_quiet(world) and not is_here(world, old))
        assert (fewest(world, 1), made(world, PODS)) == (1, 2)

    in_world(body, replicasets_await_turns=True, gates=parse_feature_gates("EvacuationAPI=true"))


def test_a_scale_down_by_the_user_awaits_no_turn() -> None:
    """Pods under request go first, and at once: nothing was taken back for them."""

    async def body(world: World) -> None:
        old = await moving(world, 3, spec={"minReadySeconds": 300})
        (request,) = await requested(world, old[0])
        await world.until(lambda: len(world.healthy_pods()) == 4)
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, "default")
        await completed(world, request, timeout=30.0)
        assert turns(world, request) == [DEPLOYMENT_INTERCEPTOR]
        await world.until(lambda: is_quiet(world) and len(pods(world)) == 3)

    in_world(body, replicasets_await_turns=True)


def test_a_cancellation_after_the_scale_down_costs_nothing_but_the_pod() -> None:
    async def body(world: World) -> None:
        old = await moving(world, 2)
        (request,) = await requested(world, old[0])
        await world.until(lambda: most(world) == 3 and set_size(world) == 2)
        await cancel(world, request)
        await world.until(lambda: is_quiet(world) and len(pods(world)) == 2)
        assert (fewest(world, 2), replicas(world)) == (2, 2)

    in_world(body, replicasets_await_turns=True)
