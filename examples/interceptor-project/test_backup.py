"""In virtual time, and once in a cluster that runs."""

from datetime import timedelta

from backup import back_up

from vacate.sdk import TurnResult
from vacate.testing import ClusterProcess, SimulatedCluster


async def test_the_database_is_backed_up(simulated_cluster: SimulatedCluster) -> None:
    await simulated_cluster.program(back_up)
    await simulated_cluster.pod("db", back_up)
    eviction = await simulated_cluster.evict("db")
    assert eviction.result is TurnResult.COMPLETED
    assert "Backing up" in eviction.messages
    assert eviction.pod_is_gone


async def test_a_backup_goes_on_after_a_crash(simulated_cluster: SimulatedCluster) -> None:
    program = await simulated_cluster.program(back_up)
    await simulated_cluster.pod("db", back_up)
    await simulated_cluster.requester().request("db")
    await simulated_cluster.until_active(back_up)
    await program.crash()
    await program.start()
    await simulated_cluster.until(lambda: not simulated_cluster.find_pod("db"))


def test_a_database_without_data_is_let_go(live_cluster: ClusterProcess) -> None:
    with live_cluster.program(back_up), live_cluster.requester() as requester:
        live_cluster.pod("db", back_up, labels={"app": "db", "ephemeral": "yes"})
        result = requester.wait(requester.request("db"), timeout=timedelta(minutes=1))
    assert [turn.result for turn in result.history] == [TurnResult.DECLINED]
