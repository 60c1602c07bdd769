"""`vacate fence` in virtual time: the checks of the controller, and marks that end with the command."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.embedded import ADMIN
from support.simulated.fencing import LOST, Fenced, fenced
from vacate.api.kinds import FENCINGPOLICIES, NODES
from vacate.api.types import Node, ObjectMeta
from vacate.api.types.fencingpolicy import POWER, STORAGE, AgentSpec
from vacate.client.client import Client
from vacate.controllers.fencing.manual import ManualFence
from vacate.errors import ConfigError, FencingFailed
from vacate.fencing.annotations import BEGUN, BOOT_ID, FENCED, LATEST_LOSS, UNTIL
from vacate.fencing.limits import FencingLimits
from vacate.sim.faults.crashpoints import CrashPoint
from vacate.sim.fenceagents import Behaviour, SimulatedStorage

pytestmark = [pytest.mark.sim, pytest.mark.timeout(900), pytest.mark.thorough(beyond=6)]

OTHER = "node-2"
OLD = "alice at 2020-01-01T00:00:00Z"  # as earlier versions wrote it


async def command(
    made: Fenced,
    node: str = LOST,
    *,
    client: Client | None = None,
    owner: str = "run 1",
    **more: Any,
) -> ManualFence:
    agent = await made.agents.for_node(AgentSpec(), Node(ObjectMeta(name=node)), "")
    return ManualFence(
        client or made.world.client_of("alice"),
        made.world.sim.clock,
        agent,
        FencingLimits(max_fenced=more.pop("max_fenced", 1)),
        owner,
        **more,
    )


def marks(made: Fenced, node: str = LOST) -> dict[str, str]:
    found = (made.world.find(NODES, node) or {})["metadata"].get("annotations") or {}
    return {key: value for key, value in found.items() if key.startswith("vacate.dev/fenc")}


async def lose(made: Fenced, *pods: str) -> None:
    await made.pods(*pods)
    made.pool.isolate(LOST)
    await made.world.until(lambda: readiness(made) == "Unknown", 300.0)


def readiness(made: Fenced, node: str = LOST) -> str:
    found = (made.world.find(NODES, node) or {}).get("status", {}).get("conditions", [])
    return next((str(one["status"]) for one in found if one["type"] == "Ready"), "")


def by_hand(body: Callable[[Fenced], Awaitable[None]], *, policies: int = 0, **more: Any) -> None:
    fenced(body, controllers=policies, **more)


def test_a_node_is_fenced_and_brought_back() -> None:
    async def body(made: Fenced) -> None:
        await lose(made, "db-0")
        await (await command(made)).fence(LOST)
        assert made.released()
        assert marks(made).keys() == {FENCED}
        assert marks(made)[FENCED].startswith("run 1 at ")
        assert made.agents.calls == [("off", LOST), ("status", LOST), ("status", LOST)]
        await made.replaced()
        made.pool.rejoin(LOST)
        await (await command(made)).unfence(LOST)
        assert not made.released()
        assert marks(made) == {}

    by_hand(body)


@pytest.mark.parametrize(
    ("behaviour", "message", "left"),
    [
        (Behaviour.REFUSES, r"action off failed \(login failed\)", {BEGUN, UNTIL, LATEST_LOSS}),
        (Behaviour.LIES, "action off succeeded, and its status afterwards is on", set()),
        (Behaviour.MUTE, "status afterwards is unknown", {BEGUN, UNTIL, LATEST_LOSS}),
        (Behaviour.LATE, "no answer within 60 s", {BEGUN, UNTIL, LATEST_LOSS}),
    ],
)
def test_what_fails_or_is_unclear_releases_nothing_and_its_mark_keeps_nobody_waiting(
    behaviour: Behaviour, message: str, left: set[str]
) -> None:
    async def body(made: Fenced) -> None:
        await lose(made, "db-0")
        with pytest.raises(FencingFailed, match=f"{message}.*Nothing was released"):
            await (await command(made)).fence(LOST)
        assert not made.released()
        assert marks(made).keys() == left  # what it may have done stays noted
        made.agents.behaviours[LOST] = Behaviour.WORKS
        await (await command(made, owner="run 2")).fence(LOST)  # at once, and without --retry
        await made.replaced()

    by_hand(body, behaviours={LOST: behaviour})


def test_an_agent_of_another_machine_releases_nothing() -> None:
    """The pods of the partitioned node run on: nothing but the silence of the other node shows it."""

    async def body(made: Fenced) -> None:
        made.agents.others[LOST] = OTHER
        await made.pods("other", node="node-3")
        await lose(made, "db-0")
        with pytest.raises(FencingFailed, match=f"{OTHER} fell silent at the same time.*--retry"):
            await (await command(made)).fence(LOST)
        assert not made.released()
        assert marks(made).keys() == {BEGUN, UNTIL, LATEST_LOSS}
        # The next one knows since when to look, although that node is only one of the silent by now.
        await made.world.until(lambda: readiness(made, OTHER) == "Unknown", 300.0)
        with pytest.raises(FencingFailed, match=f"{OTHER} fell silent at the same time"):
            await (await command(made, owner="run 2")).fence(LOST)
        assert not made.released()
        made.agents.behaviours[LOST] = Behaviour.WORKS  # and a person has looked
        await (await command(made, owner="run 3")).fence(LOST, retry=True)
        await made.replaced()

    by_hand(body, behaviours={LOST: Behaviour.WRONG_MACHINE}, nodes=6)


def test_a_node_that_reports_meanwhile_is_not_released() -> None:
    async def body(made: Fenced) -> None:
        await lose(made, "db-0")
        made.agents.behaviours[LOST] = Behaviour.LIES

        def heal(action: str, node: str) -> None:
            if action == "off":
                made.pool.rejoin(LOST)

        made.agents.during = heal
        with pytest.raises(FencingFailed, match=r"Nothing was released"):
            await (await command(made)).fence(LOST)
        assert not made.released()
        assert marks(made) == {}

    by_hand(body)


def test_of_two_who_fence_one_waits_and_knows_for_whom() -> None:
    async def body(made: Fenced) -> None:
        await lose(made, "db-0")
        made.agents.behaviours[LOST] = Behaviour.HANGS
        first = asyncio.ensure_future((await command(made)).fence(LOST))
        await made.world.until(lambda: BEGUN in marks(made), 300.0)
        with pytest.raises(FencingFailed, match=r"is being fenced by run 1 at .*, which ends at 2"):
            await (await command(made, owner="run 2")).fence(LOST)
        # Who takes it over keeps the first one from releasing anything.
        made.agents.behaviours[LOST] = Behaviour.WORKS
        await (await command(made, owner="run 2")).fence(LOST, retry=True)
        with pytest.raises(FencingFailed):
            await first
        assert marks(made)[FENCED].startswith("run 2 at ")

    by_hand(body)


def test_who_undoes_a_fence_keeps_the_one_who_began_it_from_releasing() -> None:
    async def body(made: Fenced) -> None:
        await lose(made, "db-0")
        made.agents.behaviours[LOST] = Behaviour.LATE
        first = asyncio.ensure_future((await command(made)).fence(LOST))
        await made.world.until(lambda: BEGUN in marks(made), 300.0)
        made.agents.behaviours[LOST] = Behaviour.WORKS
        assert (await (await command(made, owner="run 2")).unfence(LOST)).state == "is on again"
        assert marks(made) == {}
        with pytest.raises(FencingFailed, match="Nothing was released"):
            await first
        assert (made.released(), marks(made)) == (False, {})

    by_hand(body)


@pytest.mark.parametrize("moment", ["off", "status"])
def test_a_command_that_is_interrupted_ends_its_mark(moment: str) -> None:
    async def body(made: Fenced) -> None:
        await lose(made, "db-0")
        task = asyncio.ensure_future((await command(made)).fence(LOST))
        await made.world.until(lambda: moment in [action for action, _ in made.agents.calls], 300.0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not made.released()
        assert marks(made)[UNTIL] <= now(made)
        await (await command(made, owner="run 2")).fence(LOST)
        await made.replaced()

    by_hand(body)


def test_a_mark_on_a_node_that_reports_blocks_nothing_and_goes() -> None:
    async def body(made: Fenced) -> None:
        mark = {"metadata": {"annotations": {BEGUN: OLD}}}
        await made.world.client.patch(NODES, OTHER, mark)
        await made.policy()
        await lose(made, "db-0")
        await made.replaced()
        await made.world.until(lambda: marks(made, OTHER) == {}, 600.0)

    by_hand(body, policies=1)


def test_a_mark_on_another_silent_node_is_named_with_the_command_that_ends_it() -> None:
    async def body(made: Fenced) -> None:
        made.pool.isolate(OTHER)
        await made.world.until(lambda: readiness(made, OTHER) == "Unknown", 300.0)
        await made.world.client.patch(NODES, OTHER, {"metadata": {"annotations": {BEGUN: OLD}}})
        await made.policy(minHealthy=1, nodeSelector={"matchLabels": {"kubernetes.io/hostname": LOST}})
        await lose(made, "db-0")
        await made.world.until(lambda: f"{OTHER}, begun by {OLD}" in made.row().get("message", ""), 600.0)
        assert "vacate fence NODE --undo" in made.row()["message"]
        assert not made.released()
        await (await command(made, OTHER)).unfence(OTHER)
        await made.replaced()

    by_hand(body, policies=1)


@pytest.mark.parametrize("reports", [False, True])
def test_a_policy_that_is_deleted_in_the_middle_leaves_no_mark_on_a_node_that_reports(reports: bool) -> None:
    async def body(made: Fenced) -> None:
        made.agents.behaviours[LOST] = Behaviour.HANGS
        await made.policy()
        await lose(made, "db-0")
        await made.world.until(lambda: BEGUN in marks(made), 600.0)
        await made.world.client.delete(FENCINGPOLICIES, "rack")
        if not reports:  # nobody waits for the end of a fence that no policy carries out
            await made.world.until(lambda: marks(made)[UNTIL] <= now(made), 600.0)
        made.pool.rejoin(LOST)
        await made.world.until(lambda: marks(made) == {}, 900.0)
        assert not made.released()

    by_hand(body, policies=1)


def now(made: Fenced) -> str:
    return made.world.sim.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_mark_is_ended_without_an_agent_where_the_node_reports() -> None:
    async def body(made: Fenced) -> None:
        client = made.world.client
        await client.patch(NODES, OTHER, {"metadata": {"annotations": {BEGUN: OLD}}})
        alone = ManualFence(client, made.world.sim.clock, None, FencingLimits(), "run 1")
        assert (await alone.unfence(OTHER)).state == "is not being fenced any more"
        assert marks(made, OTHER) == {}
        with pytest.raises(FencingFailed, match="was not fenced by vacate fence"):
            await alone.unfence(OTHER)
        await lose(made, "db-0")
        await client.patch(NODES, LOST, {"metadata": {"annotations": {BEGUN: OLD}}})
        with pytest.raises(ConfigError, match="--agent"):
            await alone.unfence(LOST)
        with pytest.raises(FencingFailed, match="still reports"):
            await (await command(made, OTHER)).fence(OTHER)

    by_hand(body)


def killed_at(at: int | None, *, after: bool = False) -> int:
    """Kill the command at a request, and leave the rest to a policy; how many requests it made."""
    wire = CrashPoint(at, after=after)

    async def body(made: Fenced) -> None:
        await lose(made, "db-0")
        client = Client(wire.around(made.world.network.link("alice", ADMIN)), user_agent="alice")
        task = asyncio.ensure_future((await command(made, client=client)).fence(LOST))
        tripped = asyncio.ensure_future(wire.tripped.wait())
        await asyncio.wait({task, tripped}, return_when=asyncio.FIRST_COMPLETED)
        killed = wire.tripped.is_set()
        task.cancel()
        tripped.cancel()
        with contextlib.suppress(asyncio.CancelledError, FencingFailed):
            await task
        assert killed is (at is not None)
        await made.policy(powerOn="Automatic")
        await made.replaced(3600.0)
        made.pool.rejoin(LOST)
        if made.phase() == "" and made.released():  # the command had released it: the person brings it back
            await (await command(made)).unfence(LOST)
        await made.world.until(lambda: not made.released() and marks(made) == {}, 7200.0, "it is back")

    fenced(body)
    return wire.count


def test_a_command_may_be_killed_at_every_request() -> None:
    count = killed_at(None)
    assert count > 8
    for number in range(1, count + 1):
        killed_at(number, after=bool(number % 2))


def test_a_node_gets_its_storage_back_only_after_a_restart() -> None:
    storages: list[SimulatedStorage] = []

    def wrap(agents: Any) -> Any:
        storages.append(
            SimulatedStorage(agents.pool, agents.clock, agents.behaviours, agents.calls, agents.others)
        )
        return storages[0]

    async def watch(made: Fenced) -> None:
        """At most one process of an identity reaches the storage."""
        del made
        await asyncio.Event().wait()

    async def body(made: Fenced) -> None:
        made.agents = storages[0]
        await lose(made, "db-0")
        await (await command(made, mechanism=STORAGE)).fence(LOST)
        assert marks(made).keys() == {FENCED, BOOT_ID}
        await made.replaced()
        undo = await command(made, mechanism=POWER)  # what was done stands on the node
        made.pool.rejoin(LOST)
        await made.world.until(lambda: readiness(made) == "True", 300.0)
        with pytest.raises(FencingFailed, match="has not been restarted since"):
            await undo.unfence(LOST)
        assert storages[0].cut == {LOST}

    by_hand(body, wrap=wrap, watch=watch)


def test_a_storage_fence_that_comes_to_nothing_gives_the_storage_back_without_a_restart() -> None:
    storages: list[SimulatedStorage] = []

    def wrap(agents: Any) -> Any:
        storages.append(
            SimulatedStorage(agents.pool, agents.clock, agents.behaviours, agents.calls, agents.others)
        )
        return storages[0]

    async def body(made: Fenced) -> None:
        made.agents = storages[0]
        await lose(made, "db-0")

        def heal(action: str, node: str) -> None:
            if action == "off":
                made.pool.rejoin(LOST)

        made.agents.during = heal
        with pytest.raises(FencingFailed, match=f"Nothing was released.*vacate fence {LOST} --undo"):
            await (await command(made, mechanism=STORAGE)).fence(LOST)
        assert marks(made).keys() >= {BEGUN, BOOT_ID}
        await made.world.until(lambda: readiness(made) == "True", 300.0)
        assert (await (await command(made, owner="run 2")).unfence(LOST)).state == "has its storage again"
        assert (marks(made), storages[0].cut) == ({}, set())

    by_hand(body, wrap=wrap)
