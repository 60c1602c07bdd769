"""How the parts of a simulated cluster are put together."""

from __future__ import annotations

from vacate.apiserver.attributes import project
from vacate.apiserver.authn import Authenticator
from vacate.apiserver.authz import Authorizer
from vacate.apiserver.bootstrap import bootstrap_objects
from vacate.apiserver.bootstrap.identities import ADMIN, BOOTSTRAP, CONTROLLER_MANAGER
from vacate.apiserver.rbacsource import StoredRbac
from vacate.apiserver.registry import Registry
from vacate.apiserver.server import ApiServer
from vacate.client.client import Client
from vacate.client.transport import Transport
from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.errors import AlreadyExists
from vacate.metrics import Metrics
from vacate.runtime.controller import Controller
from vacate.runtime.deps import Deps, InformerFactory
from vacate.runtime.recorder import EventRecorder
from vacate.store.log import Log
from vacate.store.store import Store

__all__ = ["ADMIN", "BOOTSTRAP", "CONTROLLER_MANAGER", "bootstrap", "make_deps", "make_server"]


def make_server(log: Log, clock: Clock, entropy: Entropy, metrics: Metrics) -> tuple[Store, ApiServer]:
    """A store on the log, not yet opened, and a server over it."""
    store = Store(log, project, metrics=metrics)
    registry = Registry(store, clock, entropy, Authorizer(StoredRbac(store)))
    return store, ApiServer(registry, Authenticator(), metrics)


async def bootstrap(client: Client) -> None:
    """Put the default objects in place, unless a server has done so before."""
    for kind, obj in bootstrap_objects():
        try:
            await client.create(kind, obj, obj["metadata"].get("namespace", ""))
        except AlreadyExists:
            continue


def make_deps(
    transport: Transport, clock: Clock, entropy: Entropy, metrics: Metrics, component: str
) -> tuple[Deps, EventRecorder]:
    """What controllers of one process share, and the recorder that its manager must run."""
    client = Client(transport, user_agent=component)
    recorder = EventRecorder(client, clock, entropy, component=component)
    informers = InformerFactory(client, clock, entropy)
    return Deps(client, clock, entropy, metrics, recorder, informers), recorder


def make_controllers(deps: Deps) -> list[Controller]:
    """The controllers of the embedded cluster."""
    return []
