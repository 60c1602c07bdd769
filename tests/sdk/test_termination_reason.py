"""An interceptor reads the reason that its pod will be given, and gives it another one."""

from __future__ import annotations

import pytest

from support.simulated.sdk import SdkCluster, in_sdk_cluster
from vacate.errors import ConfigError
from vacate.sdk import EvictionContext, Interceptor

pytestmark = pytest.mark.sim

BACKUP = "backup.example.com"
SLOW = {"annotations": {"sim.vacate.dev/stop-seconds": "1200"}}


@pytest.mark.parametrize("how", ["evict", "delete", "plain"])
def test_a_handler_reads_and_sets_the_reason(how: str) -> None:
    async def body(stage: SdkCluster) -> None:
        read: list[str] = []

        async def ends(context: EvictionContext) -> None:
            read.append(context.termination_reason)
            if how == "delete":
                await context.delete(reason="moved to\nnode-2")
            else:
                with pytest.raises(ConfigError, match="one line"):
                    await context.evict(reason="moved to\nnode-2")
                await context.evict(reason="moved to node-2" if how == "evict" else "")

        await stage.program(Interceptor(BACKUP, ends))
        await stage.pod("web", BACKUP, metadata=SLOW, spec={"terminationGracePeriodSeconds": 1800})
        await stage.requester().request("web", deadline_seconds=600)
        await stage.until(lambda: "deletionTimestamp" in stage.find_pod("web")["metadata"])
        given = "Eviction" if how == "plain" else "moved to node-2"
        assert (read, stage.find_pod("web")["metadata"]["reason"]) == (["Eviction"], given)

    in_sdk_cluster(body)
