"""An interceptor's turn in a simulated cluster: taken on, heartbeaten, reported, finished, declined."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest

from vacate.api.kinds import EVICTIONREQUESTS, PODS
from vacate.api.objects import dig
from vacate.api.times import parse_time
from vacate.api.types.core import Pod
from vacate.errors import ConfigError
from vacate.eviction.records.reader import has_responded
from vacate.sdk import Condition, Declined, EvictionContext, Finished, Interceptor, interceptor
from vacate.testing import SimulatedCluster, simulate

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]

BACKUP, CACHE = "backup.example.com", "cache.example.com"


async def at_once(context: EvictionContext) -> None:
    """A handler that has nothing to do."""


def test_a_handler_works_and_the_pod_leaves() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        called: list[str] = []

        @interceptor(BACKUP)
        async def back_up(context: EvictionContext) -> None:
            called.append(context.pod.metadata.name)
            await context.report("Backing up", expected_finish=dt.timedelta(minutes=5))
            await context.clock.sleep(30)
            assert context.request.status.message == "Backing up"
            assert context.request.status.expected_interceptor_finish_time is not None

        await cluster.program(back_up)
        await cluster.pod("web", BACKUP)
        requester = cluster.requester()
        await requester.request("web", reason="test")
        result = await requester.wait(cluster.request)
        assert result.pod_ended
        assert [(turn.interceptor, turn.result.value) for turn in result.history] == [(BACKUP, "completed")]
        assert called == ["web"]

    simulate(body)


@pytest.mark.thorough
def test_two_in_a_chain_have_their_turns_one_after_the_other(sim_seed: int) -> None:
    async def body(cluster: SimulatedCluster) -> None:
        log: list[str] = []

        def slow(name: str) -> Interceptor:
            async def handler(context: EvictionContext) -> Finished:
                log.append(f"{context.name} begins")
                await context.clock.sleep(45)
                log.append(f"{context.name} ends")
                return context.finished("ready")

            return Interceptor(name, handler)

        await cluster.program(slow(CACHE), slow(BACKUP))
        await cluster.pod("web", BACKUP, CACHE)
        requester = cluster.requester()
        request = await requester.request("web")
        assert (await requester.wait(request)).pod_ended
        assert log == [f"{BACKUP} begins", f"{BACKUP} ends", f"{CACHE} begins", f"{CACHE} ends"]

    simulate(body, sim_seed)


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_log(sim_seed: int) -> None:
    async def body(cluster: SimulatedCluster) -> str:
        async def fails_once(context: EvictionContext) -> None:
            await context.report("Working", conditions=[Condition("Begun", True, "Working")])
            if context.attempt == 1:
                raise OSError("once")
            await context.evict()

        await cluster.program(Interceptor(BACKUP, fails_once))
        await cluster.pod("web", BACKUP)
        requester = cluster.requester()
        async with requester.keep_requested("web") as context:
            assert (await context.wait()).pod_ended
        return cluster.world.sim.trace.digest

    assert simulate(body, sim_seed) == simulate(body, sim_seed)


@pytest.mark.thorough
def test_heartbeats_keep_the_turn_for_as_long_as_the_handler_works() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        async def an_hour(context: EvictionContext) -> None:
            await context.clock.sleep(3600)

        await cluster.program(Interceptor(BACKUP, an_hour))
        await cluster.pod("web", BACKUP, CACHE)
        requester = cluster.requester()
        await requester.request("web", deadline_seconds=600)
        await cluster.until_active(BACKUP)
        await cluster.clock.sleep(3600 - 60)
        assert cluster.request.status.active_interceptor_name == BACKUP
        assert has_responded(cluster.request)
        states = cluster.states(EVICTIONREQUESTS)
        assert 60 <= len(states) <= 64  # a tenth of the deadline is a minute
        beats = [parse_time(dig(one, "status", "heartbeatTime")) for one in states[1:]]
        assert beats == sorted(set(beats))
        await cluster.until_active(CACHE)

    simulate(body)


@pytest.mark.parametrize(
    ("deadline", "wanted", "seconds"),
    [(600, None, 60), (1800, None, 180), (86400, None, 180), (600, 20, 20), (600, 7200, 300)],
)
def test_the_time_between_heartbeats(deadline: int, wanted: int | None, seconds: int) -> None:
    one = Interceptor(BACKUP, at_once, heartbeat=dt.timedelta(seconds=wanted) if wanted else None)
    assert one.heartbeat_for(dt.timedelta(seconds=deadline)).total_seconds() == seconds


def test_declining_passes_the_turn_on_and_says_why() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        async def no(context: EvictionContext) -> Declined:
            return context.declined("it has no data")

        await cluster.program(Interceptor(BACKUP, no))
        await cluster.pod("web", BACKUP, CACHE)
        await cluster.requester().request("web")
        await cluster.until_active(CACHE)
        await cluster.until(lambda: len(cluster.events("InterceptorDeclined")) == 2)
        messages = {
            one["involvedObject"]["kind"]: one["message"] for one in cluster.events("InterceptorDeclined")
        }
        declined = f"{BACKUP} has declined: it has no data. {CACHE} is active now."
        assert messages == {"EvictionRequest": declined, "Pod": declined}

    simulate(body)


def test_a_type_that_it_does_not_know_is_declined_without_a_call() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        called: list[EvictionContext] = []

        async def note(context: EvictionContext) -> None:
            called.append(context)

        await cluster.program(Interceptor(BACKUP, note, types=("Hard",)))
        await cluster.pod("web", BACKUP, CACHE)
        await cluster.requester().request("web")
        await cluster.until_active(CACHE)
        messages = [dig(one, "status", "message") for one in cluster.states(EVICTIONREQUESTS)]
        assert f"{BACKUP} has declined: evictions of type Soft are not supported." in messages
        assert not called

    simulate(body)


def test_only_pods_that_it_cares_for() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        called: list[str] = []

        async def note(context: EvictionContext) -> None:
            called.append(f"{context.name} {context.pod.metadata.name}")

        def precious(pod: Pod) -> bool:
            return pod.metadata.annotations.get("precious") == "yes"

        gold = await cluster.pod("gold", "picky.example.com", metadata={"annotations": {"precious": "yes"}})
        await cluster.pod("tin", "picky.example.com")
        await cluster.pod("blue", "labels.example.com")
        await cluster.pod("red", "labels.example.com")
        first = await cluster.pod("first", "self.example.com")
        await cluster.pod("second", "self.example.com")
        await cluster.program(
            Interceptor("picky.example.com", note, matches=precious),
            Interceptor("labels.example.com", note, label_selector="app=blue"),
            Interceptor("self.example.com", note, pod_uid=first["metadata"]["uid"]),
        )
        requester = cluster.requester()
        for name in ("tin", "gold", "red", "blue", "second", "first"):
            await requester.request(name)
        await cluster.until(lambda: len(cluster.requests()) == 3)
        assert sorted(called) == [
            "labels.example.com blue",
            "picky.example.com gold",
            "self.example.com first",
        ]
        assert gold["metadata"]["uid"] not in [one.metadata.name for one in cluster.requests()]

    simulate(body)


def test_an_interceptor_whose_matches_fails_leaves_the_pod_alone() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        def broken(pod: Pod) -> bool:
            raise KeyError("no such label")

        await cluster.program(Interceptor(BACKUP, at_once, matches=broken))
        await cluster.pod("web", BACKUP)
        await cluster.requester().request("web")
        await cluster.until_active(BACKUP)
        await cluster.clock.sleep(60)
        assert not has_responded(cluster.request)

    simulate(body)


def test_the_same_interceptor_twice_is_a_mistake() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        one = Interceptor(BACKUP, at_once)
        with pytest.raises(ConfigError, match="is registered twice for the same pods"):
            await cluster.program(one, one)
        await cluster.program(one, replace(one, label_selector="app=other"), name="two")

    simulate(body)


def test_no_more_side_by_side_than_allowed() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        now, most = 0, 0

        async def count(context: EvictionContext) -> None:
            nonlocal now, most
            now += 1
            most = max(most, now)
            await context.clock.sleep(60)
            now -= 1

        await cluster.program(Interceptor(BACKUP, count, concurrency=2))
        requester = cluster.requester()
        for name in ("a", "b", "c", "d", "e"):
            await cluster.pod(name, BACKUP)
            await requester.request(name)
        began = cluster.clock.monotonic()
        await cluster.until(lambda: not cluster.world.objects(PODS))
        assert most == 2
        assert cluster.clock.monotonic() - began > 120

    simulate(body)


def test_conditions_of_others_are_never_lost() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        async def tell(context: EvictionContext) -> None:
            for done in range(5):
                condition = Condition("DataSafe", done == 4, "BackingUp", f"{done} of 4")
                await context.report(conditions=[condition])
                await context.clock.sleep(1)
            await context.clock.sleep(3600)

        await cluster.program(Interceptor(BACKUP, tell))
        await cluster.pod("web", BACKUP)
        request = await cluster.requester().request("web")
        await cluster.until_active(BACKUP)
        # Somebody else writes conditions of their own all the while, each time from what they read last.
        for number in range(10):
            found = await cluster.client.get(EVICTIONREQUESTS, request.metadata.name, "default")
            other = {
                "type": f"Other{number}",
                "status": "True",
                "reason": "Seen",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
            guard = {"resourceVersion": found["metadata"]["resourceVersion"]}
            change = {
                "metadata": guard,
                "status": {"conditions": [*found["status"].get("conditions", []), other]},
            }
            try:
                await cluster.client.patch(
                    EVICTIONREQUESTS, request.metadata.name, change, "default", subresource="status"
                )
            except Exception as error:
                assert "modified" in str(error)  # noqa: PT017
            await cluster.clock.sleep(0.4)
        await cluster.clock.sleep(10)
        types = [one.type for one in cluster.request.status.conditions]
        assert sum(one.startswith("Other") for one in types) >= 9
        assert {"DataSafe", "InterceptorAssigned", "Progressing"} <= set(types)
        safe = next(one for one in cluster.request.status.conditions if one.type == "DataSafe")
        assert (safe.status, safe.message) == ("True", "4 of 4")

    simulate(body)


def test_a_talkative_handler_does_not_flood_the_server() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        async def chatter(context: EvictionContext) -> None:
            for number in range(1000):
                await context.report(f"{number} of 1000")
                context.event("Progress", f"{number} of 1000")
                await context.clock.sleep(0.1)
            await context.clock.sleep(20)

        await cluster.program(Interceptor(BACKUP, chatter))
        await cluster.pod("web", BACKUP, CACHE)
        await cluster.requester().request("web")
        await cluster.until_active(CACHE)
        states = cluster.states(EVICTIONREQUESTS)
        assert len(states) < 35
        assert "999 of 1000" in [dig(one, "status", "message") for one in states]
        assert len(cluster.events("Progress")) <= 25

    simulate(body)
