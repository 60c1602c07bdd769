"""A node is drained only when the API server itself has no pod left on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from support.simulated.clusters import in_world
from support.simulated.maintenances import drain, is_cordoned, on_node, phase, row, web
from vacate.client.transport import Transport
from vacate.controllers.projections import PROJECTIONS
from vacate.embedded.cluster.controlplane import EVICTION_CONTROLLER
from vacate.errors import TransportError
from vacate.runtime.manager import Manager
from vacate.sim.cluster import World
from vacate.wire.message import Request, Response, Stream
from vacate.wiring.components import ComponentContext, component_manager
from vacate.wiring.controllers import enabled

pytestmark = pytest.mark.sim


@dataclass(slots=True)
class Watches:
    """Whether changes of pods arrive."""

    silent: bool = False


@dataclass(slots=True)
class SilentStream:
    """A watch that loses what is sent while it is silent, and ends after that."""

    stream: Stream
    watches: Watches

    async def __aiter__(self) -> AsyncIterator[bytes]:
        lost = False
        async for chunk in self.stream:
            lost = lost or self.watches.silent
            if not lost:
                yield chunk
            elif not self.watches.silent:
                raise TransportError("the watch stream was reset")

    async def aclose(self) -> None:
        await self.stream.aclose()


@dataclass(slots=True)
class SilentTransport:
    """A transport whose watch of pods can fall silent."""

    link: Transport
    watches: Watches

    async def send(self, request: Request) -> Response:
        response = await self.link.send(request)
        if request.path == "/api/v1/pods" and not isinstance(response.body, bytes):
            response.body = SilentStream(response.body, self.watches)
        return response

    async def aclose(self) -> None:
        await self.link.aclose()


def test_a_node_is_not_drained_while_a_silent_watch_hides_its_pods() -> None:
    async def body(world: World) -> None:
        watches = Watches()

        def build(link: Transport, around: ComponentContext) -> Manager:
            transport = SilentTransport(link, watches)
            return component_manager(transport, "vacate-manager", enabled(around.gates), around, PROJECTIONS)

        await world.start("manager", build, EVICTION_CONTROLLER)
        await world.settle()
        watches.silent = True
        await web(world, 6)
        assert on_node(world, "node-1")
        await drain(world, "node-1")
        await world.until(lambda: row(world, "node-1").get("message") == "counting the pods that are left")
        assert is_cordoned(world, "node-1")
        await world.settle(60)
        assert phase(world) == "Draining"
        watches.silent = False
        await world.until(lambda: phase(world) == "Drained", 3600.0)
        assert on_node(world, "node-1") == []

    in_world(body, nodes=3, evictions=())


def test_an_empty_node_is_drained_after_it_is_cordoned() -> None:
    async def body(world: World) -> None:
        await drain(world, "node-1", cordon="InTurn")
        seen: list[tuple[bool, str]] = []

        def is_drained() -> bool:
            seen.append((is_cordoned(world, "node-1"), phase(world)))
            return phase(world) == "Drained"

        await world.until(is_drained)
        assert (False, "Drained") not in seen

    in_world(body, nodes=3)
