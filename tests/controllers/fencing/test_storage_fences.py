"""A fence that cuts a node off from its storage: the machine runs on, until it is restarted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.simulated.fencing import LOST, Fenced, fenced
from vacate.api.kinds import FENCINGPOLICIES, NODES, PODS
from vacate.api.objects import Obj
from vacate.api.types import Node
from vacate.api.types.core import NodeInfo, NodeStatus
from vacate.api.types.meta import ObjectMeta
from vacate.fencing.annotations import BOOT_ID, has_restarted, is_storage_fence
from vacate.sim.fenceagents import Behaviour, SimulatedAgents, SimulatedStorage
from vacate.sim.invariants.podprocesses import PodProcesses

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]

AGENT = {"http": {"url": "https://array.example"}, "mechanism": "Storage"}


@pytest.mark.parametrize(
    ("before", "now", "restarted"),
    [
        ("one", "two", True),
        ("one", "one", False),
        ("one", "", False),
        ("", "two", False),
        (None, "two", False),
    ],
)
def test_what_counts_as_a_restart(before: str | None, now: str, restarted: bool) -> None:
    annotations = {} if before is None else {BOOT_ID: before}
    node = Node(ObjectMeta(annotations=annotations), status=NodeStatus(node_info=NodeInfo(boot_id=now)))
    assert is_storage_fence(node) is (before is not None)
    assert has_restarted(node) is restarted


class Storage:
    """The storage of a cluster, and what goes against its one rule."""

    def __init__(self) -> None:
        self.agents: SimulatedStorage | None = None

    @property
    def cut(self) -> set[str]:
        assert self.agents is not None
        return self.agents.cut

    def wrap(self, agents: SimulatedAgents) -> SimulatedStorage:
        self.agents = SimulatedStorage(
            agents.pool, agents.clock, agents.behaviours, agents.calls, agents.others
        )
        return self.agents

    async def watch(self, made: Fenced) -> None:
        """At most one process of an identity reaches the storage."""
        processes = PodProcesses(made.pool.machines)
        while True:
            list(processes.look(made.world.objects(PODS), made.world.sim.clock.now()))
            able = [one for one in processes.alive if one.node not in self.cut]
            for one in able:
                made.breaches += [
                    f"{one} and {other} write"
                    for other in able
                    if other.identity == one.identity and other is not one
                ]
            await made.world.server.changed()


def with_storage(
    body: Callable[[Fenced, Storage], Awaitable[None]], behaviours: dict[str, Behaviour] | None = None
) -> Fenced:
    storage = Storage()
    return fenced(
        lambda made: body(made, storage), behaviours=behaviours, wrap=storage.wrap, watch=storage.watch
    )


async def lose(made: Fenced, **spec: Any) -> None:
    """The node is cut off, fenced, and its pod runs elsewhere."""
    await made.policy(agent=AGENT, **spec)
    await made.pods("db-0")
    made.pool.isolate(LOST)
    await made.replaced()


def marks_of(made: Fenced) -> Obj:
    found = made.world.find(NODES, LOST) or {}
    return dict(found["metadata"].get("annotations") or {})


def restart(made: Fenced) -> None:
    made.pool.crash(LOST)
    made.pool.start(LOST)


def test_the_storage_is_given_back_only_after_a_restart() -> None:
    async def body(made: Fenced, storage: Storage) -> None:
        await lose(made, powerOn="Automatic")
        assert storage.cut == {LOST}
        assert made.pool.machines[LOST].up
        before = (made.world.find(NODES, LOST) or {})["status"]["nodeInfo"]["bootID"]
        assert marks_of(made)[BOOT_ID] == before
        await made.world.sim.clock.sleep(600)
        assert (made.asked("on"), storage.cut) == ([], {LOST})
        made.pool.rejoin(LOST)  # the network heals: the same boot, and what ran before may still run
        await made.world.sim.clock.sleep(600)
        assert (made.asked("on"), storage.cut, made.phase(), made.released()) == ([], {LOST}, "Fenced", True)
        assert "Restart the machine" in made.row()["message"]
        assert "Restart the machine" in (made.world.find(FENCINGPOLICIES, "rack") or {})["status"]["message"]
        restart(made)
        await made.world.until(lambda: not made.phase() and not made.released(), 600.0, "the taint is gone")
        assert storage.cut == set()
        assert BOOT_ID not in marks_of(made)
        await made.world.until(lambda: "NodeUnfenced" in made.events(), 60.0)
        assert made.events() == ["FencingStarted", "NodeFenced", "NodeUnfenced"]

    with_storage(body)


def test_people_give_it_back_where_the_policy_leaves_that_to_them() -> None:
    async def body(made: Fenced, storage: Storage) -> None:
        await lose(made)
        made.pool.rejoin(LOST)
        restart(made)
        await made.world.until(
            lambda: "--undo gives its storage back" in made.row().get("message", ""), 600.0
        )
        await made.world.sim.clock.sleep(600)
        assert (storage.cut, made.released()) == ({LOST}, True)
        storage.cut.clear()
        await made.world.client.patch(NODES, LOST, {"metadata": {"labels": {"looked": "at"}}})
        await made.world.until(lambda: not made.phase() and not made.released(), 600.0, "the taint is gone")

    with_storage(body)


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("attack", ["row", "power", "agent"])
def test_neither_a_forged_row_nor_an_edited_policy_gives_it_back_without_a_restart(attack: str) -> None:
    async def body(made: Fenced, storage: Storage) -> None:
        await lose(made, powerOn="Automatic")
        made.pool.rejoin(LOST)
        if attack == "row":
            uid = (made.world.find(NODES, LOST) or {})["metadata"]["uid"]
            for phase in ("SwitchingOn", "Failed", "Confirming", "Fenced"):
                row = {"name": LOST, "uid": uid, "phase": phase, "power": "off"}
                patch: Obj = {"status": {"nodes": [row]}}
                await made.world.client.patch(FENCINGPOLICIES, "rack", patch, subresource="status")
                await made.world.sim.clock.sleep(120)
        elif attack == "power":
            patch = {"spec": {"agent": {"mechanism": "Power"}}}
            await made.world.client.patch(FENCINGPOLICIES, "rack", patch)
        else:
            patch = {"spec": {"nodeSelector": {"matchLabels": {"no": "where"}}}}
            await made.world.client.patch(FENCINGPOLICIES, "rack", patch)
        await made.world.sim.clock.sleep(600)
        assert (made.asked("on"), storage.cut, made.released()) == ([], {LOST}, True)

    with_storage(body)


def test_an_edit_in_the_middle_does_not_make_it_a_fence_by_power() -> None:
    """The agent has cut the storage off; then the policy says that it has switched the machine off."""

    async def body(made: Fenced, storage: Storage) -> None:
        await made.policy(agent=AGENT, powerOn="Automatic")
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.world.until(lambda: made.phase() == "Confirming", 600.0)
        patch = {"spec": {"agent": {"mechanism": "Power"}}}
        await made.world.client.patch(FENCINGPOLICIES, "rack", patch)
        await made.replaced()
        made.pool.rejoin(LOST)
        await made.world.sim.clock.sleep(600)
        assert (made.asked("on"), storage.cut, made.phase()) == ([], {LOST}, "Fenced")

    with_storage(body)


def test_a_node_that_reports_in_the_middle_has_its_storage_back_and_keeps_its_pods() -> None:
    """Nothing was released, so that nobody else writes."""

    async def body(made: Fenced, storage: Storage) -> None:
        await made.policy(agent=AGENT)
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.world.until(lambda: made.phase() == "Confirming", 600.0)
        made.pool.rejoin(LOST)
        await made.world.until(lambda: not made.phase(), 900.0, "the fence is abandoned")
        assert (storage.cut, made.released()) == (set(), False)
        assert marks_of(made).keys().isdisjoint({BOOT_ID, "vacate.dev/fencing-begun"})

    with_storage(body)


def test_a_storage_that_is_not_cut_off_releases_nothing() -> None:
    async def body(made: Fenced, storage: Storage) -> None:
        await made.policy(agent=AGENT)
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.world.until(lambda: made.phase() == "Failed", 600.0)
        await made.world.sim.clock.sleep(600)
        assert (storage.cut, made.released()) == (set(), False)

    with_storage(body, {LOST: Behaviour.LIES})
