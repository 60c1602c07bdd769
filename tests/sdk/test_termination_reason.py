"""An interceptor reads the reason that its pod will be given, and gives it another one."""

from __future__ import annotations

import pytest

from vacate.errors import ConfigError
from vacate.sdk import EvictionContext, Interceptor
from vacate.testing import SimulatedCluster, simulate

pytestmark = pytest.mark.sim

BACKUP = "backup.example.com"
SLOW = {"annotations": {"sim.vacate.dev/stop-seconds": "1200"}}


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("how", ["evict", "delete", "plain"])
def test_a_handler_reads_and_sets_the_reason(how: str) -> None:
    async def body(cluster: SimulatedCluster) -> None:
        read: list[str] = []

        async def ends(context: EvictionContext) -> None:
            read.append(context.termination_reason)
            if how == "delete":
                await context.delete(reason="moved to\nnode-2")
            else:
                with pytest.raises(ConfigError, match="one line"):
                    await context.evict(reason="moved to\nnode-2")
                await context.evict(reason="moved to node-2" if how == "evict" else "")

        await cluster.program(Interceptor(BACKUP, ends))
        await cluster.pod("web", BACKUP, metadata=SLOW, spec={"terminationGracePeriodSeconds": 1800})
        await cluster.requester().request("web", deadline_seconds=600)
        await cluster.until(lambda: "deletionTimestamp" in cluster.find_pod("web")["metadata"])
        given = "Eviction" if how == "plain" else "moved to node-2"
        assert (read, cluster.find_pod("web")["metadata"]["reason"]) == (["Eviction"], given)

    simulate(body)
