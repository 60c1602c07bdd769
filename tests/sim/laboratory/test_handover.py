"""An exclusive volume goes from one pod to the next, on nodes that run processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.laboratory.cluster import LaboratoryCluster
from support.laboratory.health import is_well
from support.laboratory.outcome import Outcome
from support.laboratory.workload import create_workload
from vacate.api.kinds import PODS
from vacate.sim.cluster import WorldSettings
from vacate.sim.run import Sim, run_sim

pytestmark = pytest.mark.sim


def test_of_several_pods_that_wait_on_different_nodes_one_gets_the_volume(tmp_path: Path) -> None:
    """None of those that wait has run: their nodes must not say so of them."""

    async def main(sim: Sim) -> None:
        outcome = Outcome(time=sim.loop.time)
        lab = LaboratoryCluster(sim, WorldSettings(nodes=0, evictions=()), tmp_path, outcome)
        async with lab.world:
            try:
                await lab.open()
                (tmp_path / "volume").mkdir()
                await create_workload(lab.world.client, tmp_path / "volume")
                await lab.until(lambda: is_well(lab), 900.0, "the start")
                (first,) = lab.volume_users()
                await lab.world.client.delete(PODS, first, "default")
                await lab.until(lambda: lab.world.find(PODS, first, "default") is None, 300.0, "the end")
                await lab.until(lambda: is_well(lab), 300.0, "another pod has the volume")
                assert len(lab.volume_users()) == 1
            finally:
                await lab.close()
        assert outcome.breaches == []

    run_sim(main, 1)
