"""lifecycle.k8s.io from EvictionRequests to the end, in virtual time: what users see, and what is stored.

Every write is one that the API server lets pass: a refused one would be retried for ever, and time out.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from support.simulated.clusters import in_world
from support.simulated.dyingmanager import die_at_every_request
from support.simulated.workloads import condition_of, created, events_of, history
from vacate.api.identity import MASTERS, StatusAuthority
from vacate.api.kinds import (
    EVENTS,
    LIFECYCLE_EVICTIONS,
    LIFECYCLE_REQUESTS,
    PODDISRUPTIONBUDGETS,
    PODS,
    VALIDATINGADMISSIONPOLICIES,
    VALIDATINGADMISSIONPOLICYBINDINGS,
)
from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.api.types.lifecycle import EVICTOR
from vacate.client.requests import STRATEGIC_PATCH
from vacate.embedded.apiserver.inprocess import Handler
from vacate.errors import Forbidden
from vacate.features import parse_feature_gates
from vacate.install.manifests.policies import responder_policy
from vacate.sim.cluster import World, WorldSettings
from vacate.testing import pdb, pod
from vacate.wire.message import Peer, Request, Response, Stream

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=4)]

GATES = parse_feature_gates("LifecycleAPI=true")
DRAIN, UPGRADE = "acme.io/drain", "acme.io/upgrade"
FIRST, SECOND = "first.example.com/backup", "second.example.com/warn"


def simulate(body: Callable[[World], Awaitable[None]], **settings: Any) -> None:
    """Run it in a cluster of nothing but Vacate's controllers and the collector: pods go when asked."""
    in_world(body, gates=GATES, nodes=0, **settings)


async def given_pod(world: World, *responders: str, name: str = "web", **parts: Any) -> Obj:
    made = pod(name, **parts)
    if responders:
        listed = [{"name": one, "priority": 20_000 - place} for place, one in enumerate(responders)]
        made["spec"]["evictionResponders"] = listed
    await world.client.create(PODS, made, "default")
    return created(world, PODS, name)


async def guarded_pod(world: World, *responders: str) -> Obj:
    """A pod that its budget holds."""
    await world.client.create(PODDISRUPTIONBUDGETS, pdb("web", min_available=1), "default")
    target = await given_pod(world, *responders, labels={"app": "web"})
    running = {"status": {"phase": "Running"}}
    await world.client.patch(
        PODS, "web", running, "default", patch_type=STRATEGIC_PATCH, subresource="status"
    )
    return target


async def request(world: World, target: Obj, requester: str = DRAIN, **changes: Any) -> str:
    """Create an EvictionRequest; its name is returned."""
    name, meta = requester.partition("/")[2], target["metadata"]
    spec = {"target": {"pod": {"name": meta["name"], "uid": meta["uid"]}}, "requester": requester}
    body = {"metadata": {"name": name}, "spec": {**spec, "intent": "Eviction", **changes}}
    await world.client.create(LIFECYCLE_REQUESTS, body, "default")
    return name


async def intend(world: World, name: str, intent: str) -> None:
    await world.client.patch(LIFECYCLE_REQUESTS, name, {"spec": {"intent": intent}}, "default")


async def respond(world: World, responder: str, eviction: str = "pod-1-web", **fields: Any) -> None:
    """Write as a responder does: by a patch of its own record."""
    patch = {"status": {"responders": [{"name": responder, **fields}]}}
    await world.client.patch(
        LIFECYCLE_EVICTIONS, eviction, patch, "default", patch_type=STRATEGIC_PATCH, subresource="status"
    )


def now(world: World) -> str:
    return format_time(world.sim.clock.now())


def states(world: World, eviction: str = "pod-1-web") -> dict[str, str]:
    found = world.find(LIFECYCLE_EVICTIONS, eviction, "default") or {}
    return {one["name"]: one["state"] for one in found.get("status", {}).get("targetResponders", [])}


def record(world: World, responder: str, eviction: str = "pod-1-web") -> Obj:
    listed = created(world, LIFECYCLE_EVICTIONS, eviction)["status"]["responders"]
    found: Obj = next(one for one in listed if one["name"] == responder)
    return found


def outcome(world: World, name: str, kind: Any = LIFECYCLE_REQUESTS) -> tuple[str, str]:
    found = world.find(kind, name, "default") or {}
    return condition_of(found, "TargetEvicted", "reason"), condition_of(found, "Failed", "reason")


EVICTED = ("PodDeleted", "Succeeded")
AWAITED = ("AwaitingEviction", "AwaitingEviction")
CANCELLED = ("EvictionFailed", "CanceledDueToNoRequesters")


def test_a_plain_pod_is_evicted_by_the_last_responder() -> None:
    async def body(world: World) -> None:
        name = await request(world, await given_pod(world))
        await world.until(lambda: outcome(world, name) == EVICTED)
        eviction = created(world, LIFECYCLE_EVICTIONS, "pod-1-web")
        assert outcome(world, "pod-1-web", LIFECYCLE_EVICTIONS) == EVICTED
        assert eviction["metadata"]["labels"] == {DRAIN: "requester", EVICTOR: "responder"}
        assert [one["name"] for one in eviction["metadata"]["ownerReferences"]] == [name]
        assert states(world) == {EVICTOR: "Completed"}
        assert record(world, EVICTOR)["message"] == "The pod is deleted."
        assert created(world, LIFECYCLE_REQUESTS, name)["status"]["observedGeneration"] == 1
        # Without its requests the Eviction is collected.
        await world.client.delete(LIFECYCLE_REQUESTS, name, "default")
        await world.until(lambda: world.find(LIFECYCLE_EVICTIONS, "pod-1-web", "default") is None)

    simulate(body)


def test_turns_come_in_order_and_a_responder_that_falls_silent_loses_its_turn_after_twenty_minutes() -> None:
    async def body(world: World) -> None:
        await request(world, await given_pod(world, FIRST, SECOND))
        await world.until(lambda: states(world).get(FIRST) == "Active")
        await world.until(lambda: "EvictionRequested" in _reasons(world, "web"))
        await respond(world, FIRST, heartbeatTime=now(world), message="saving")
        await world.sim.clock.sleep(600)
        await respond(world, FIRST, heartbeatTime=now(world), completionTime=now(world))
        await world.until(lambda: states(world)[FIRST] == "Completed")
        assert states(world) == {FIRST: "Completed", SECOND: "Active", EVICTOR: "Inactive"}
        kept = record(world, FIRST)
        assert (kept["message"], bool(kept["heartbeatTime"] and kept["completionTime"])) == ("saving", True)
        await world.sim.clock.sleep(300)
        await respond(world, SECOND, heartbeatTime=now(world), message="warning users")
        began = world.sim.clock.now()
        await world.until(lambda: states(world)[SECOND] == "Interrupted", 1500.0)
        assert dt.timedelta(minutes=19) < world.sim.clock.now() - began < dt.timedelta(minutes=22)
        await world.until(lambda: outcome(world, "drain") == EVICTED)
        assert states(world) == {FIRST: "Completed", SECOND: "Interrupted", EVICTOR: "Completed"}
        await world.until(lambda: "timed out" in str(events_of(world, "web")))

    simulate(body)


def test_requesters_join_withdraw_and_return_and_the_last_one_to_leave_cancels() -> None:
    async def body(world: World) -> None:
        target = await given_pod(world, FIRST)
        drain, upgrade = await request(world, target), await request(world, target, UPGRADE)
        await world.until(lambda: len(_requesters(world)) == 2)
        await intend(world, drain, "Withdrawn")
        await world.until(lambda: _requesters(world) == {DRAIN: "Withdrawn", UPGRADE: "Eviction"})
        await intend(world, drain, "Eviction")
        await world.until(lambda: _requesters(world) == {DRAIN: "Eviction", UPGRADE: "Eviction"})
        # A request that is being deleted counts as withdrawn.
        held: Obj = {"metadata": {"finalizers": ["example.com/held"]}}
        await world.client.patch(LIFECYCLE_REQUESTS, upgrade, held, "default")
        await world.client.delete(LIFECYCLE_REQUESTS, upgrade, "default")
        await world.until(lambda: _requesters(world) == {DRAIN: "Eviction", UPGRADE: "Withdrawn"})
        held["metadata"]["finalizers"] = None
        await world.client.patch(LIFECYCLE_REQUESTS, upgrade, held, "default")
        await world.until(lambda: _owners(world) == ["drain"])
        assert states(world)[FIRST] == "Active"
        await intend(world, drain, "Withdrawn")
        await world.until(lambda: outcome(world, drain) == CANCELLED)
        assert states(world) == {FIRST: "Canceled", EVICTOR: "Inactive"}
        # It wants the eviction after all: a new Eviction, under the next number.
        await intend(world, drain, "Eviction")
        await world.until(lambda: states(world, "pod-2-web").get(FIRST) == "Active")
        await world.until(lambda: outcome(world, drain) == AWAITED)
        assert outcome(world, "pod-1-web", LIFECYCLE_EVICTIONS) == CANCELLED
        assert world.find(PODS, "web", "default") is not None

    simulate(body)


@pytest.mark.parametrize("completes", [True, False])
def test_a_responder_may_still_complete_when_the_pod_is_gone(completes: bool) -> None:
    async def body(world: World) -> None:
        await request(world, await given_pod(world, FIRST))
        await world.until(lambda: states(world).get(FIRST) == "Active")
        await world.client.delete(PODS, "web", "default")
        await world.until(lambda: world.find(PODS, "web", "default") is None)
        if completes:
            await respond(world, FIRST, completionTime=now(world), message="done")
        await world.until(lambda: outcome(world, "drain") == EVICTED)
        ended = "Completed" if completes else "Interrupted"
        assert states(world) == {FIRST: ended, EVICTOR: "Inactive"}

    simulate(body)


def test_another_requester_begins_another_eviction_after_one_that_was_cancelled() -> None:
    async def body(world: World) -> None:
        target = await given_pod(world, FIRST)
        drain = await request(world, target)
        await world.until(lambda: states(world).get(FIRST) == "Active")
        await intend(world, drain, "Withdrawn")
        await world.until(lambda: outcome(world, drain) == CANCELLED)
        await request(world, target, UPGRADE)
        await world.until(lambda: states(world, "pod-2-web").get(FIRST) == "Active")
        meta = created(world, LIFECYCLE_EVICTIONS, "pod-2-web")["metadata"]
        taking_part = {DRAIN: "requester", UPGRADE: "requester", FIRST: "responder", EVICTOR: "responder"}
        assert meta["labels"] == taking_part
        assert [one["name"] for one in meta["ownerReferences"]] == ["drain", "upgrade"]
        await respond(world, FIRST, "pod-2-web", completionTime=now(world))
        await world.until(lambda: outcome(world, "upgrade") == EVICTED)
        assert outcome(world, "pod-1-web", LIFECYCLE_EVICTIONS) == CANCELLED

    simulate(body)


def test_a_pod_that_has_terminated_counts_as_evicted() -> None:
    async def body(world: World) -> None:
        target = await given_pod(world)
        over = {"status": {"phase": "Succeeded"}}
        await world.client.patch(
            PODS, "web", over, "default", patch_type=STRATEGIC_PATCH, subresource="status"
        )
        await request(world, target)
        await world.until(lambda: outcome(world, "drain") == ("PodTerminal", "Succeeded"))
        assert world.find(PODS, "web", "default") is not None

    simulate(body)


@pytest.mark.parametrize("cancelled", [False, True])
def test_a_budget_holds_the_pod_and_the_last_responder_says_so_and_keeps_reporting(cancelled: bool) -> None:
    async def body(world: World) -> None:
        await request(world, await guarded_pod(world))
        await world.until(
            lambda: "(attempts=2)" in record(world, EVICTOR).get("message", "") if states(world) else False
        )
        assert "Eviction failed (attempts=2): " in record(world, EVICTOR)["message"]
        assert outcome(world, "drain") == AWAITED
        first = record(world, EVICTOR)["heartbeatTime"]
        await world.until(lambda: record(world, EVICTOR)["heartbeatTime"] > first)
        if cancelled:
            await intend(world, "drain", "Withdrawn")
            await world.until(lambda: outcome(world, "drain") == CANCELLED)
            assert states(world) == {EVICTOR: "Canceled"}
        await world.client.delete(PODDISRUPTIONBUDGETS, "web", "default")
        if not cancelled:
            await world.until(lambda: outcome(world, "drain") == EVICTED)
        await world.sim.clock.sleep(60)
        assert (world.find(PODS, "web", "default") is not None) == cancelled

    simulate(body)


def test_a_request_that_cannot_be_followed_says_why_and_a_second_eviction_of_a_pod_fails() -> None:
    async def body(world: World) -> None:
        target = await given_pod(world, FIRST)
        other = {"metadata": {**target["metadata"], "uid": "7f3d9c52-8f6e-4b0f-9d35-0c1f0f6f2a11"}}
        await request(world, other, UPGRADE)
        await world.until(lambda: outcome(world, "upgrade") == ("EvictionFailed", "EvictionInvalid"))
        await world.until(lambda: "is another one" in str(events_of(world, "upgrade", "EvictionInvalid")))
        gone = {"metadata": {"name": "gone", "uid": other["metadata"]["uid"]}}
        await request(world, gone, "acme.io/late")
        await world.until(lambda: outcome(world, "late") == ("EvictionFailed", "EvictionInvalid"))
        await world.until(lambda: "does not exist" in str(events_of(world, "late", "EvictionInvalid")))
        # A change of something else has no effect on what is settled.
        settled = created(world, LIFECYCLE_REQUESTS, "late")["status"]
        await world.client.patch(LIFECYCLE_REQUESTS, "late", {"metadata": {"labels": {"a": "b"}}}, "default")
        await world.sim.clock.sleep(60)
        assert created(world, LIFECYCLE_REQUESTS, "late")["status"] == settled
        await request(world, target)
        await world.until(lambda: states(world).get(FIRST) == "Active")
        spec = created(world, LIFECYCLE_EVICTIONS, "pod-1-web")["spec"]
        await world.client.create(
            LIFECYCLE_EVICTIONS, {"metadata": {"name": "mine"}, "spec": spec}, "default"
        )
        await world.until(
            lambda: outcome(world, "mine", LIFECYCLE_EVICTIONS) == ("EvictionFailed", "EvictionInvalid")
        )
        assert states(world)[FIRST] == "Active"
        assert outcome(world, "drain") == AWAITED

    simulate(body)


@pytest.mark.parametrize(
    "sort",
    ["Complete", "vacate.dev/Complete", "InterceptorAssigned", "Progressing", "vacate.dev/Progressing"],
)
@pytest.mark.parametrize("status", ["True", "False"])
def test_conditions_that_others_write_to_an_eviction_do_not_end_it(sort: str, status: str) -> None:
    async def body(world: World) -> None:
        await request(world, await given_pod(world, FIRST))
        await world.until(lambda: states(world).get(FIRST) == "Active")
        written = {"type": sort, "status": status, "reason": "Complete", "message": "mine"}
        await world.client.patch(
            LIFECYCLE_EVICTIONS,
            "pod-1-web",
            {"status": {"conditions": [{**written, "lastTransitionTime": now(world)}]}},
            "default",
            patch_type=STRATEGIC_PATCH,
            subresource="status",
        )
        await world.sim.clock.sleep(60)
        assert states(world)[FIRST] == "Active"
        await respond(world, FIRST, completionTime=now(world))
        await world.until(lambda: outcome(world, "drain") == EVICTED)
        ((message, count),) = [
            (one["message"], one["count"])
            for one in world.objects(EVENTS)
            if (one["involvedObject"]["name"], one["reason"]) == ("pod-1-web", "PodDeleted")
        ]
        assert (message, count) == ("Pod web is deleted.", 1)

    simulate(body)


def test_an_eviction_that_somebody_begins_without_the_evictor_fails_and_another_begins() -> None:
    async def body(world: World) -> None:
        target = await given_pod(world, FIRST)
        meta = target["metadata"]
        spec = {"target": {"pod": {"name": meta["name"], "uid": meta["uid"]}}}
        await world.client.create(
            LIFECYCLE_EVICTIONS, {"metadata": {"name": "mine"}, "spec": spec}, "default"
        )
        status = {
            "targetResponders": [{"name": FIRST, "priority": 20_000, "state": "Active"}],
            "responders": [{"name": FIRST, "startTime": now(world)}],
        }
        await world.client.patch(
            LIFECYCLE_EVICTIONS,
            "mine",
            {"status": status},
            "default",
            patch_type=STRATEGIC_PATCH,
            subresource="status",
        )
        await request(world, target)
        await world.until(lambda: states(world).get(FIRST) == "Active")
        invalid = ("EvictionFailed", "EvictionInvalid")
        assert outcome(world, "mine", LIFECYCLE_EVICTIONS) == invalid
        await respond(world, FIRST, completionTime=now(world))
        await world.until(lambda: outcome(world, "drain") == EVICTED)

    simulate(body)


def test_a_requester_that_returns_before_the_end_is_written_finds_no_event_of_it() -> None:
    async def body(world: World) -> None:
        await request(world, await given_pod(world, FIRST))
        await world.until(lambda: states(world).get(FIRST) == "Active")
        await intend(world, "drain", "Withdrawn")
        await world.until(lambda: _requesters(world) == {DRAIN: "Withdrawn"})
        await world.sim.clock.sleep(1)
        await intend(world, "drain", "Eviction")
        await world.until(lambda: _requesters(world) == {DRAIN: "Eviction"})
        await world.sim.clock.sleep(60)
        assert states(world)[FIRST] == "Active"
        assert "EvictionCancelled" not in _reasons(world, "web")

    simulate(body)


def test_pods_with_long_names_that_begin_alike_have_evictions_of_their_own() -> None:
    async def body(world: World) -> None:
        names = [f"{'a' * 245}-{end}" for end in ("pod-one", "pod-two")]
        for number, name in enumerate(names):
            await request(world, await given_pod(world, name=name), f"acme.io/r{number}")
        await world.until(lambda: outcome(world, "r0") == EVICTED and outcome(world, "r1") == EVICTED)
        made = {one["metadata"]["name"] for one in world.objects(LIFECYCLE_EVICTIONS)}
        assert (len(made), {len(one) for one in made}) == (2, {253})

    simulate(body)


def test_a_name_that_an_eviction_of_another_pod_has_is_passed_over() -> None:
    async def body(world: World) -> None:
        other, target = await given_pod(world, FIRST, name="other"), await given_pod(world)
        await take_names(world, other, 1)
        await request(world, target)
        await world.until(lambda: outcome(world, "drain") == EVICTED)
        assert states(world, "pod-2-web") == {EVICTOR: "Completed"}
        assert world.find(PODS, "other", "default") is not None

    simulate(body)


def test_when_many_names_are_taken_the_request_says_so_and_goes_on_when_one_is_free() -> None:
    async def body(world: World) -> None:
        other, target = await given_pod(world, FIRST, name="other"), await given_pod(world)
        await take_names(world, other, 10)
        await request(world, target)
        await world.until(lambda: "pod-1-web to pod-10-web are taken" in str(_conditions(world, "drain")))
        assert outcome(world, "drain") == AWAITED
        await world.until(lambda: "are taken" in str(events_of(world, "drain", "EvictionNotCreated")))
        await world.client.delete(LIFECYCLE_EVICTIONS, "pod-4-web", "default")
        await world.until(lambda: outcome(world, "drain") == EVICTED)
        assert states(world, "pod-4-web") == {EVICTOR: "Completed"}
        assert "are taken" not in str(_conditions(world, "drain"))

    simulate(body)


async def take_names(world: World, target: Obj, count: int) -> None:
    """Create Evictions of one pod under names that those of another would have."""
    meta = target["metadata"]
    spec = {"target": {"pod": {"name": meta["name"], "uid": meta["uid"]}}}
    for number in range(1, count + 1):
        one = {"metadata": {"name": f"pod-{number}-web"}, "spec": spec}
        await world.client.create(LIFECYCLE_EVICTIONS, one, "default")


def _conditions(world: World, name: str) -> list[Obj]:
    found: list[Obj] = created(world, LIFECYCLE_REQUESTS, name).get("status", {}).get("conditions", [])
    return found


class InGroup:
    """Shows pods in a scheduling group, which the embedded server does not know."""

    async def handle(self, link: str, server: Handler, request: Request) -> Response:
        """Let the server answer."""
        response = await server.handle(request)
        shows = request.path.endswith(("/pods", "/pods/web"))
        if request.method != "GET" or not shows or response.status != 200:
            return response
        body = response.body
        shown = grouped(body) if isinstance(body, bytes) else Grouped(body)
        return dataclasses.replace(response, body=shown)


class Grouped:
    """A watch of pods that shows them in a scheduling group."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            yield grouped(chunk)

    async def aclose(self) -> None:
        """Let go of the stream."""
        await self._stream.aclose()


def grouped(text: bytes) -> bytes:
    """One pod or several, with a group in each spec."""
    return text.replace(b'"spec":{', b'"spec":{"schedulingGroup":{"podGroupName":"all"},')


def test_a_pod_of_a_scheduling_group_is_not_evicted_by_itself() -> None:
    async def body(world: World) -> None:
        target = await given_pod(world)
        world.network.audit = InGroup()
        await request(world, target)
        await world.until(lambda: outcome(world, "drain") == ("EvictionFailed", "EvictionInvalid"))
        await world.until(
            lambda: "belongs to a scheduling group" in str(events_of(world, "drain", "EvictionInvalid"))
        )
        assert world.objects(LIFECYCLE_EVICTIONS) == []
        await take_names(world, target, 1)  # an Eviction that somebody else has created
        invalid = ("EvictionFailed", "EvictionInvalid")
        await world.until(lambda: outcome(world, "pod-1-web", LIFECYCLE_EVICTIONS) == invalid)
        assert created(world, LIFECYCLE_EVICTIONS, "pod-1-web")["status"]["observedGeneration"] == 1
        assert world.find(PODS, "web", "default") is not None
        # Once it is in none, it is evicted.
        world.network.audit = None
        await request(world, target, UPGRADE)
        await world.until(lambda: outcome(world, "upgrade") == EVICTED)

    simulate(body)


def test_a_bound_responder_is_reported_for_by_its_account_alone_and_the_process_goes_on() -> None:
    async def body(world: World) -> None:
        bound = {"backup.first.example.com": ("backup",)}
        policy, binding = responder_policy(bound, StatusAuthority().controllers)
        await world.client.create(VALIDATINGADMISSIONPOLICIES, policy)
        await world.client.create(VALIDATINGADMISSIONPOLICYBINDINGS, binding)
        await request(world, await given_pod(world, FIRST, SECOND))
        await world.until(lambda: states(world).get(FIRST) == "Active")
        with pytest.raises(Forbidden, match="bound to accounts"):
            await respond(world, FIRST, completionTime=now(world))
        backup = world.client_of("backup", Peer("backup", (MASTERS,)))
        await backup.patch(
            LIFECYCLE_EVICTIONS,
            "pod-1-web",
            {"status": {"responders": [{"name": FIRST, "completionTime": now(world)}]}},
            "default",
            patch_type=STRATEGIC_PATCH,
            subresource="status",
        )
        await world.until(lambda: states(world)[SECOND] == "Active")
        await respond(world, SECOND, heartbeatTime=now(world), completionTime=now(world))
        await world.until(lambda: outcome(world, "drain") == EVICTED)

    simulate(body)


async def two_requesters_and_two_turns(world: World) -> tuple[Any, ...]:
    """Which Evictions there were, how its turns ended, who wanted it, and whether the pod is gone."""
    target = await given_pod(world, FIRST, SECOND)
    await request(world, target)
    await request(world, target, UPGRADE)
    await world.until(lambda: states(world).get(FIRST) == "Active")
    await respond(world, FIRST, heartbeatTime=now(world), completionTime=now(world))
    await world.until(lambda: states(world)[SECOND] == "Active" and len(_requesters(world)) == 2)
    await intend(world, "upgrade", "Withdrawn")
    await world.until(lambda: _requesters(world)[UPGRADE] == "Withdrawn")
    await respond(world, SECOND, heartbeatTime=now(world), completionTime=now(world))
    await world.until(lambda: (outcome(world, "drain"), outcome(world, "upgrade")) == (EVICTED, EVICTED))
    names = {one["metadata"]["name"] for _, one in history(world, LIFECYCLE_EVICTIONS)}
    return sorted(names), states(world), _requesters(world), world.find(PODS, "web", "default") is None


@pytest.mark.timeout(900)  # a thorough run tries every moment of a crash
@pytest.mark.parametrize("after", [False, True])
def test_the_controller_may_die_at_every_request_and_the_next_one_goes_on(after: bool) -> None:
    """Before or after the server has carried it out: nothing is repeated, and nothing is lost."""
    expected = (
        ["pod-1-web"],
        dict.fromkeys((FIRST, SECOND, EVICTOR), "Completed"),
        {DRAIN: "Eviction", UPGRADE: "Withdrawn"},
        True,
    )
    settings = WorldSettings(gates=GATES, nodes=0, evictions=())
    die_at_every_request(two_requesters_and_two_turns, expected, after=after, settings=settings)


@pytest.mark.parametrize("state", ["Active", "Completed"])
def test_when_no_responder_is_left_the_eviction_fails_and_another_begins(state: str) -> None:
    """Whoever plays the last responder has ended its turn without evicting, as another controller lets it."""

    async def body(world: World) -> None:
        await request(world, await guarded_pod(world, FIRST))
        await world.until(lambda: states(world).get(FIRST) == "Active")
        await respond(world, FIRST, completionTime=now(world))
        await world.until(lambda: states(world)[EVICTOR] == "Active")
        await world.evictions.crash()
        await respond(world, EVICTOR, completionTime=now(world))
        if state != "Active":
            await end_turn(world, EVICTOR, state)
        await world.evictions.start()
        failed = ("EvictionFailed", "NoFurtherResponder")
        await world.until(lambda: outcome(world, "pod-1-web", LIFECYCLE_EVICTIONS) == failed)
        assert states(world) == {FIRST: "Completed", EVICTOR: "Completed"}
        await world.until(lambda: "NoFurtherResponder" in _reasons(world, "pod-1-web"))
        assert "Cancelled" not in _reasons(world, "pod-1-web")
        assert "EvictionCancelled" not in _reasons(world, "web")
        failed_at = world.sim.clock.now()
        await world.until(lambda: "Another Eviction begins soon" in str(world.objects(LIFECYCLE_REQUESTS)))
        # All have their turns again, under the next number, and not at once.
        await world.until(lambda: states(world, "pod-2-web").get(FIRST) == "Active")
        assert world.sim.clock.now() - failed_at > dt.timedelta(seconds=25)
        assert outcome(world, "drain") == AWAITED
        await world.client.delete(PODDISRUPTIONBUDGETS, "web", "default")
        await respond(world, FIRST, "pod-2-web", completionTime=now(world))
        await world.until(lambda: outcome(world, "drain") == EVICTED)
        assert outcome(world, "pod-1-web", LIFECYCLE_EVICTIONS) == failed

    simulate(body)


async def end_turn(world: World, responder: str, state: str) -> None:
    """Write as another controller does."""
    patch = {"status": {"targetResponders": [{"name": responder, "state": state}]}}
    await world.client.patch(
        LIFECYCLE_EVICTIONS, "pod-1-web", patch, "default", patch_type=STRATEGIC_PATCH, subresource="status"
    )


def _requesters(world: World) -> dict[str, str]:
    found = world.find(LIFECYCLE_EVICTIONS, "pod-1-web", "default") or {}
    return {one["name"]: one["intent"] for one in found.get("status", {}).get("requesters", [])}


def _owners(world: World) -> list[str]:
    owners = created(world, LIFECYCLE_EVICTIONS, "pod-1-web")["metadata"]["ownerReferences"]
    return [one["name"] for one in owners]


def _reasons(world: World, name: str) -> set[str]:
    return {one["reason"] for one in world.objects(EVENTS) if one["involvedObject"]["name"] == name}
