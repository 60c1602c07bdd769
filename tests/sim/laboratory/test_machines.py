"""The node agent on a simulated machine: its server is unwell, its disk full or slow, a host away."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from support.simulated.agentplace import NAME, Place, in_place
from vacate.api.kinds import CONFIGMAPS, NODES, PODS
from vacate.api.objects import dig
from vacate.nodeagent.runtime.protocol import ContainerState
from vacate.nodeagent.volumes.storage import PodFolder
from vacate.sim.faults.transport import NO_FAULT, Fault

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=4)]


@pytest.mark.parametrize(
    "fault",
    [Fault(status=503), Fault(status=500), Fault(status=429), Fault(status_after=504)],
    ids=["503", "500", "429", "504 after the work"],
)
def test_an_agent_that_starts_waits_for_a_server_that_is_unwell(fault: Fault, tmp_path: Path) -> None:
    async def body(place: Place) -> None:
        await place.world.until(lambda: place.world.find(NODES, NAME) is not None)
        place.world.check()
        await place.run_pod("db-0")
        await place.world.until(lambda: place.phase("db-0") == "Running")

    in_place(body, tmp_path, (fault, fault))


def test_an_agent_starts_although_its_node_is_deleted_as_it_registers(tmp_path: Path) -> None:
    async def body(place: Place) -> None:
        await place.run_pod("db-0")
        await place.world.until(lambda: place.phase("db-0") == "Running")
        place.world.check()

    in_place(body, tmp_path, (NO_FAULT, Fault(status=404)))


def test_with_a_full_disk_nothing_starts_and_what_runs_runs_on(tmp_path: Path) -> None:
    async def body(place: Place) -> None:
        await place.run_pod("db-0")
        await place.world.until(lambda: place.phase("db-0") == "Running")
        place.machine.disk.full = True
        await place.run_pod("db-1")
        assert place.agent is not None
        await place.world.restart(place.agent, 5.0)
        await place.sim.clock.sleep(300)
        assert [one.labels["pod"] for one in place.machine.living] == ["db-0"]
        assert place.machine.refused_starts > 1
        place.machine.disk.full = False
        await place.world.until(lambda: len(place.world.healthy_pods()) == 2)
        assert sorted(one.labels["pod"] for one in place.machine.living) == ["db-0", "db-1"]

    in_place(body, tmp_path)


def test_an_agent_that_crashes_while_the_disk_is_slow_starts_nothing_twice(tmp_path: Path) -> None:
    async def body(place: Place) -> None:
        place.machine.disk.seconds = 60.0
        await place.run_pod("db-0")
        await place.sim.clock.sleep(2.0)
        assert place.agent is not None
        await place.world.restart(place.agent, 0.5)
        await place.world.until(lambda: place.phase("db-0") == "Running")
        assert [one.id.rpartition(".")[2] for one in place.machine.living] == ["0"]

    in_place(body, tmp_path)


def test_a_process_that_waits_for_a_lost_host_keeps_its_pod(tmp_path: Path) -> None:
    async def body(place: Place) -> None:
        place.machine.needs = lambda _: ("storage",)
        await place.run_pod("db-0", terminationGracePeriodSeconds=5)
        await place.world.until(lambda: place.phase("db-0") == "Running")
        place.network.cut(NAME, "storage")
        await place.world.client.delete(PODS, "db-0", "default")
        await place.sim.clock.sleep(600)
        assert place.world.find(PODS, "db-0", "default") is not None
        assert len(place.machine.living) == 1
        place.network.mend(NAME, "storage")
        await place.world.until(lambda: place.world.find(PODS, "db-0", "default") is None)
        assert place.machine.living == []

    in_place(body, tmp_path)


def test_nothing_starts_before_the_node_has_reported_its_boot_id(tmp_path: Path) -> None:
    """Else a process of that boot would pass, after a storage fence, for one that a restart has ended."""

    def boot(place: Place) -> str:
        return str(dig(place.world.find(NODES, NAME), "status", "nodeInfo", "bootID"))

    async def body(place: Place) -> None:
        await place.world.until(lambda: boot(place) == f"{NAME}-boot-1")
        assert place.agent is not None
        await place.agent.crash()
        place.machine.power_off()
        place.machine.power_on()
        place.lost += [f"/nodes/{NAME}/status"] * 5
        started: list[str] = []
        place.machine.changed = lambda: started.append(boot(place))
        await place.run_pod("db-0")
        starting = asyncio.ensure_future(place.agent.start())
        await place.world.until(lambda: place.phase("db-0") == "Running")
        await starting
        assert place.lost == []
        assert started == [f"{NAME}-boot-2"]

    in_place(body, tmp_path)


SETTINGS = {"metadata": {"name": "settings"}, "data": {"COLOUR": "blue"}}
FROM_SETTINGS = {"envFrom": [{"configMapRef": {"name": "settings"}}]}


def test_a_restarted_agent_probes_a_container_although_an_answer_was_lost(tmp_path: Path) -> None:
    async def body(place: Place) -> None:
        probes = 0

        def ready(_: ContainerState) -> bool:
            nonlocal probes
            probes += 1
            return True

        place.machine.ready = ready
        await place.world.client.create(CONFIGMAPS, SETTINGS, "default")
        check = {"exec": {"command": ["check"]}, "periodSeconds": 5}
        await place.run_pod("db-0", {**FROM_SETTINGS, "readinessProbe": check})
        await place.world.until(lambda: len(place.world.healthy_pods()) == 1)
        place.lost.append("/configmaps/settings")
        assert place.agent is not None
        await place.world.restart(place.agent, 1.0)
        await place.world.until(lambda: not place.lost)
        before = probes
        await place.world.until(lambda: probes > before)
        await place.world.until(lambda: len(place.world.healthy_pods()) == 1)

    in_place(body, tmp_path)


def test_a_hook_runs_although_a_restarted_agent_finds_the_disk_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(place: Place) -> None:
        await place.world.client.create(CONFIGMAPS, SETTINGS, "default")
        hook = {"preStop": {"exec": {"command": ["say-goodbye"]}}}
        await place.run_pod("db-0", {**FROM_SETTINGS, "lifecycle": hook}, terminationGracePeriodSeconds=30)
        await place.world.until(lambda: place.phase("db-0") == "Running")
        assert place.agent is not None
        await place.agent.crash()

        def full(_: PodFolder) -> None:
            raise OSError(28, "No space left on device", "pods")

        monkeypatch.setattr(PodFolder, "make", full)
        await place.agent.start()
        await place.world.client.delete(PODS, "db-0", "default")
        await place.world.until(lambda: place.world.find(PODS, "db-0", "default") is None)
        assert [what for _, _, what in place.machine.history].count("preStop begins") == 1
        assert place.machine.living == []

    in_place(body, tmp_path)
