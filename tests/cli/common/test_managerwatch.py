"""What a command that waits says about the manager: each state of the Lease, and the recovery from it."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
from collections.abc import Awaitable, Callable

import pytest

from support.processes.commands import Terminal
from support.simulated.clusters import in_world
from vacate.api.identity import MASTERS
from vacate.api.installednames import MANAGER, TROUBLE
from vacate.api.kinds import LEASES
from vacate.api.times import format_micro_time
from vacate.cli.common.connection import Cluster
from vacate.cli.common.managerwatch import ManagerWatch, say_health, watching
from vacate.sim.cluster import World
from vacate.views.managerhealth import ManagerHealth, ManagerState, Unattended, manager_health
from vacate.wire.message import Peer

pytestmark = pytest.mark.sim

Manage = Callable[[World], Awaitable[None]]


async def renew(world: World, holder: str = "m", ago: float = 0.0, trouble: str | None = None) -> None:
    now = world.sim.clock.now() - dt.timedelta(seconds=ago)
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": format_micro_time(now)}
    meta = {"annotations": {TROUBLE: trouble}}
    if world.find(LEASES, MANAGER, "kube-system") is None:
        await world.client.create(
            LEASES, {"metadata": {"name": MANAGER, "namespace": "kube-system"}, "spec": spec}
        )
    await world.client.patch(LEASES, MANAGER, {"metadata": meta, "spec": spec}, "kube-system")


async def nothing(_world: World) -> None:
    """No Lease."""


async def held_long_ago(world: World) -> None:
    if world.find(LEASES, MANAGER, "kube-system") is None:
        await renew(world)


async def given_back(world: World) -> None:
    await renew(world, holder="")


async def held(world: World) -> None:
    await renew(world)


async def held_up(world: World) -> None:
    await renew(world, trouble="its roles lack the right to watch pods")


CASES = [
    # how the manager is, whether anything is attended to, whether the reader may read the Lease; what is said
    (nothing, True, True, ManagerState.ABSENT),
    (given_back, True, True, ManagerState.ABSENT),
    (held_long_ago, True, True, ManagerState.STOPPED),
    (held_up, True, True, ManagerState.HELD_UP),
    (held, False, True, ManagerState.SILENT),
    (held, True, True, None),
    (nothing, False, False, ManagerState.UNKNOWN),
    (nothing, True, False, None),
]


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize(("manage", "attended", "reads", "expected"), CASES)
def test_it_is_noticed_within_ten_seconds_and_taken_back_when_it_is_over(
    manage: Manage, attended: bool, reads: bool, expected: ManagerState | None
) -> None:
    async def body(world: World) -> None:
        heard: list[ManagerHealth] = []
        client = world.client_of("reader", Peer("reader", (MASTERS,) if reads else ()))
        created = world.sim.clock.now()
        is_attended = attended

        async def unattended() -> Unattended | None:
            return None if is_attended else Unattended("nodemaintenance/a", created)

        watch = ManagerWatch(Cluster(client, "default", world.sim.clock), unattended, heard.append)
        await manage(world)
        async with watching(watch):
            for _ in range(12):
                await manage(world)
                await world.sim.clock.sleep(1)
            assert [one.state for one in heard] == ([expected] if expected else [])
            assert all(one.remedies for one in heard)
            is_attended = True
            for _ in range(3):
                await renew(world)
                await world.sim.clock.sleep(1)
            assert [one.text for one in heard[1:]] == ([""] if expected else [])

    in_world(body, nodes=0, controllers=(), evictions=())


def test_a_look_under_way_is_waited_for_at_the_end() -> None:
    async def body(world: World) -> None:
        clock, looks = world.sim.clock, list[str]()

        async def unattended() -> Unattended | None:
            looks.append("begun")
            await clock.sleep(1)
            looks.append("ended")
            return None

        await renew(world)
        async with watching(ManagerWatch(Cluster(world.client, "default", clock), unattended)):
            await clock.sleep(0.5)
            assert looks == ["begun"]
        assert looks == ["begun", "ended"]
        await clock.sleep(60)
        assert looks == ["begun", "ended"]

    in_world(body, nodes=0, controllers=(), evictions=())


@pytest.mark.parametrize("columns", [0, 80])
def test_on_a_terminal_each_command_has_a_line_of_its_own(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    err = Terminal() if columns else io.StringIO()
    monkeypatch.setenv("COLUMNS", str(columns or 80))
    with contextlib.redirect_stderr(err):
        say_health(manager_health([], dt.datetime.now(dt.UTC)), "2026-01-01T00:00:00Z ")
    lines = err.getvalue().splitlines()
    assert lines[0].startswith("2026-01-01T00:00:00Z No manager works")
    commands = [line.strip() for line in lines if line.strip() == "vacate check"]
    assert (len(lines) == 1, commands) == ((False, ["vacate check"]) if columns else (True, []))
