"""A node that comes back is ready only when nothing runs that was removed by force while it was away."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from support.simulated.agentplace import NAME, Place, in_place
from vacate.admission.pods.forcedeletion import CONFIRMATION
from vacate.api.kinds import NODES, PODS
from vacate.api.objects import Obj, dig
from vacate.api.options import DeleteOptions
from vacate.embedded.store.log import Record
from vacate.nodeagent.recovery import UID

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]

LONG = 120.0
"""Seconds after which nobody believes any more that a silent node is ready."""


def ready(node: Obj | None) -> Obj:
    conditions = dig(node, "status", "conditions") or ()
    return next((one for one in conditions if one["type"] == "Ready"), {})


class Watch:
    """Every time that the node is written: is it called ready although a pod runs that does not exist?"""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.too_early: list[str] = []
        place.world.server.written = self._written

    def left(self) -> list[str]:
        """The pods that run and are gone."""
        there = {one["metadata"]["uid"] for one in self._place.world.objects(PODS, "default")}
        runs = self._place.machine.living
        return [one.labels["pod"] for one in runs if one.labels[UID] not in there]

    def _written(self, record: Record) -> None:
        if record.resource == "nodes" and ready(orjson.loads(record.value)).get("status") == "True":
            self.too_early += self.left()


async def force(place: Place, name: str) -> None:
    """A person removes the pod, and confirms it."""
    client = place.world.client
    uid = str(dig(place.world.find(PODS, name, "default"), "metadata", "uid"))
    await client.patch(PODS, name, {"metadata": {"annotations": {CONFIRMATION: uid}}}, "default")
    await client.delete(PODS, name, "default", DeleteOptions(grace_period_seconds=0))


async def lose(place: Place, *, crash: bool) -> None:
    """The node falls silent, and everybody knows it."""
    assert place.agent is not None
    if crash:
        await place.agent.crash()
    else:
        place.world.network.cut(NAME)
    await place.world.until(lambda: ready(place.world.find(NODES, NAME)).get("status") == "Unknown", LONG)


async def come_back(place: Place, *, crash: bool) -> None:
    assert place.agent is not None
    if crash:
        await place.agent.start()
    else:
        place.world.network.mend(NAME)


WAYS = pytest.mark.parametrize("crash", [False, True], ids=["cut off", "agent away"])


@WAYS
@pytest.mark.parametrize("again", [False, True], ids=["gone", "another of its name"])
def test_a_node_is_ready_again_when_what_was_removed_meanwhile_has_ended(
    crash: bool, again: bool, tmp_path: Path
) -> None:
    async def body(place: Place) -> None:
        watch = Watch(place)
        place.machine.needs = lambda run: ("storage",) if run.labels["pod"] == "db-0" else ()
        for name in ("db-0", "db-1"):
            await place.run_pod(name, tolerations=[{"operator": "Exists"}])
        await place.world.until(lambda: len(place.world.healthy_pods()) == 2)
        await lose(place, crash=crash)
        await force(place, "db-0")
        if again:
            await place.run_pod("db-0", tolerations=[{"operator": "Exists"}])
        place.network.cut(NAME, "storage")  # its process cannot end
        await come_back(place, crash=crash)
        await place.world.until(lambda: ready(place.world.find(NODES, NAME)).get("status") == "False", LONG)
        await place.sim.clock.sleep(LONG)
        found = ready(place.world.find(NODES, NAME))
        assert (found["status"], found["reason"]) == ("False", "KubeletNotReady")
        assert found["message"].endswith("have not ended: default/db-0")
        assert watch.left() == ["db-0"]
        place.network.mend(NAME, "storage")
        await place.world.until(lambda: ready(place.world.find(NODES, NAME)).get("status") == "True", LONG)
        assert watch.too_early == []
        await place.world.until(lambda: len(place.world.healthy_pods()) == 1 + again, LONG)
        assert len(place.machine.living) == 1 + again  # what was not removed has run on

    in_place(body, tmp_path)


@WAYS
def test_a_node_that_comes_back_with_all_of_its_pods_is_never_called_unready(
    crash: bool, tmp_path: Path
) -> None:
    async def body(place: Place) -> None:
        statuses: list[str] = []
        await place.run_pod("db-0", tolerations=[{"operator": "Exists"}])
        await place.world.until(lambda: len(place.world.healthy_pods()) == 1)

        def written(record: Record) -> None:
            if record.resource == "nodes":
                statuses.append(ready(orjson.loads(record.value))["status"])

        place.world.server.written = written
        await lose(place, crash=crash)
        await come_back(place, crash=crash)
        await place.world.until(lambda: ready(place.world.find(NODES, NAME)).get("status") == "True", LONG)
        assert set(statuses) == {"Unknown", "True"}

    in_place(body, tmp_path)


def test_a_word_that_arrives_late_does_not_call_a_node_ready_that_was_lost_again(tmp_path: Path) -> None:
    async def body(place: Place) -> None:
        watch = Watch(place)
        await place.run_pod("db-0", tolerations=[{"operator": "Exists"}])
        await place.world.until(lambda: len(place.world.healthy_pods()) == 1)
        await lose(place, crash=True)
        place.late[f"/nodes/{NAME}/status"] = 2 * LONG
        await come_back(place, crash=True)
        await place.world.until(lambda: ready(place.world.find(NODES, NAME)).get("status") == "True", LONG)
        assert not place.late
        await lose(place, crash=True)
        await force(place, "db-0")
        await place.sim.clock.sleep(2 * LONG)
        assert ready(place.world.find(NODES, NAME))["status"] == "Unknown"
        await come_back(place, crash=True)
        await place.world.until(lambda: ready(place.world.find(NODES, NAME)).get("status") == "True", LONG)
        assert watch.too_early == []

    in_place(body, tmp_path)


def test_a_node_whose_object_was_deleted_registers_as_unready_while_something_is_left(tmp_path: Path) -> None:
    async def body(place: Place) -> None:
        watch = Watch(place)
        place.machine.needs = lambda _: ("storage",)
        await place.run_pod("db-0", tolerations=[{"operator": "Exists"}])
        await place.world.until(lambda: len(place.world.healthy_pods()) == 1)
        await lose(place, crash=True)
        await force(place, "db-0")
        await place.world.client.delete(NODES, NAME)
        place.network.cut(NAME, "storage")
        await come_back(place, crash=True)
        await place.world.until(lambda: ready(place.world.find(NODES, NAME)).get("status") == "False", LONG)
        place.network.mend(NAME, "storage")
        await place.world.until(lambda: ready(place.world.find(NODES, NAME)).get("status") == "True", LONG)
        assert watch.too_early == []

    in_place(body, tmp_path)
