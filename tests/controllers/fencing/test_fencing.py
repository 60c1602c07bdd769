"""A lost node is fenced and its pods are released, and in all cases of doubt nothing is."""

from __future__ import annotations

import pytest

from support.simulated.fencing import LOST, Fenced, fenced
from vacate.api.kinds import FENCINGPOLICIES, LEASES, NODES, PODDISRUPTIONBUDGETS, PODS
from vacate.api.times import format_time, parse_time
from vacate.client.transport import Transport
from vacate.errors import TransportError
from vacate.sim.fenceagents import Behaviour
from vacate.testing import pdb
from vacate.wire.message import Request, Response

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=3)]

A_WHILE = 1200.0


def test_a_lost_node_is_fenced_its_pods_are_replaced_and_it_comes_back() -> None:
    async def body(made: Fenced) -> None:
        await made.policy(powerOn="Automatic")
        await made.pods("db-0", "db-1")
        made.pool.isolate(LOST)
        await made.replaced()
        assert made.condition("Failing") == "False"
        await made.world.until(lambda: ("on", LOST) in made.agents.calls, 600.0)
        made.pool.rejoin(LOST)
        await made.world.until(lambda: not made.phase() and not made.released(), 600.0, "the taint is gone")
        node = made.world.find(NODES, LOST) or {}
        assert not node["metadata"].get("annotations", {}).keys() & {
            "vacate.dev/fenced",
            "vacate.dev/fencing-begun",
        }
        await made.world.until(lambda: "NodeUnfenced" in made.events(), 60.0)
        assert made.events() == ["FencingStarted", "NodeFenced", "NodeUnfenced"]

    fenced(body)


def test_when_all_nodes_lose_the_api_nobody_is_fenced() -> None:
    async def body(made: Fenced) -> None:
        await made.policy(when="Always", maxFenced=4)
        await made.pods("db-0")
        for name in made.pool.machines:
            made.pool.isolate(name)
        await made.world.sim.clock.sleep(A_WHILE)
        assert made.asked("off") == []
        assert "control plane is more likely to be cut off" in made.row()["message"]

    fenced(body)


def test_nodes_that_are_only_marked_ready_do_not_count() -> None:
    """The controller that marks nodes is down: they look ready for ever, although none of them reports."""

    async def body(made: Fenced) -> None:
        await made.policy(when="Always", maxFenced=4)
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.world.until(lambda: made.phase() == "Unreachable", 300.0)
        await made.world.controllers.crash()
        for name in made.pool.machines:
            made.pool.isolate(name)
        await made.world.sim.clock.sleep(A_WHILE)
        assert made.asked("off") == []
        assert "no other node is seen to report" in made.row()["message"]

    fenced(body)


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        pytest.param(Behaviour.REFUSES, "login failed", marks=pytest.mark.thorough),
        pytest.param(Behaviour.HANGS, "no answer within 60 s", marks=pytest.mark.thorough),
        pytest.param(Behaviour.LATE, "no answer within 60 s", marks=pytest.mark.thorough),
        (Behaviour.LIES, "its status afterwards is on"),
        pytest.param(Behaviour.MUTE, "its status afterwards is unknown", marks=pytest.mark.thorough),
    ],
)
def test_an_agent_that_fails_hangs_or_lies_releases_nothing_until_it_is_mended(
    behaviour: Behaviour, message: str
) -> None:
    async def body(made: Fenced) -> None:
        await made.policy()
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.world.until(lambda: made.phase() == "Failed", 600.0)
        assert message in made.row()["message"]
        assert "Nothing was released" in made.row()["message"]
        assert (made.condition("Failing"), _failing(made)) == ("True", 1)
        await made.world.sim.clock.sleep(A_WHILE)
        assert not made.released()
        assert made.places() == {}  # the old pod is still there, and no second one
        assert "FencingFailed" in made.events()
        made.agents.behaviours.clear()
        await made.replaced(2000.0)
        assert (made.condition("Failing"), _failing(made)) == ("False", 0)

    fenced(body, behaviours={LOST: behaviour})


def _failing(made: Fenced) -> float | None:
    """What the alert looks at."""
    registry = made.world.server.metrics.registry
    return registry.get_sample_value("vacate_fencing_failing_nodes", {"policy": "rack"})


def test_an_agent_that_switches_off_another_machine_releases_nothing() -> None:
    """The other node falls silent: that is how it is known, and it stays known while that node is away."""

    async def body(made: Fenced) -> None:
        made.agents.others[LOST] = "node-3"
        await made.policy(maxFenced=2)
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.world.until(lambda: made.phase() == "Failed", 600.0)
        assert "node-3 fell silent at the same time" in made.row()["message"]
        await made.world.sim.clock.sleep(3 * A_WHILE)
        assert not made.released()
        # The other node is back: now the agent is mended, and the fence is repeated.
        made.agents.behaviours.clear()
        made.pool.start("node-3")
        await made.replaced(4000.0)

    fenced(body, behaviours={LOST: Behaviour.WRONG_MACHINE})


def test_a_node_process_that_died_alone_is_fenced_before_its_pods_are_replaced() -> None:
    """The agent of the node is dead and its pods are alive: no second copy beside them."""

    async def body(made: Fenced) -> None:
        await made.policy()
        await made.pods("db-0")
        made.pool.stop(LOST)
        await made.replaced()
        assert made.asked("off") == [LOST]

    fenced(body)


@pytest.mark.parametrize("action", ["off", "status"])
def test_the_network_heals_in_the_middle(action: str) -> None:
    """While the machine is switched off, or between off and the release."""

    async def body(made: Fenced) -> None:
        healed: list[str] = []

        def heal(asked: str, node: str) -> None:
            if asked == action and not healed:
                healed.append(node)
                made.pool.rejoin(node)

        made.agents.during = heal
        await made.policy(powerOn="Automatic")
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.world.until(lambda: healed, 600.0)
        await made.world.until(
            lambda: len(made.world.healthy_pods()) == 1 and not made.phase(), 3000.0, "all is well again"
        )

    fenced(body)


class _LateRenewal:
    """Loses the write that follows on the agent's call, while a last renewal of the node's Lease arrives."""

    def __init__(self, transport: Transport, made: list[Fenced]) -> None:
        self._transport = transport
        self._made = made
        self._lost = False

    async def send(self, request: Request) -> Response:
        """Carry all other requests."""
        writes = request.method == "PATCH" and "/fencingpolicies/" in request.path
        if writes and not self._lost and self._made and self._made[0].asked("off"):
            self._lost = True
            renewal = {"spec": {"renewTime": "2026-01-01T23:00:00.000000Z"}}
            await self._made[0].world.client.patch(LEASES, LOST, renewal, "kube-node-lease")
            raise TransportError("the request was lost")
        return await self._transport.send(request)

    async def aclose(self) -> None:
        """Close what is wrapped."""
        await self._transport.aclose()


def test_a_node_that_reports_while_it_is_switched_off_does_not_stay_off() -> None:
    """The machine is off by our doing: the fence is repeated, and the machine is switched on again."""
    known: list[Fenced] = []

    async def body(made: Fenced) -> None:
        known.append(made)
        await made.policy(powerOn="Automatic")
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.replaced(3600.0)
        await made.world.until(lambda: made.asked("on"), 3600.0, "the machine is switched on")

    fenced(body, around=lambda transport: _LateRenewal(transport, known))


def test_a_node_that_reports_before_its_time_is_not_fenced() -> None:
    async def body(made: Fenced) -> None:
        await made.policy(unreachableSeconds=300)
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.world.until(lambda: made.phase() == "Unreachable", 300.0)
        made.pool.rejoin(LOST)
        await made.world.until(lambda: not made.phase(), 300.0)
        await made.world.sim.clock.sleep(A_WHILE)
        assert made.agents.calls == []

    fenced(body)


def test_two_controllers_at_once_fence_one_node_at_a_time() -> None:
    async def body(made: Fenced) -> None:
        await made.policy()
        await made.pods("db-0")
        await made.pods("db-1", node="node-2")
        made.pool.isolate(LOST)
        made.pool.isolate("node-2")
        await made.world.until(lambda: made.released() or made.released("node-2"), 900.0)
        await made.world.sim.clock.sleep(A_WHILE)
        assert len({node for _, node in made.agents.calls}) == 1

    fenced(body, nodes=7, controllers=2)


def test_pods_that_nobody_waits_for_are_no_reason_to_fence() -> None:
    async def body(made: Fenced) -> None:
        await made.policy(minPodPriority=1000)
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.world.sim.clock.sleep(A_WHILE)
        assert made.agents.calls == []
        assert "no pod waits" in made.row()["message"]
        # A person may ask for it all the same.
        await made.world.client.patch(
            NODES, LOST, {"metadata": {"annotations": {"vacate.dev/fence-requested": "it smokes"}}}
        )
        await made.replaced()

    fenced(body)


@pytest.mark.parametrize(("matched", "waits"), [("db-0", False), ("another", True)])
def test_a_node_is_fenced_sooner_for_a_pod_whose_budget_is_spent(matched: str, waits: bool) -> None:
    async def body(made: Fenced) -> None:
        await made.policy(unreachableSeconds=3600, budgetSpentSeconds=30)
        await made.pods("db-0")
        await made.world.client.patch(PODS, "db-0", {"metadata": {"labels": {"name": "db-0"}}}, "default")
        budget = pdb("db", selector={"name": matched}, min_available=1)
        await made.world.client.create(PODDISRUPTIONBUDGETS, budget, "default")
        made.pool.isolate(LOST)
        await made.world.until(lambda: made.phase() == "Unreachable", 300.0)
        await made.world.sim.clock.sleep(600.0)
        assert made.released() is not waits

    fenced(body)


def test_a_person_must_approve_and_the_approval_is_for_one_outage() -> None:
    async def body(made: Fenced) -> None:
        await made.policy(approval="Manual")
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.world.until(lambda: made.phase() == "AwaitingApproval", 600.0)
        await _approve(made, "2026-01-01T00:00:00Z")
        await made.world.sim.clock.sleep(A_WHILE)
        assert made.agents.calls == []
        await _approve(made, format_time(parse_time(made.row()["since"])))
        await made.replaced()

    fenced(body)


async def _approve(made: Fenced, since: str) -> None:
    await made.world.client.patch(
        NODES, LOST, {"metadata": {"annotations": {"vacate.dev/fencing-approved": since}}}
    )


def test_a_node_that_reports_although_its_machine_is_off_stops_the_policy() -> None:
    """After the release it turns out that the agent speaks of another machine."""

    async def body(made: Fenced) -> None:
        await made.policy(maxFenced=3)
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.replaced()
        # The machine runs and reports; the agent goes on to say that it is off.
        made.agents.behaviours[LOST] = Behaviour.WRONG_MACHINE
        made.agents.others[LOST] = "node-2"
        made.pool.crash("node-2")
        made.pool.start(LOST)
        made.pool.rejoin(LOST)
        await made.world.until(lambda: made.phase() == "Contradicted", 600.0)
        await made.world.sim.clock.sleep(A_WHILE)
        assert made.asked("off") == [LOST]
        assert "FencingContradicted" in made.events()

    fenced(body, nodes=6)


def test_a_policy_that_is_deleted_leaves_the_node_as_it_is() -> None:
    async def body(made: Fenced) -> None:
        await made.policy()
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.replaced()
        await made.world.client.delete(FENCINGPOLICIES, "rack")
        await made.world.sim.clock.sleep(A_WHILE)
        assert made.released()

    fenced(body)
