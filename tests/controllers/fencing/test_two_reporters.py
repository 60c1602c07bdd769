"""Two controllers that see different things do not write against each other without end."""

from __future__ import annotations

import pytest

from support.simulated.fencing import Fenced, fenced
from vacate.client.transport import Transport
from vacate.clock import SystemClock
from vacate.sim.faults.transport import NO_FAULT, Fault, FaultyTransport
from vacate.wire.message import Request

pytestmark = pytest.mark.sim


class DeafToNodes:
    """Its watch on nodes lives and says nothing, as behind a proxy that has lost its other side."""

    active = False

    def fault(self, request: Request) -> Fault:
        watches = "watch" in request.query and request.path == "/api/v1/nodes"
        return Fault(stall_after=0) if watches and self.active else NO_FAULT


def test_two_controllers_with_caches_of_different_age_write_seldom() -> None:
    made, deaf = 0, DeafToNodes()

    def second_is_deaf(link: Transport) -> Transport:
        nonlocal made
        made += 1
        # A simulated loop gives every clock its time.
        return FaultyTransport(link, deaf, SystemClock()) if made == 2 else link

    writes = 0

    async def body(fence: Fenced) -> None:
        nonlocal writes
        await fence.policy(when="PodsWait")
        await fence.world.sim.clock.sleep(60)
        deaf.active = True
        await fence.world.restart_server()  # all watches begin anew
        for name in ("node-2", "node-3"):
            fence.pool.isolate(name)
        before = len(fence.world.server.history)
        await fence.world.sim.clock.sleep(120)
        since = fence.world.server.history[before:]
        writes = len([one for _, one in since if one.resource == "fencingpolicies.vacate.dev"])

    fenced(body, controllers=2, around=second_is_deaf)
    assert 0 < writes < 25
