"""Two controllers for lifecycle.k8s.io in virtual time: Vacate gives way, and goes on where the other ends.

The other one is Vacate's own code under the name of kube-controller-manager. The embedded server keeps no
managed fields, so they are added to its answers, as kube-apiserver has them.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
from collections.abc import AsyncIterator, Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import orjson
import pytest
from multidict import MultiDict

from support.embedded import StillClock
from support.simulated.clusters import in_world
from support.simulated.workloads import condition_of, created, events_of
from vacate.api.events import EventNote
from vacate.api.identity import MASTERS
from vacate.api.installednames import LIFECYCLE_CONTROLLER
from vacate.api.kinds import EVENTS, LEASES, LIFECYCLE_EVICTIONS, LIFECYCLE_REQUESTS, PODS
from vacate.api.objects import Obj, dig
from vacate.api.times import format_time
from vacate.api.types.evictionrequest import EvictionRequest, LocalPodReference
from vacate.api.types.lifecycle import (
    Eviction,
    EvictionMeta,
    EvictionStatus,
    LifecycleCondition,
    LifecycleRequest,
    LifecycleRequestSpec,
    LifecycleTarget,
    ManagedFields,
)
from vacate.api.types.meta import ObjectMeta
from vacate.client.requests import STRATEGIC_PATCH
from vacate.controllers.lifecycle.givingway import GivingWay
from vacate.embedded.apiserver.inprocess import Handler
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.eviction.dialects.lifecycle.othercontroller import LifecycleController, last_process_write
from vacate.features import parse_feature_gates
from vacate.httpserver.healthserver import HealthServer
from vacate.metrics import Metrics
from vacate.sim.cluster import World
from vacate.testing import pod
from vacate.wire.message import Peer, Request, Response, Stream
from vacate.wiring.components import ComponentContext
from vacate.wiring.controllers import CONTROLLERS, LIFECYCLE_CONTROLLERS
from vacate.wiring.manager import ManagerParts, ManagerSettings

GATES = parse_feature_gates("LifecycleAPI=true")
KUBERNETES, OURS = "kube-controller-manager", "vacate"
RESPONDERS = ("first.example.com/a", "second.example.com/b", "third.example.com/c")


class Ledger:
    """Notes who writes Evictions, and shows it in what is read of them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.entries: dict[str, dict[str, Obj]] = {}  # by UID and writer
        self.writers: list[str] = []  # of the process, in order
        self.slow = ""  # whose patches of Evictions arrive late
        self._under_way = 0  # patches that the server is carrying out
        self._noted = asyncio.Condition()
        world.network.audit = self

    async def handle(self, link: str, server: Handler, request: Request) -> Response:
        """Let the server answer."""
        if request.method == "PATCH" and "/evictions/" in request.path:
            if link == self.slow:
                await self._world.sim.clock.sleep(5.0)
            self._under_way += 1
            try:
                response = await server.handle(request)
                self._note(link, request, response)
            finally:
                self._under_way -= 1
                async with self._noted:
                    self._noted.notify_all()
            return response
        response = await server.handle(request)
        if request.method != "GET" or not request.path.endswith("/evictions") or response.status != 200:
            return response
        if isinstance(response.body, bytes):
            found = orjson.loads(response.body)
            for one in found["items"]:
                self._mark(one)
            return dataclasses.replace(response, body=orjson.dumps(found))
        return dataclasses.replace(response, body=Marked(self, response.body))

    def _note(self, link: str, request: Request, response: Response) -> None:
        if response.status != 200:
            return
        status = orjson.loads(request.body).get("status", {})
        now = format_time(self._world.sim.clock.now())
        entry = {"manager": link, "time": now, "fieldsV1": {"f:status": {f"f:{key}": {} for key in status}}}
        if "targetResponders" in status or "requesters" in status:
            self.writers.append(link)
        else:
            link = f"{link} besides"
        uid = orjson.loads(cast("bytes", response.body))["metadata"]["uid"]
        self.entries.setdefault(uid, {})[link] = entry

    def _mark(self, eviction: Obj) -> None:
        meta = eviction["metadata"]  # of a bookmark, it names nothing
        meta["managedFields"] = list(self.entries.get(meta.get("uid", ""), {}).values())

    async def marked(self, chunk: bytes) -> bytes:
        """Events of a watch, once it is known who has made the changes."""
        async with self._noted:
            await self._noted.wait_for(lambda: not self._under_way)
        events = [orjson.loads(line) for line in chunk.splitlines()]
        for event in events:
            self._mark(event["object"])
        return b"".join(orjson.dumps(event) + b"\n" for event in events)


class Marked:
    """A watch of Evictions that shows who has written them."""

    def __init__(self, ledger: Ledger, stream: Stream) -> None:
        self._ledger = ledger
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            yield await self._ledger.marked(chunk)

    async def aclose(self) -> None:
        """Let go of the stream."""
        await self._stream.aclose()


class Running:
    """A manager under a name."""

    def __init__(
        self,
        world: World,
        name: str,
        choice: LifecycleController,
        rows: Any = None,
        elects: bool = False,
        identity: str = "",
    ) -> None:
        around = ComponentContext(world.sim.clock, world.sim.stream(name), Metrics(), GATES)
        settings = ManagerSettings(GATES, leader_elect=elects, identity=identity or name, lifecycle=choice)
        peer = Peer("system:serviceaccount:kube-system:evictionrequest-controller", (MASTERS,))
        self.parts = ManagerParts(world.network.link(name, peer), around, settings, rows, name)
        self.task = asyncio.get_running_loop().create_task(self.parts.run(), name=name)

    async def end(self) -> None:
        """Stop at once."""
        self.task.cancel()
        await asyncio.wait([self.task])


def states(world: World) -> list[str]:
    found = world.find(LIFECYCLE_EVICTIONS, "pod-1-web", "default") or {}
    return [one["state"] for one in found.get("status", {}).get("targetResponders", [])]


async def complete(world: World, responder: str) -> None:
    now = format_time(world.sim.clock.now())
    report = {"name": responder, "heartbeatTime": now, "completionTime": now}
    await world.client.patch(
        LIFECYCLE_EVICTIONS,
        "pod-1-web",
        {"status": {"responders": [report]}},
        "default",
        patch_type=STRATEGIC_PATCH,
        subresource="status",
    )


def attends(world: World, manager: str) -> str:
    """Who works on lifecycle.k8s.io, as the Lease of a manager says."""
    lease = world.find(LEASES, manager, "kube-system") or {}
    return str(dig(lease, "metadata", "annotations", LIFECYCLE_CONTROLLER))


def is_evicted(world: World, request: str) -> bool:
    return condition_of(world.find(LIFECYCLE_REQUESTS, request, "default") or {}, "TargetEvicted") == "True"


async def requested(world: World, responders: Sequence[str], request: str = "drain") -> None:
    name = "web" if request == "drain" else request
    made = pod(name)
    listed = [{"name": one, "priority": 20_000 - place} for place, one in enumerate(responders)]
    made["spec"]["evictionResponders"] = listed
    await world.client.create(PODS, made, "default")
    target = {"name": name, "uid": created(world, PODS, name)["metadata"]["uid"]}
    spec = {"target": {"pod": target}, "requester": "acme.io/drain", "intent": "Eviction"}
    await world.client.create(LIFECYCLE_REQUESTS, {"metadata": {"name": request}, "spec": spec}, "default")


async def kubernetes(world: World) -> Running:
    """The other controller, at work."""
    rows = [one for one in CONTROLLERS if one.component in LIFECYCLE_CONTROLLERS]
    other = Running(world, KUBERNETES, LifecycleController.ON, rows)
    await world.until(lambda: other.parts.leading)
    return other


async def collect(world: World) -> None:
    """Delete all Evictions and requests, as the garbage collector does when their pods are gone."""
    for kind in (LIFECYCLE_REQUESTS, LIFECYCLE_EVICTIONS):
        for one in world.objects(kind):
            await world.client.delete(kind, one["metadata"]["name"], "default")


async def readyz(running: Running) -> str:
    health = HealthServer(Metrics(), running.parts.not_ready, remark=running.parts.remark)
    answer = await health.handle(Request("GET", "/readyz", MultiDict({"verbose": ""})))
    assert answer.status == 200
    return cast("bytes", answer.body).decode()


def given_over(world: World) -> int:
    return sum(one["reason"] == "LifecycleGivenOver" for one in world.objects(EVENTS))


@pytest.mark.sim
def test_an_eviction_goes_to_another_controller_and_comes_back() -> None:
    async def body(world: World) -> None:
        ledger = Ledger(world)
        ours = Running(world, OURS, LifecycleController.AUTO)
        await requested(world, RESPONDERS)
        await world.until(lambda: states(world)[:1] == ["Active"])
        await world.settle(5)
        assert (ours.parts.lifecycle_controller, set(ledger.writers)) == (OURS, {OURS})
        other = await kubernetes(world)
        # Both see that the first one has completed, and the other is faster.
        ledger.slow = OURS
        await complete(world, RESPONDERS[0])
        await world.until(lambda: states(world)[1] == "Active")
        await world.until(lambda: "leaves them to it" in str(events_of(world, "pod-1-web")))
        assert ours.parts.lifecycle_controller == KUBERNETES
        # Who gives way is ready, and its Lease says so, which `vacate version` and `vacate check` read.
        await world.until(lambda: attends(world, OURS) == KUBERNETES)
        text = f"[+]manager ok: Evictions of lifecycle.k8s.io are left to {KUBERNETES}\n"
        assert text in await readyz(ours)
        assert other.parts.lifecycle_controller == OURS
        assert "[+]manager ok\n" in await readyz(other)
        before = ledger.writers.count(OURS)
        await complete(world, RESPONDERS[1])
        await world.until(lambda: states(world)[2] == "Active")
        assert ledger.writers.count(OURS) == before
        # It ends in the middle of a turn. Half an hour later Vacate goes on where it ended.
        await other.end()
        await complete(world, RESPONDERS[2])
        began = world.sim.clock.now()
        await world.until(lambda: states(world)[3] == "Active", 7200.0)
        assert dt.timedelta(minutes=29) < world.sim.clock.now() - began < dt.timedelta(minutes=32)
        await world.until(lambda: is_evicted(world, "drain"))
        assert states(world) == ["Completed"] * 4
        assert [one["metadata"]["name"] for one in world.objects(LIFECYCLE_EVICTIONS)] == ["pod-1-web"]
        assert "is the controller of lifecycle.k8s.io again" in str(events_of(world, "pod-1-web"))
        assert ours.parts.lifecycle_controller == OURS
        await world.until(lambda: attends(world, OURS) == OURS)
        # What comes next is Vacate's at once.
        await requested(world, (), "late")
        await world.until(lambda: is_evicted(world, "late"), 60.0)
        await ours.end()

    in_world(body, nodes=0, controllers=(), evictions=(), gates=GATES)


@pytest.mark.sim
@pytest.mark.parametrize("restarts", [False, True])
def test_what_the_other_controller_has_written_is_remembered_when_it_is_collected(restarts: bool) -> None:
    async def body(world: World) -> None:
        ledger = Ledger(world)
        ours = Running(world, OURS, LifecycleController.AUTO)
        await world.until(lambda: attends(world, OURS) == OURS)
        ledger.slow = OURS
        other = await kubernetes(world)
        await requested(world, ())
        await world.until(lambda: is_evicted(world, "drain"))
        await world.until(lambda: attends(world, OURS) == KUBERNETES)
        await collect(world)
        if restarts:
            await ours.end()
            ours = Running(world, OURS, LifecycleController.AUTO)
            await world.until(lambda: ours.parts.leading)
        ledger.slow = ""
        await world.sim.clock.sleep(2400.0)  # nothing is requested for longer than anything may be left alone
        before = len(ledger.writers)
        await requested(world, RESPONDERS, "late")
        await requested(world, (), "later")
        await world.until(lambda: is_evicted(world, "later"))
        assert set(ledger.writers[before:]) == {KUBERNETES}
        assert (ours.parts.lifecycle_controller, attends(world, OURS)) == (KUBERNETES, KUBERNETES)
        assert given_over(world) == 1
        # It ends, and a request is left unread: no Eviction has to be there to say so.
        await other.end()
        await collect(world)
        await requested(world, (), "latest")
        began = world.sim.clock.now()
        await world.until(lambda: is_evicted(world, "latest"), 7200.0)
        assert dt.timedelta(minutes=29) < world.sim.clock.now() - began < dt.timedelta(minutes=32)
        assert "is the controller of lifecycle.k8s.io again" in str(events_of(world, "latest"))
        await ours.end()

    in_world(body, nodes=0, controllers=(), evictions=(), gates=GATES)


@pytest.mark.sim
def test_an_eviction_that_is_collected_at_once_shows_the_other_controller() -> None:
    async def body(world: World) -> None:
        ledger = Ledger(world)
        ours = Running(world, OURS, LifecycleController.AUTO)
        await world.until(lambda: attends(world, OURS) == OURS)
        ledger.slow = OURS
        other = await kubernetes(world)
        began = world.sim.clock.now()
        await requested(world, ())
        await world.until(lambda: is_evicted(world, "drain"))
        await collect(world)
        assert world.sim.clock.now() - began < dt.timedelta(seconds=10)  # half a minute passes between looks
        await world.until(lambda: ours.parts.lifecycle_controller == KUBERNETES, 1.0)
        await world.until(lambda: given_over(world) == 1)
        await other.end()
        await ours.end()

    in_world(body, nodes=0, controllers=(), evictions=(), gates=GATES)


@pytest.mark.sim
def test_a_manager_that_starts_again_after_it_has_resumed_goes_on_at_once() -> None:
    async def body(world: World) -> None:
        ledger = Ledger(world)
        ours = Running(world, OURS, LifecycleController.AUTO)
        await world.until(lambda: attends(world, OURS) == OURS)
        ledger.slow = OURS
        other = await kubernetes(world)
        await requested(world, RESPONDERS)
        await world.until(lambda: attends(world, OURS) == KUBERNETES)
        await other.end()
        await world.until(lambda: attends(world, OURS) == OURS, 7200.0)
        # The Eviction with the other's writes is still there, and they are older than that.
        assert KUBERNETES in str(ledger.entries)
        await ours.end()
        ours = Running(world, OURS, LifecycleController.AUTO)
        await requested(world, (), "late")
        await world.until(lambda: is_evicted(world, "late"), 60.0)
        await ours.end()

    in_world(body, nodes=0, controllers=(), evictions=(), gates=GATES)


@pytest.mark.sim
def test_a_manager_that_waited_for_the_lease_knows_what_the_leader_knew() -> None:
    """It may have seen less: the Eviction is collected, and its watch was broken meanwhile."""

    async def body(world: World) -> None:
        ledger = Ledger(world)
        ours = Running(world, OURS, LifecycleController.AUTO, elects=True)
        await world.until(lambda: attends(world, OURS) == OURS)
        ledger.slow = OURS
        other = await kubernetes(world)
        await requested(world, ())
        await world.until(lambda: attends(world, OURS) == KUBERNETES)
        await world.until(lambda: is_evicted(world, "drain"))
        await collect(world)
        second = Running(world, OURS, LifecycleController.AUTO, elects=True, identity="second")
        await world.settle(5)
        assert second.parts.lifecycle_controller == OURS  # it has seen nothing
        await ours.end()
        await world.until(lambda: second.parts.leading)
        assert second.parts.lifecycle_controller == KUBERNETES
        await world.sim.clock.sleep(65.0)
        assert (attends(world, OURS), given_over(world)) == (KUBERNETES, 1)
        await other.end()
        await second.end()

    in_world(body, nodes=0, controllers=(), evictions=(), gates=GATES)


class Feed:
    """Stands for the informers of one kind."""

    def __init__(self) -> None:
        self.handlers: list[Callable[[Any, Any], None]] = []
        self.subscribe = self.handlers.append

    def show(self, old: Any, new: Any) -> None:
        for handler in self.handlers:
            handler(old, new)


@pytest.mark.unit
@pytest.mark.parametrize("minutes", [29, 31])
def test_only_when_the_other_controller_is_silent_too_is_work_that_nobody_touches_abandoned(
    minutes: int,
) -> None:
    """One that just begins has not come to everything yet."""
    clock, evictions, requests, notes = StillClock(), Feed(), Feed(), list[EventNote]()
    informers = SimpleNamespace(requests=lambda _: evictions, informer=lambda *_: requests)
    recorder = SimpleNamespace(record=notes.append)
    way = GivingWay(cast(Any, informers), clock, recorder, lambda: True, dict)
    way.annotations()
    target = LifecycleTarget(pod=LocalPodReference(name="web", uid="1"))
    spec = LifecycleRequestSpec(target=target, requester="acme.io/drain", intent="Eviction")
    requests.show(None, LifecycleRequest(metadata=ObjectMeta(name="unread", uid="2"), spec=spec))
    clock.move(3600)
    evictions.show(None, written(clock.now(), "pod-1-web"))
    way.look()
    assert (way.other, [one.reason for one in notes]) == (KUBERNETES, ["LifecycleGivenOver"])
    clock.move(60 * minutes)
    way.look()
    assert way.other == (KUBERNETES if minutes < 30 else "")
    # What it wrote before does not count any more, and what it writes now does.
    evictions.show(None, written(clock.now() - dt.timedelta(minutes=1), "pod-1-api"))
    assert way.other == (KUBERNETES if minutes < 30 else "")
    clock.move(60)
    evictions.show(None, written(clock.now(), "pod-1-api"))
    assert way.other == KUBERNETES


def written(at: dt.datetime, name: str) -> EvictionRequest:
    """An Eviction that is over, of the other controller."""
    entry = ManagedFields(
        manager=KUBERNETES, time=format_time(at), fields_v1={"f:status": {"f:targetResponders": {}}}
    )
    over = LifecycleCondition(type="TargetEvicted", status="True", reason="PodDeleted")
    meta = EvictionMeta(name=name, uid=name, managed_fields=[entry])
    return LIFECYCLE.read(Eviction(metadata=meta, status=EvictionStatus(conditions=[over])))


@pytest.mark.unit
@pytest.mark.parametrize(
    ("manager", "field", "is_other"),
    [
        (KUBERNETES, "f:targetResponders", True),
        ("evictionrequest-controller", "f:requesters", True),
        (KUBERNETES, "f:responders", False),  # it evicts pods, and is no controller of Evictions
        ("vacate", "f:targetResponders", False),
        ("kubectl-edit", "f:targetResponders", False),
    ],
)
def test_another_controller_is_known_by_what_it_has_written(manager: str, field: str, is_other: bool) -> None:
    entry = ManagedFields(manager=manager, fields_v1={"f:status": {field: {}}})
    assert (last_process_write([entry]) is not None) is is_other
