"""A status that another client wrote: the policy goes on, and nothing is fenced that should not be."""

from __future__ import annotations

from typing import Any

import pytest

from support.simulated.fencing import LOST, Fenced, fenced
from vacate.api.kinds import FENCINGPOLICIES, LEASES, NODES
from vacate.api.objects import Obj

pytestmark = pytest.mark.sim

FOREVER = "9998-12-31T23:59:59Z"


async def forge(made: Fenced, *rows: Obj, **status: Any) -> None:
    patch = {"status": {"nodes": list(rows), **status}}
    await made.world.client.patch(FENCINGPOLICIES, "rack", patch, subresource="status")


def uid_of(made: Fenced, name: str = LOST) -> str:
    return str((made.world.find(NODES, name) or {})["metadata"]["uid"])


@pytest.mark.thorough(beyond=3)
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
