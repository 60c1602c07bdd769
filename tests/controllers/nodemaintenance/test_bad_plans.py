"""Plans that contradict each other, and a manager that lacks rights: reported, and nothing is half done."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from support.simulated.clusters import in_world
from support.simulated.maintenances import claims, drain, gone, is_cordoned, on_node, phase, status, web
from vacate.api.kinds import DEPLOYMENTS, EVICTIONREQUESTS, PODS
from vacate.client.transport import Transport
from vacate.controllers.projections import PROJECTIONS
from vacate.embedded.cluster.controlplane import EVICTION_CONTROLLER
from vacate.sim.cluster import World
from vacate.testing import deployment, pod
from vacate.wire.message import Request, Response
from vacate.wiring.components import ComponentContext, component_manager
from vacate.wiring.controllers import enabled

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]


def test_plans_that_contradict_each_other_each_do_what_they_say_and_no_more() -> None:
    """One only cordons, one drains some pods, one refuses what another evicts."""

    async def body(world: World) -> None:
        for name, app in (("a", "web"), ("b", "db")):
            one = pod(name, labels={"app": app}, spec={"nodeName": "node-1"})
            await world.client.create(PODS, one, "default")
        await world.until(lambda: len(world.healthy_pods()) == 2)
        await drain(world, "node-1", name="cordons", stage="Cordon")
        only_web = {"selector": {"matchLabels": {"app": "web"}}, "unmanagedPods": "Evict"}
        await drain(world, "node-1", name="of-web", pods=only_web)
        await drain(world, "node-1", name="careful", pods={"unmanagedPods": "Refuse"})
        await world.until(lambda: phase(world, "of-web") == "Drained")
        assert on_node(world, "node-1") == ["b"]
        await world.until(lambda: phase(world, "careful") == "Blocked")
        (held,) = status(world, "careful")["blockers"]
        assert (held["kind"], held["pod"]) == ("UnmanagedPod", "b")
        assert phase(world, "cordons") == "Cordoned"
        # Each takes back its own, and the last of them the cordon.
        for name in ("of-web", "careful"):
            await gone(world, name)
            assert is_cordoned(world, "node-1")
        await gone(world, "cordons")
        assert (is_cordoned(world, "node-1"), claims(world, "node-1")) == (False, None)
        assert on_node(world, "node-1") == ["b"]

    in_world(body)


class Refusing:
    """A transport to a server that refuses some requests for lack of a right."""

    def __init__(self, transport: Transport, method: str, path: str) -> None:
        self._transport = transport
        self._method, self._path = method, path
        self.granted = False

    async def send(self, request: Request) -> Response:
        if not self.granted and request.method == self._method and self._path in request.path:
            message = f'User "manager" cannot {self._method} resource "{self._path}"'
            body = {
                "kind": "Status",
                "status": "Failure",
                "code": 403,
                "reason": "Forbidden",
                "message": message,
            }
            return Response(403, orjson.dumps(body))
        return await self._transport.send(request)

    async def aclose(self) -> None:
        await self._transport.aclose()


def managed_without(method: str, path: str, body: Any) -> None:
    """Run the body with a manager that lacks one right until it is granted."""
    links: list[Refusing] = []

    def build(link: Transport, around: ComponentContext) -> Any:
        links.append(Refusing(link, method, path))
        return component_manager(links[-1], "vacate-manager", enabled(around.gates), around, PROJECTIONS)

    async def main(world: World) -> None:
        await world.start("manager", build, EVICTION_CONTROLLER)
        await web(world, 3)
        await drain(world, "node-1")
        await body(world)
        links[-1].granted = True
        await world.until(lambda: phase(world) == "Drained", 3600.0)
        assert on_node(world, "node-1") == []

    in_world(main, evictions=())


def test_a_manager_that_may_not_request_evictions_says_so_for_each_pod() -> None:
    async def body(world: World) -> None:
        await world.until(lambda: phase(world) == "Blocked")
        (held,) = status(world)["blockers"]
        assert held["kind"] == "RequestRefused"
        assert held["message"] == (
            'its eviction could not be requested: User "manager" cannot POST resource "/evictionrequests"'
        )
        assert world.objects(EVICTIONREQUESTS) == []

    managed_without("POST", "/evictionrequests", body)


def test_a_manager_that_may_not_cordon_says_so_and_evicts_nothing() -> None:
    async def body(world: World) -> None:
        await world.until(lambda: phase(world) == "Blocked")
        (held,) = status(world)["blockers"]
        assert (held["kind"], held["node"]) == ("CordonRefused", "node-1")
        why = 'User "manager" cannot PATCH resource "/api/v1/nodes/"'
        assert held["message"] == f"the node could not be cordoned: {why}"
        assert "give manager this right" in held["remedy"]
        assert world.objects(EVICTIONREQUESTS) == []
        assert not is_cordoned(world, "node-1")

    managed_without("PATCH", "/api/v1/nodes/", body)


def test_the_only_manager_may_be_a_pod_of_the_node_that_it_drains() -> None:
    """Its pod is evicted as any other; the one that replaces it elsewhere finishes the drain."""

    def build(link: Transport, around: ComponentContext) -> Any:
        return component_manager(link, "vacate-manager", enabled(around.gates), around, PROJECTIONS)

    async def body(world: World) -> None:
        await web(world, 4)
        await world.client.create(DEPLOYMENTS, deployment("manager", replicas=1), "default")

        def manager() -> list[Any]:
            return [one for one in world.healthy_pods() if one["metadata"]["labels"].get("app") == "manager"]

        await world.until(manager)
        home = manager()[0]
        process = await world.start("manager", build, EVICTION_CONTROLLER)
        await drain(world, home["spec"]["nodeName"])
        await world.until(
            lambda: home["metadata"]["uid"] not in [one["metadata"]["uid"] for one in manager()]
        )
        await process.crash()
        await world.until(manager)
        assert manager()[0]["spec"]["nodeName"] != home["spec"]["nodeName"]
        await process.start()
        await world.until(lambda: phase(world) == "Drained")
        assert on_node(world, home["spec"]["nodeName"]) == []

    in_world(body, evictions=())
