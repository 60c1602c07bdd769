"""Dependencies over any server, for tests of what is built from them."""

from __future__ import annotations

from vacate.api.events import EventNote
from vacate.cache.informer import Tuning
from vacate.client.client import Client
from vacate.client.transport import Transport
from vacate.embedded.apiserver.inprocess import Handler, InProcessTransport
from vacate.metrics import Metrics
from vacate.runtime.dependencies import Dependencies, InformerFactory
from vacate.sim.run import Sim
from vacate.wire.message import Peer


class EventList:
    """A recorder that keeps its notes."""

    def __init__(self) -> None:
        self.notes: list[EventNote] = []

    def record(self, note: EventNote) -> None:
        self.notes.append(note)


def make_deps(sim: Sim, server: Handler, transport: Transport | None = None) -> Dependencies:
    client = Client(transport or InProcessTransport(server, Peer("admin", ("system:masters",))))
    informers = InformerFactory(client, sim.clock, sim.entropy, Tuning())
    return Dependencies(client, sim.clock, sim.entropy, Metrics(), EventList(), informers)
