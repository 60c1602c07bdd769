"""Off and on again: with the gate closed the kind is not there, and nothing that is stored is lost."""

from __future__ import annotations

import pytest

from support.simulated.evictions import A, active, found, on_simulated_cluster, request_eviction, running_pod
from vacate.api.kinds import (
    DESCHEDULINGPOLICIES,
    EVACUATIONS,
    EVICTIONREQUESTS,
    LIFECYCLE_EVICTIONS,
    LIFECYCLE_REQUESTS,
    NODEMAINTENANCES,
)
from vacate.embedded.registry.kinds import SERVED_KINDS, served_kinds
from vacate.errors import NotFound
from vacate.features import FeatureGates, parse_feature_gates
from vacate.sim.cluster import World

pytestmark = pytest.mark.sim

CLOSED, OPEN = parse_feature_gates("EvictionRequestAPI=false"), FeatureGates()
ALL_OPEN = parse_feature_gates("EvacuationAPI=true,LifecycleAPI=true")


def test_closed_it_is_not_served_and_loses_nothing() -> None:
    async def body(world: World) -> None:
        name = await request_eviction(world, await running_pod(world, interceptors=[A]))
        await world.until(lambda: active(world, name) == A)
        await world.evictions.crash()
        before = found(world, name)
        world.server.gates = CLOSED
        await world.restart_server()
        with pytest.raises(NotFound):
            await world.client.get(EVICTIONREQUESTS, name, "default")
        world.server.gates = OPEN
        await world.restart_server()
        assert await world.client.get(EVICTIONREQUESTS, name, "default") == before

    on_simulated_cluster(body)


def test_nothing_else_is_gated() -> None:
    assert served_kinds(ALL_OPEN) == SERVED_KINDS
    assert {kind for kind in SERVED_KINDS if kind not in served_kinds(OPEN)} == {
        EVACUATIONS, LIFECYCLE_REQUESTS, LIFECYCLE_EVICTIONS,
    }  # fmt: skip
    assert [kind for kind in served_kinds(OPEN) if kind not in served_kinds(CLOSED)] == [
        EVICTIONREQUESTS, NODEMAINTENANCES, DESCHEDULINGPOLICIES,
    ]  # fmt: skip
