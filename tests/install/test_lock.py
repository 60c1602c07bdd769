"""Installing and uninstalling one at a time, in virtual time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from support.tiny_server import TinyServer
from vacate.api.installednames import INSTALL_LEASE
from vacate.api.kinds import LEASES, NAMESPACES
from vacate.api.objects import encode
from vacate.api.status import to_status
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import ConfigError, Forbidden, ServiceUnavailable
from vacate.install.apply.lock import LOCK_TIMEOUT_SECONDS, alone
from vacate.sim.run import Sim, run_sim
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.sim

HERE = "vacate-system"


def a_server(server: TinyServer | None = None) -> TinyServer:
    server = server or TinyServer()
    server.put(NAMESPACES, HERE, "")
    return server


def simulate(main: Callable[[Sim], Awaitable[None]]) -> None:
    run_sim(main)


def test_the_second_waits_and_says_for_whom() -> None:
    async def main(sim: Sim) -> None:
        client, lines, turns = Client(InProcessTransport(a_server())), list[str](), list[str]()

        async def one(name: str, seconds: float) -> None:
            async with alone(client, sim.clock, sim.entropy, HERE, lines.append) as turn:
                turns.append(f"{name} begins")
                await sim.clock.sleep(seconds)
                await turn.check()
                turns.append(f"{name} ends")

        first = sim.loop.create_task(one("first", 30.0))
        await sim.clock.sleep(1.0)
        await one("second", 0.0)
        await first
        assert turns == ["first begins", "first ends", "second begins", "second ends"]
        (line,) = lines
        assert line.startswith("waiting: ")
        assert line.endswith(" is installing or uninstalling")

    simulate(main)


def test_one_that_was_killed_is_waited_for_a_few_seconds() -> None:
    async def main(sim: Sim) -> None:
        server, began = a_server(), sim.clock.monotonic()
        left = {"holderIdentity": "killed", "leaseDurationSeconds": 8, "leaseTransitions": 0}
        server.put(LEASES, INSTALL_LEASE, HERE, spec=left)
        client = Client(InProcessTransport(server))
        async with alone(client, sim.clock, sim.entropy, HERE, lambda _: None):
            assert 8.0 <= sim.clock.monotonic() - began < 12.0

    simulate(main)


def test_patience_ends() -> None:
    async def main(sim: Sim) -> None:
        client, began = Client(InProcessTransport(a_server())), sim.clock.monotonic()
        async with alone(client, sim.clock, sim.entropy, HERE, lambda _: None):
            with pytest.raises(ConfigError, match=r"is installing or uninstalling, after 120 s"):
                await alone(client, sim.clock, sim.entropy, HERE, lambda _: None).__aenter__()
        assert sim.clock.monotonic() - began == pytest.approx(LOCK_TIMEOUT_SECONDS, abs=1.0)

    simulate(main)


def test_a_lease_that_cannot_be_written_is_a_clear_error() -> None:
    class Refusing(TinyServer):
        async def handle(self, request: Request) -> Response:
            if "leases" in request.path:
                return Response(403, encode(to_status(Forbidden("leases is forbidden"))))
            return await super().handle(request)

    async def main(sim: Sim) -> None:
        client = Client(InProcessTransport(a_server(Refusing())))
        with pytest.raises(ConfigError, match="the lease vacate-install cannot be taken, after 120 s"):
            await alone(client, sim.clock, sim.entropy, HERE, lambda _: None).__aenter__()

    simulate(main)


@pytest.mark.parametrize("held", [True, False])
def test_nobody_waits_for_a_turn_in_a_namespace_that_goes(held: bool) -> None:
    async def main(sim: Sim) -> None:
        server, began = a_server(), sim.clock.monotonic()
        if held:
            spec = {"holderIdentity": "uninstall", "leaseDurationSeconds": 800, "leaseTransitions": 0}
            server.put(LEASES, INSTALL_LEASE, HERE, spec=spec)
        ending = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
        server.put(NAMESPACES, HERE, "", metadata=ending)
        client = Client(InProcessTransport(server))
        with pytest.raises(ConfigError, match="the namespace was deleted meanwhile"):
            await alone(client, sim.clock, sim.entropy, HERE, lambda _: None).__aenter__()
        assert sim.clock.monotonic() - began < 5.0

    simulate(main)


class Deaf(TinyServer):
    """Answers nobody for a while."""

    deaf = False

    async def handle(self, request: Request) -> Response:
        if self.deaf:
            return Response(503, encode(to_status(ServiceUnavailable("not now"))))
        return await super().handle(request)


def test_a_turn_goes_on_after_a_time_without_contact_if_nobody_else_has_begun() -> None:
    async def main(sim: Sim) -> None:
        server = Deaf()
        a_server(server)
        client = Client(InProcessTransport(server))
        async with alone(client, sim.clock, sim.entropy, HERE, lambda _: None) as turn:
            await sim.clock.sleep(100.0)
            await turn.check()
            server.deaf = True
            await sim.clock.sleep(60.0)
            sim.loop.call_later(10.0, setattr, server, "deaf", False)
            await turn.check()
            before = holder(server)
            await sim.clock.sleep(60.0)  # and it is renewed again
            await turn.check()
            assert holder(server) == before != ""
        assert holder(server) == ""

    simulate(main)


def test_a_turn_is_over_when_another_has_begun_meanwhile() -> None:
    """Also when the other one is done by now."""

    async def main(sim: Sim) -> None:
        server = Deaf()
        a_server(server)
        client, another = Client(InProcessTransport(server)), Client(InProcessTransport(server))
        async with alone(client, sim.clock, sim.entropy, HERE, lambda _: None) as turn:
            server.deaf = True
            await sim.clock.sleep(20.0)
            server.deaf = False
            async with alone(another, sim.clock, sim.entropy, HERE, lambda _: None):
                pass
            with pytest.raises(ConfigError, match="was lost for too long"):
                await turn.check()

    simulate(main)


def test_a_turn_is_over_when_contact_is_not_made_again() -> None:
    async def main(sim: Sim) -> None:
        server = Deaf()
        a_server(server)
        client = Client(InProcessTransport(server))
        async with alone(client, sim.clock, sim.entropy, HERE, lambda _: None) as turn:
            server.deaf = True
            await sim.clock.sleep(6.0)
            with pytest.raises(ConfigError, match="was lost for too long"):
                await turn.check()

    simulate(main)


def holder(server: TinyServer) -> str:
    return str(server.objects[LEASES.resource, HERE, INSTALL_LEASE]["spec"]["holderIdentity"])
