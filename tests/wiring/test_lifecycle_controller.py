"""Two controllers for lifecycle.k8s.io in virtual time: Vacate gives way, and goes on where the other ends.

The other one is Vacate's own code under the name of kube-controller-manager. The embedded server keeps no
managed fields, so they are added to its answers, as kube-apiserver has them.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
from collections.abc import Sequence
from typing import Any, cast

import orjson
import pytest

from support.simulated.clusters import in_world
from support.simulated.workloads import condition_of, created, events_of
from vacate.api.identity import MASTERS
from vacate.api.kinds import LEASES, LIFECYCLE_EVICTIONS, LIFECYCLE_REQUESTS, PODS
from vacate.api.objectnames import LIFECYCLE_CONTROLLER
from vacate.api.objects import Obj, dig
from vacate.api.times import format_time
from vacate.client.requests import STRATEGIC_PATCH
from vacate.embedded.apiserver.inprocess import Handler
from vacate.eviction.dialects.lifecycle.othercontroller import LifecycleController, is_abandoned, last_writer
from vacate.features import parse_feature_gates
from vacate.metrics import Metrics
from vacate.sim.cluster import World
from vacate.testing import pod
from vacate.wire.message import Peer, Request, Response
from vacate.wiring.components import Environment
from vacate.wiring.controllers import CONTROLLERS, LIFECYCLE_CONTROLLERS
from vacate.wiring.manager import ManagerParts, ManagerSettings

GATES = parse_feature_gates("LifecycleAPI=true")
KUBERNETES, OURS = "kube-controller-manager", "vacate"
RESPONDERS = ("first.example.com/a", "second.example.com/b", "third.example.com/c")


class Ledger:
    """Notes who writes Evictions, and shows it in what is read of them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.entries: dict[str, dict[str, Obj]] = {}  # by Eviction and writer
        self.writers: list[str] = []  # of the process, in order
        self.slow = ""  # whose patches of Evictions arrive late
        world.network.audit = self

    async def handle(self, link: str, server: Handler, request: Request) -> Response:
        """Let the server answer."""
        if link == self.slow and request.method == "PATCH" and "/evictions/" in request.path:
            await self._world.sim.clock.sleep(5.0)
        response = await server.handle(request)
        parts = request.path.split("/evictions/")
        if request.method == "PATCH" and len(parts) == 2 and response.status == 200:
            status = orjson.loads(request.body).get("status", {})
            fields: Obj = {f"f:{key}": {} for key in status}
            now = format_time(self._world.sim.clock.now())
            entry = {"manager": link, "time": now, "fieldsV1": {"f:status": fields}}
            name = parts[1].partition("/")[0]
            if "targetResponders" in status or "requesters" in status:
                self.writers.append(link)
            else:
                link = f"{link} besides"
            self.entries.setdefault(name, {})[link] = entry
        elif request.method == "GET" and request.path.endswith("/evictions") and "watch" not in request.query:
            found = orjson.loads(cast("bytes", response.body))
            for one in found["items"]:
                marks = self.entries.get(one["metadata"]["name"], {})
                one["metadata"]["managedFields"] = list(marks.values())
            return dataclasses.replace(response, body=orjson.dumps(found))
        return response


class Running:
    """A manager under a name."""

    def __init__(self, world: World, name: str, choice: LifecycleController, rows: Any = None) -> None:
        around = Environment(world.sim.clock, world.sim.stream(name), Metrics(), GATES)
        settings = ManagerSettings(GATES, leader_elect=False, identity=name, lifecycle=choice)
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


@pytest.mark.sim
def test_an_eviction_goes_to_another_controller_and_comes_back() -> None:
    async def body(world: World) -> None:
        ledger = Ledger(world)
        ours = Running(world, OURS, LifecycleController.AUTO)
        await requested(world, RESPONDERS)
        await world.until(lambda: states(world)[:1] == ["Active"])
        await world.settle(5)
        assert (ours.parts.lifecycle_controller, set(ledger.writers)) == (OURS, {OURS})
        rows = [one for one in CONTROLLERS if one.component in LIFECYCLE_CONTROLLERS]
        other = Running(world, KUBERNETES, LifecycleController.ON, rows)
        await world.until(lambda: other.parts.leading)
        # Both see that the first one has completed, and the other is faster.
        ledger.slow = OURS
        await complete(world, RESPONDERS[0])
        await world.until(lambda: states(world)[1] == "Active")
        await world.until(lambda: "leaves them to it" in str(events_of(world, "pod-1-web")))
        assert ours.parts.lifecycle_controller == KUBERNETES
        # Who gives way is ready, and its Lease says so, which `vacate version` and `vacate check` read.
        await world.until(lambda: attends(world, OURS) == KUBERNETES)
        assert ours.parts.not_ready() == ""
        assert other.parts.lifecycle_controller == OURS
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


def written(manager: str, *fields: str, at: str = "2026-01-01T00:00:00Z", **status: Any) -> Obj:
    entry = {"manager": manager, "time": at, "fieldsV1": {"f:status": {key: {} for key in fields}}}
    meta = {"name": "pod-1-web", "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": [entry]}
    return {"metadata": meta, "spec": {"intent": "Eviction"}, "status": status}


@pytest.mark.unit
@pytest.mark.parametrize(
    ("eviction", "is_other"),
    [
        (written(KUBERNETES, "f:targetResponders"), True),
        (written("evictionrequest-controller", "f:requesters"), True),
        (written(KUBERNETES, "f:responders"), False),  # it evicts pods, and is no controller of Evictions
        (written("vacate", "f:targetResponders"), False),
        (written("kubectl-edit", "f:targetResponders"), False),
    ],
)
def test_another_controller_is_known_by_what_it_has_written(eviction: Obj, is_other: bool) -> None:
    assert (last_writer([eviction]) is not None) is is_other


@pytest.mark.unit
@pytest.mark.parametrize("minutes", [29, 31])
def test_what_is_left_alone_for_half_an_hour_is_abandoned(minutes: int) -> None:
    now = dt.datetime(2026, 1, 1, 0, minutes, tzinfo=dt.UTC)
    over: dict[str, Any] = {"conditions": [{"type": "TargetEvicted", "status": "True"}]}
    assert is_abandoned([written(KUBERNETES)], [], now) is (minutes > 30)
    assert is_abandoned([], [written("acme")], now) is (minutes > 30)
    assert not is_abandoned([written(KUBERNETES, **over)], [written("acme", **over)], now)
    assert not is_abandoned([written(KUBERNETES, at="2026-01-01T00:20:00Z")], [], now)
