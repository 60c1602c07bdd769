"""A status that another client wrote: the policy goes on, and nothing is fenced that should not be."""

from __future__ import annotations

from typing import Any

import pytest

from support.simulated.fencing import LOST, Fenced, fenced
from vacate.api.kinds import FENCINGPOLICIES, LEASES, NODES
from vacate.api.objects import Obj
from vacate.sim.fenceagents import Behaviour

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]

FOREVER = "9998-12-31T23:59:59Z"


async def forge(made: Fenced, *rows: Obj, **status: Any) -> None:
    patch = {"status": {"nodes": list(rows), **status}}
    await made.world.client.patch(FENCINGPOLICIES, "rack", patch, subresource="status")


def uid_of(made: Fenced, name: str = LOST) -> str:
    return str((made.world.find(NODES, name) or {})["metadata"]["uid"])


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize(
    "row",
    [
        {"phase": "Fencing", "holder": "nobody", "holdTime": FOREVER},
        {"phase": "Confirming", "holder": "nobody", "holdTime": FOREVER, "power": "off"},
        {"phase": "SwitchingOn", "holder": "nobody", "holdTime": FOREVER},
        {"phase": "Failed", "retryTime": FOREVER, "attempts": 2**31 - 1},
        {"phase": "Failed", "attempts": -(2**31), "startTime": FOREVER},
        {"phase": "Fenced", "power": "off"},
        {"phase": "Contradicted"},
    ],
    ids=lambda row: row["phase"],
)
def test_a_forged_row_does_not_keep_a_node_from_being_fenced(row: Obj) -> None:
    async def body(made: Fenced) -> None:
        await made.policy()
        await made.pods("db-0")
        await forge(
            made,
            {"name": LOST, "uid": uid_of(made), **row},
            {"name": "../../no such/node", "phase": row["phase"]},
            {"name": "", "phase": row["phase"]},
            conditions=[
                {
                    "type": f"T{i}",
                    "status": "True",
                    "reason": "R",
                    "message": "",
                    "lastTransitionTime": FOREVER,
                }
                for i in range(20)
            ],
        )
        made.pool.isolate(LOST)
        await made.replaced(timeout=3600.0)
        assert made.agents.calls[0] == ("off", LOST)

    fenced(body)


def test_a_forged_decision_fences_no_node_that_reports_and_none_without_approval() -> None:
    """The record of a decision is not the decision: what it rests upon is looked at again."""

    async def body(made: Fenced) -> None:
        await made.policy(approval="Manual")
        await made.pods("db-0")
        await forge(made, {"name": LOST, "uid": uid_of(made), "phase": "Fencing", "startTime": FOREVER})
        await made.world.sim.clock.sleep(600)
        made.pool.isolate(LOST)
        await made.world.until(lambda: made.phase() == "AwaitingApproval", 600.0)
        for phase in ("Fencing", "Failed", "Confirming"):
            await forge(made, {"name": LOST, "uid": uid_of(made), "phase": phase})
            await made.world.until(lambda: made.phase() in ("AwaitingApproval", "Failed"), 600.0)
            await made.world.sim.clock.sleep(1200)
        assert made.asked("off") == []
        assert not made.released()

    fenced(body)


def test_a_forged_fence_of_a_machine_that_is_off_releases_nothing_without_approval() -> None:
    """The agent says off, and that is true; but no person has approved, and no fence was begun."""

    async def body(made: Fenced) -> None:
        await made.policy(approval="Manual")
        await made.pods("db-0")
        made.pool.crash(LOST)
        await made.world.until(lambda: made.phase() == "AwaitingApproval", 600.0)
        lease = made.world.find(LEASES, LOST, "kube-node-lease") or {}
        row = {"phase": "Confirming", "power": "off", "lastReport": lease["spec"]["renewTime"]}
        await forge(made, {"name": LOST, "uid": uid_of(made), **row})
        await made.world.sim.clock.sleep(1200)
        assert not made.released()

    fenced(body)


def forged_record(made: Fenced, phase: str, **parts: Any) -> Obj:
    """A row that hides what has happened since: nobody was lost after it, and the node has not reported."""
    lease = made.world.find(LEASES, LOST, "kube-node-lease") or {}
    hidden = {"startTime": FOREVER, "latestLoss": FOREVER, "lastReport": lease["spec"]["renewTime"]}
    return {"name": LOST, "uid": uid_of(made), "phase": phase, "power": "off", **hidden, **parts}


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("phase", ["Confirming", "Failed", "Fencing"])
def test_a_forged_row_does_not_hide_that_another_machine_was_switched_off(phase: str) -> None:
    async def body(made: Fenced) -> None:
        made.agents.others[LOST] = "node-3"
        await made.policy(maxFenced=2)
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.world.until(lambda: made.phase() == "Failed", 600.0)
        for _ in range(3):
            await forge(made, forged_record(made, phase, attempts=1))
            await made.world.sim.clock.sleep(600)
        assert not made.released()

    fenced(body, behaviours={LOST: Behaviour.WRONG_MACHINE})


@pytest.mark.thorough
def test_a_forged_beginning_does_not_hide_which_node_falls_silent() -> None:
    async def body(made: Fenced) -> None:
        made.agents.others[LOST] = "node-3"
        await made.policy(maxFenced=2)
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.world.until(lambda: made.phase() == "Held", 600.0)
        await forge(made, forged_record(made, "Failed", attempts=1, power=""))
        await made.world.until(lambda: made.asked("off") != [], 600.0)
        await made.world.sim.clock.sleep(1800)
        assert not made.released()

    fenced(body, behaviours={LOST: Behaviour.WRONG_MACHINE})


def test_a_forged_row_switches_no_machine_on_that_people_switch_on() -> None:
    async def body(made: Fenced) -> None:
        await made.policy(powerOn="Manual")
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.replaced()
        await forge(made, {"name": LOST, "uid": uid_of(made), "phase": "SwitchingOn", "power": "off"})
        await made.world.sim.clock.sleep(600)
        assert made.asked("on") == []
        assert (made.phase(), made.released()) == ("Fenced", True)

    fenced(body)


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("rows", ["none", "fencing"])
def test_a_node_whose_row_was_removed_stays_fenced_until_it_is_on_and_reports(rows: str) -> None:
    async def body(made: Fenced) -> None:
        await made.policy()
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.replaced()
        await forge(
            made, *([] if rows == "none" else [{"name": LOST, "uid": uid_of(made), "phase": "Fencing"}])
        )
        await made.world.until(lambda: made.phase() == "Fenced", 600.0, "the row is written again")
        await made.world.sim.clock.sleep(600)
        assert (made.phase(), made.released(), made.asked("off")) == ("Fenced", True, [LOST])
        made.agents.switch(LOST, on=True)
        made.pool.rejoin(LOST)
        await made.world.until(lambda: not made.released() and not made.phase(), 600.0, "it is back")

    fenced(body)


def test_a_fence_that_is_abandoned_leaves_the_taint_of_others() -> None:
    """A person has declared the node out of service meanwhile; the policy takes only its own marks away."""

    async def body(made: Fenced) -> None:
        await made.policy()
        await made.pods("db-0")
        made.pool.isolate(LOST)
        await made.world.until(lambda: made.phase() == "Failed", 600.0)
        taint = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
        await made.world.client.patch(NODES, LOST, {"spec": {"taints": [taint]}})
        made.pool.rejoin(LOST)
        await made.world.until(lambda: not made.phase(), 600.0, "the fence is abandoned")
        assert made.released()
        assert "vacate.dev/fencing-begun" not in (made.world.find(NODES, LOST) or {})["metadata"].get(
            "annotations", {}
        )

    fenced(body, behaviours={LOST: Behaviour.REFUSES})
