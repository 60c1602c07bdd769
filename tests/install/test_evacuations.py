"""Uninstalling releases Evacuations from their instigators, and from nobody else."""

from __future__ import annotations

import pytest

from support.simulated.sdk import SdkCluster, in_sdk_cluster
from vacate.api.kinds import EVACUATIONS
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.features import parse_feature_gates
from vacate.install.apply.uninstaller import release_instigators

pytestmark = pytest.mark.sim


def test_finalizers_of_others_stay_also_where_one_comes_at_the_same_moment() -> None:
    async def body(stage: SdkCluster) -> None:
        registered = {"annotations": {f"{EVACUATIONS.group}/priority_backup.example.com": "2000"}}
        await stage.pod("web", metadata=registered)
        requester = stage.requester()
        requester.dialect = EVACUATION
        name = (await requester.request("web")).metadata.name
        client = stage.world.client
        seen = await client.get(EVACUATIONS, name, "default")
        both = [*seen["metadata"]["finalizers"], "example.com/audit"]
        await client.patch(EVACUATIONS, name, {"metadata": {"finalizers": both}}, "default")
        for _ in range(2):
            await release_instigators(client, seen)
            (one,) = stage.world.objects(EVACUATIONS)
            assert one["metadata"]["finalizers"] == ["example.com/audit"]

    in_sdk_cluster(body, gates=parse_feature_gates("EvacuationAPI=true"))
