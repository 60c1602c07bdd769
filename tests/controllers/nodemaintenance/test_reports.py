"""What a maintenance says in its status and Events."""

from __future__ import annotations

import pytest

from support.simulated.clusters import in_world
from support.simulated.maintenances import drain, phase, web
from support.simulated.workloads import history
from vacate.api.kinds import NODEMAINTENANCES
from vacate.api.types.nodemaintenance import Blocker, NodeMaintenance, NodeProgress
from vacate.controllers.nodemaintenance.events import phase_changed
from vacate.sim.cluster import World


@pytest.mark.sim
@pytest.mark.parametrize(
    ("nodes", "first"),
    [(["node-1"], "the node is cordoned first"), (["node-1", "node-2"], "all nodes are cordoned first")],
)
def test_nodes_wait_for_the_cordon_and_then_for_their_turn(nodes: list[str], first: str) -> None:
    async def body(world: World) -> None:
        await web(world, 6)
        await drain(world, *nodes)
        await world.until(lambda: phase(world) == "Drained")
        messages: list[str] = []
        for _, one in history(world, NODEMAINTENANCES):
            for row in one.get("status", {}).get("nodes", []):
                if row["phase"] == "Pending" and row["message"] not in messages:
                    messages.append(row["message"])
        turn = "waits for its turn after node-1: 1 node at a time (maxNodes)"
        assert messages == ([first] if len(nodes) == 1 else [first, turn])

    in_world(body)


@pytest.mark.unit
@pytest.mark.parametrize("stop", ["", "."])
def test_the_event_of_a_blocked_node_ends_each_sentence_once(stop: str) -> None:
    held = Blocker(node="n1", namespace="d", pod="p", message=f"the budget is spent{stop}", remedy="wait")
    note = phase_changed(NodeMaintenance(), NodeProgress(name="n1", phase="Blocked"), held)
    assert note.message == "Node n1 is blocked: pod d/p: the budget is spent. Remedy: wait."
