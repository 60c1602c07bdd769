"""The manager beside a cluster, in virtual time: its lease, its retries, its health."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from email.utils import format_datetime
from typing import Any

import pytest
from multidict import MultiDict

from support.simulated.clusters import Body, in_world
from support.simulated.evictions import A, active, completed, heard, requested, status
from vacate.api.identity import EVICTION_CONTROLLER, MASTERS, service_account_user
from vacate.api.installednames import MANAGER, TROUBLE
from vacate.api.kinds import CLUSTERROLES, LEASES, PODS, ROLES, Kind
from vacate.api.objects import dig
from vacate.api.options import DeleteOptions
from vacate.api.times import parse_time
from vacate.client.transport import Transport
from vacate.embedded.bootstrap.rules import AUTO_UPDATE
from vacate.features import FeatureGates, parse_feature_gates
from vacate.httpserver.healthserver import HealthServer
from vacate.metrics import Metrics
from vacate.runtime.leaderelection import LeadershipLost
from vacate.sim.cluster import World
from vacate.wire.message import Peer, Request, Response
from vacate.wiring.components import ComponentContext
from vacate.wiring.manager import ManagerParts, ManagerSettings

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=6)]

CLOSED = parse_feature_gates(
    "EvictionRequestAPI=false,Fencing=false,ExclusiveVolumes=false,TopologySpreadScaleDown=false,"
    "NodeDownCondition=false"
)


class Beside:
    """A manager over a link of its own."""

    def __init__(
        self,
        world: World,
        name: str,
        settings: ManagerSettings,
        skew: float = 0.0,
        groups: tuple[str, ...] = (MASTERS,),
        user: str = EVICTION_CONTROLLER,
    ) -> None:
        self.name = name
        self.clock = world.sim.skewed_clock(skew)
        around = ComponentContext(self.clock, world.sim.stream(name), Metrics(), settings.gates)
        self.parts = ManagerParts(
            Dating(world, world.network.link(name, Peer(user, groups))), around, settings
        )
        self.task = asyncio.get_running_loop().create_task(self.parts.run(), name=name)

    async def end(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])


@asynccontextmanager
async def beside(
    world: World,
    *names: str,
    gates: FeatureGates | None = None,
    leader_elect: bool = True,
    skew: float = 0.0,
    groups: tuple[str, ...] = (MASTERS,),
    user: str = EVICTION_CONTROLLER,
) -> AsyncIterator[Sequence[Beside]]:
    """Managers for as long as the block runs."""
    managers = [
        Beside(
            world,
            name,
            ManagerSettings(gates or FeatureGates(), leader_elect, identity=name),
            skew,
            groups,
            user,
        )
        for name in names
    ]
    try:
        yield managers
    finally:
        for one in managers:
            await one.end()


def apart(body: Body, **settings: Any) -> None:
    """A cluster without a controller inside."""
    in_world(body, nodes=0, controllers=(), evictions=(), measured=True, **settings)


class Dating:
    """A link whose answers have the server's date, as HTTP has it."""

    def __init__(self, world: World, link: Transport) -> None:
        self._world, self._link = world, link

    async def send(self, request: Request) -> Response:
        response = await self._link.send(request)
        date = format_datetime(self._world.sim.clock.now(), usegmt=True)
        response.headers = {**response.headers, "Date": date}
        return response

    async def aclose(self) -> None:
        await self._link.aclose()


@pytest.mark.parametrize("skew", [-45.0, 45.0])
def test_a_manager_whose_clock_is_wrong_goes_by_the_servers(skew: float) -> None:
    async def body(world: World) -> None:
        async with beside(world, "m", skew=skew):
            name = await requested(world, A)
            await world.until(lambda: active(world, name) == A)
            heartbeat = parse_time(status(world, name)["heartbeatTime"])
            assert abs((heartbeat - world.sim.clock.now()).total_seconds()) <= 5

    apart(body)


def holder(world: World) -> str:
    return str(dig(world.find(LEASES, MANAGER, "kube-system"), "spec", "holderIdentity") or "")


def test_it_attends_to_requests_and_gives_its_lease_back() -> None:
    async def body(world: World) -> None:
        async with beside(world, "m") as [manager]:
            name = await requested(world)
            assert await completed(world, name) == "PodDeleted"
            assert manager.parts.leading
            assert manager.parts.not_ready() == ""
            assert holder(world) == "m"
        assert manager.task.cancelled()
        assert holder(world) == ""

    apart(body)


def test_of_two_one_works_and_the_other_takes_over() -> None:
    async def body(world: World) -> None:
        async with beside(world, "one", "two") as managers:
            name = await requested(world, A)
            await world.until(lambda: active(world, name) == A)
            await world.sim.clock.sleep(5)
            assert [one.parts.not_ready() for one in managers] == ["", ""]
            first = next(one for one in managers if one.parts.leading)
            other = next(one for one in managers if not one.parts.leading)
            assert holder(world) == first.name
            world.network.kill(first.name)
            await first.end()
            await world.until(lambda: holder(world) == other.name, timeout=30)
            await world.client.delete(PODS, "p", "default", DeleteOptions(grace_period_seconds=0))
            assert await completed(world, name) == "PodDeleted"

    apart(body)


def test_who_loses_the_lease_stops_with_an_error() -> None:
    async def body(world: World) -> None:
        async with beside(world, "m") as [manager]:
            await world.until(lambda: holder(world) == "m")
            await world.sim.clock.sleep(1)
            world.network.cut("m")
            await asyncio.wait([manager.task])
            assert isinstance(manager.task.exception(), LeadershipLost)

    apart(body)


def test_without_election_it_works_whoever_holds_the_lease_and_shows_its_own() -> None:
    async def body(world: World) -> None:
        record = {"holderIdentity": "another", "leaseDurationSeconds": 3600}
        meta = {"name": MANAGER, "namespace": "kube-system"}
        await world.client.create(LEASES, {"metadata": meta, "spec": record})
        async with beside(world, "m", leader_elect=False):
            assert await completed(world, await requested(world)) == "PodDeleted"
            assert holder(world) == "m"
        assert holder(world) == ""

    apart(body)


class Rights:
    """The roles of the manager on the embedded cluster, from which rules can be taken for a while."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._before: dict[tuple[Kind, str], Any] = {}

    async def take(self, kind: Kind, name: str, verb: str, resource: str) -> None:
        """Let the role no longer allow the verb on the resource."""
        found = await self._world.client.get(kind, name, "kube-system" if kind.namespaced else "")
        self._before[kind, name] = found["rules"]
        rules = [
            {**one, "verbs": [each for each in one["verbs"] if each != verb]}
            if resource in one.get("resources", ())
            else one
            for one in found["rules"]
        ]
        await self._set(kind, name, [one for one in rules if one["verbs"]])

    async def give_back(self) -> None:
        """All that was taken."""
        for (kind, name), rules in self._before.items():
            await self._set(kind, name, rules)

    async def _set(self, kind: Kind, name: str, rules: Any) -> None:
        namespace = "kube-system" if kind.namespaced else ""
        # A server that starts would give the default roles their rights back.
        keep = {"metadata": {"annotations": {AUTO_UPDATE: "false"}}}
        await self._world.client.patch(kind, name, {**keep, "rules": rules}, namespace)


OWN_ROLE = "system:controller:evictionrequest-controller"
LOCK_ROLE = "system::leader-locking-evictionrequest-controller"


def trouble(world: World) -> str:
    return str(dig(world.find(LEASES, MANAGER, "kube-system"), "metadata", "annotations", TROUBLE) or "")


def test_a_manager_that_may_not_take_its_lease_logs_why_and_is_not_ready_until_it_can(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body(world: World) -> None:
        rights = Rights(world)
        await rights.take(ROLES, LOCK_ROLE, "create", "leases")
        async with beside(world, "m", groups=()) as [manager]:
            await world.sim.clock.sleep(50)
            assert manager.parts.not_ready() == ""
            await world.sim.clock.sleep(20)
            why = manager.parts.not_ready()
            assert why.startswith("Lease kube-system/vacate-manager can be neither taken nor renewed: ")
            assert "cannot create resource" in why
            await rights.give_back()
            assert await completed(world, await requested(world)) == "PodDeleted"
            assert manager.parts.not_ready() == ""

    apart(body)
    logged = [one.message for one in caplog.records if "Lease kube-system/vacate-manager" in one.message]
    assert len(logged) == 2, logged
    assert "cannot create resource" in logged[0]
    assert logged[1].endswith("can be written again")


@pytest.mark.parametrize(
    ("verb", "resource", "leads"),
    [
        ("list", "evictionrequests", False),
        ("watch", "poddisruptionbudgets", False),
        ("watch", "poddisruptionbudgets", True),
    ],
)
def test_a_kind_that_may_not_be_followed_is_named_in_the_log_in_readyz_and_in_the_lease(
    caplog: pytest.LogCaptureFixture, verb: str, resource: str, leads: bool
) -> None:
    async def body(world: World) -> None:
        rights = Rights(world)
        if not leads:
            await rights.take(CLUSTERROLES, OWN_ROLE, verb, resource)
        async with beside(world, "m", groups=()) as [manager]:
            if leads:
                await world.until(lambda: holder(world) == "m")
                await rights.take(CLUSTERROLES, OWN_ROLE, verb, resource)
                await world.restart_server()  # its watches end, and are opened anew
            await world.sim.clock.sleep(9)
            for where in (trouble(world), manager.parts.not_ready()):
                assert f"{verb} resource" in where or f"lack the right to {verb} {resource}" in where
                assert resource in where
            await rights.give_back()
            await world.sim.clock.sleep(90)  # the pause of the informer before it tries again
            assert manager.parts.not_ready() == ""
            assert trouble(world) == ""
            assert holder(world) == "m"

    apart(body)
    assert f"this process may not {verb} {resource}." in caplog.text


def test_a_write_for_which_the_right_is_missing_is_named_until_it_succeeds() -> None:
    async def body(world: World) -> None:
        rights = Rights(world)
        await rights.take(CLUSTERROLES, OWN_ROLE, "patch", "evictionrequests/status")
        async with beside(world, "m", groups=()) as [manager]:
            name = await requested(world)
            await world.sim.clock.sleep(9)
            lacks = "lack the right to patch evictionrequests/status.evictionrequest.coordination.k8s.io"
            assert lacks in trouble(world)
            assert lacks in manager.parts.not_ready()
            await rights.give_back()
            assert await completed(world, name) == "PodDeleted"
            await world.sim.clock.sleep(3)
            assert (manager.parts.not_ready(), trouble(world)) == ("", "")

    apart(body)


def test_a_manager_whose_changes_do_not_arrive_is_not_ready() -> None:
    async def body(world: World) -> None:
        async with beside(world, "m", leader_elect=False) as [manager]:
            health = HealthServer(Metrics(), manager.parts.not_ready)

            async def readyz() -> tuple[int, str]:
                answer = await health.handle(Request("GET", "/readyz", MultiDict({"verbose": ""})))
                return answer.status, str(answer.body)

            await world.sim.clock.sleep(10)
            assert (await readyz())[0] == 200
            world.network.cut("m")
            await world.sim.clock.sleep(900)
            code, text = await readyz()
            assert code == 500
            assert "no changes of" in text
            world.network.mend("m")
            await world.sim.clock.sleep(120)
            assert (await readyz())[0] == 200

    apart(body)


@pytest.mark.parametrize("namespace", ["kube-system", "moved"])
def test_a_manager_whose_namespace_was_changed_after_rendering_does_not_work_and_says_so(
    namespace: str,
) -> None:
    """Policies that confine its account would apply to none; kustomize changes the one and not the other."""

    async def body(world: World) -> None:
        user = service_account_user(namespace, MANAGER)
        async with beside(world, "m", user=user) as [manager]:
            await world.sim.clock.sleep(30)
            why = manager.parts.not_ready()
            assert manager.parts.leading == (namespace == "kube-system")
            assert ("runs as service account vacate-manager of namespace moved" in why) == bool(why)
            assert ("vacate install --namespace moved --print" in trouble(world)) == bool(why)

    apart(body)


def test_without_the_kind_it_waits_says_so_and_begins_when_the_kind_comes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body(world: World) -> None:
        async with beside(world, "m") as [manager]:
            await world.sim.clock.sleep(60)
            reason = manager.parts.not_ready()
            assert reason.startswith("the cluster does not serve evictionrequests.evictionrequest.coord")
            assert "vacate install" in reason
            assert heard(world, verb="list", resource="evictionrequests") <= 7
            world.server.gates = FeatureGates()
            await world.restart_server()
            assert await completed(world, await requested(world)) == "PodDeleted"
            assert manager.parts.not_ready() == ""

    apart(body, gates=CLOSED)
    assert [record.message for record in caplog.records].count(
        "waiting: the cluster does not serve evictionrequests.evictionrequest.coordination.k8s.io: "
        "install it with vacate install"
    ) == 1


def test_with_a_gate_open_for_a_kind_of_kubernetes_that_is_not_served_it_names_both_ends() -> None:
    async def body(world: World) -> None:
        async with beside(world, "m", gates=parse_feature_gates("LifecycleAPI=true")) as [manager]:
            await world.sim.clock.sleep(60)
            assert manager.parts.not_ready() == (
                "the cluster does not serve evictions.lifecycle.k8s.io: open its feature gate and version at "
                "the API server, or close LifecycleAPI of Vacate"
            )

    apart(body)


def test_with_its_gate_closed_it_stands_idle() -> None:
    async def body(world: World) -> None:
        async with beside(world, "m", gates=CLOSED) as [manager]:
            await world.sim.clock.sleep(3600)
            assert manager.parts.not_ready() == ""
            assert not manager.parts.leading
        assert heard(world, resource="evictionrequests") == 0
        assert world.find(LEASES, MANAGER, "kube-system") is None

    apart(body)
