"""Uninstalling releases Evacuations from their instigators, and from nobody else."""

from __future__ import annotations

import pytest

from vacate.api.kinds import EVACUATIONS
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.install.apply.uninstaller import release_instigators
from vacate.testing import SimulatedCluster, simulate

pytestmark = pytest.mark.sim


def test_finalizers_of_others_stay_also_where_one_comes_at_the_same_moment() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        registered = {"annotations": {f"{EVACUATIONS.group}/priority_backup.example.com": "2000"}}
        await cluster.pod("web", metadata=registered)
        requester = cluster.requester(dialect=EVACUATION)
        name = (await requester.request("web")).metadata.name
        client = cluster.client
        seen = await client.get(EVACUATIONS, name, "default")
        both = [*seen["metadata"]["finalizers"], "example.com/audit"]
        await client.patch(EVACUATIONS, name, {"metadata": {"finalizers": both}}, "default")
        for _ in range(2):
            await release_instigators(client, seen)
            (one,) = cluster.world.objects(EVACUATIONS)
            assert one["metadata"]["finalizers"] == ["example.com/audit"]

    simulate(body, feature_gates="EvacuationAPI=true")
