"""What has changed since a fence was decided, or since the machine was off, is noticed in time."""

from __future__ import annotations

import pytest

from support.embedded import ADMIN, embedded
from support.simulated.fencing import LOST, Fenced, fenced
from vacate.api.kinds import NODES
from vacate.api.objects import Obj
from vacate.api.times import format_time, parse_time
from vacate.api.types import Node
from vacate.api.types.fencingpolicy import AgentSpec, FencingPolicy, NodeFencing
from vacate.client.client import Client
from vacate.client.transport import Transport
from vacate.controllers.fencing.fencer import Fencer
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.fencing.agentprotocol import PowerState
from vacate.fencing.agents import Answer, MachineAgent
from vacate.sim.fenceagents import Behaviour
from vacate.wire.message import Request, Response

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]

A_WHILE = 1200.0
APPROVED = "vacate.dev/fencing-approved"


class _ChangeOfMind:
    """Changes the node as soon as the decision to fence it is written."""

    def __init__(self, transport: Transport, made: list[Fenced], change: Obj) -> None:
        self._transport = transport
        self._made = made
        self._change = change
        self.decided = False

    async def send(self, request: Request) -> Response:
        """Carry all requests."""
        answer = await self._transport.send(request)
        written = request.method == "PATCH" and "/fencingpolicies/" in request.path
        if written and not self.decided and self._made and self._made[0].phase() == "Fencing":
            self.decided = True
            await self._made[0].world.client.patch(NODES, LOST, {"metadata": self._change})
        return answer

    async def aclose(self) -> None:
        """Close what is wrapped."""
        await self._transport.aclose()


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize(
    "change", [{"annotations": {APPROVED: None}}, {"labels": {"rack": "2"}}], ids=["approval", "selector"]
)
def test_a_decision_that_does_not_hold_any_more_is_not_carried_out(change: Obj) -> None:
    known: list[Fenced] = []
    links: list[_ChangeOfMind] = []

    def around(transport: Transport) -> Transport:
        links.append(_ChangeOfMind(transport, known, change))
        return links[-1]

    async def body(made: Fenced) -> None:
        known.append(made)
        await made.world.client.patch(NODES, LOST, {"metadata": {"labels": {"rack": "1"}}})
        await made.policy(approval="Manual", nodeSelector={"matchLabels": {"rack": "1"}})
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.world.until(lambda: made.phase() == "AwaitingApproval", 600.0)
        since = format_time(parse_time(made.row()["since"]))
        await made.world.client.patch(NODES, LOST, {"metadata": {"annotations": {APPROVED: since}}})
        await made.world.until(lambda: any(one.decided for one in links), 600.0, "a fence is decided")
        await made.world.sim.clock.sleep(A_WHILE)
        assert made.agents.calls == []
        assert not made.released()

    fenced(body, around=around)


def test_a_node_that_reports_before_the_release_keeps_its_pods_whatever_the_agent_says() -> None:
    """The agent speaks of a machine that was off before: nothing but the node itself gives that away."""

    async def body(made: Fenced) -> None:
        made.agents.others[LOST] = "node-4"
        made.pool.crash("node-4")
        await made.world.until(lambda: "unreachable" in str(made.world.find(NODES, "node-4")), 600.0)
        await made.policy(minHealthy=1)
        await made.pods("db-0")

        def heal(action: str, _: str) -> None:
            if action == "status":
                made.pool.rejoin(LOST)

        made.agents.during = heal
        made.pool.isolate(LOST)
        await made.world.until(lambda: made.phase() == "Confirming", 600.0)
        await made.world.until(lambda: made.phase() != "Confirming", 600.0)
        assert not made.released()
        await made.world.until(lambda: not made.phase(), 600.0, "the fence is abandoned")

    fenced(body, nodes=5, behaviours={LOST: Behaviour.WRONG_MACHINE})


def test_a_machine_that_is_switched_on_before_the_release_is_not_released() -> None:
    async def body(made: Fenced) -> None:
        await made.policy()
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.world.until(lambda: made.phase() == "Confirming", 600.0)
        made.pool.start(LOST)
        await made.world.until(lambda: made.phase() != "Confirming", 600.0)
        assert (made.phase(), made.released(), made.condition("Failing")) == ("Failed", False, "True")
        assert "was off and is on now" in made.row()["message"]
        await made.replaced(3600.0)

    fenced(body)


class _Off:
    """An agent that says that the machine is off."""

    async def for_node(self, spec: AgentSpec, node: Node, step: str) -> MachineAgent:
        """It is its own."""
        return self

    async def status(self) -> Answer:
        """What it says."""
        return Answer(True, PowerState.OFF, "off")

    on = off = status


async def test_a_node_that_has_changed_since_it_was_looked_at_is_looked_at_again() -> None:
    async with embedded() as server:
        lost = {"type": "Ready", "status": "Unknown"}
        await server.seed(NODES, {"metadata": {"name": "n1", "uid": "u"}, "status": {"conditions": [lost]}})
        client = Client(InProcessTransport(server.server, ADMIN))
        attempts = Fencer(client, server.clock, _Off(), "me")
        node = await client.get(NODES, "n1", into=Node)
        ready = {"status": {"conditions": [{**lost, "status": "True"}]}}
        await client.patch(NODES, "n1", ready, subresource="status")
        row, policy = NodeFencing("n1", "u", "Confirming"), FencingPolicy()
        step = await attempts._release(policy, row, node, server.clock.now())
        assert (step.changes, step.later is not None) == (False, True)
        assert "taints" not in (await client.get(NODES, "n1"))["spec"]
        # Of the node as it is now, nothing keeps the fence from going on.
        node = await client.get(NODES, "n1", into=Node)
        step = await attempts._release(policy, row, node, server.clock.now())
        assert step.row is not None
        assert step.row.phase == "Fenced"
