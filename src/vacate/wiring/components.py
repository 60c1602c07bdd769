"""The parts that run beside a server: each with a client, informers and a recorder of its own identity."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vacate.api.kinds import Kind
from vacate.api.policyrules import Rule
from vacate.cache.reflector import Projection
from vacate.client.client import Client
from vacate.client.transport import Transport
from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.eviction.model import Limits
from vacate.features import FeatureGates
from vacate.httpclient.addresses import Network
from vacate.metrics import Metrics
from vacate.runtime.controller import Controller
from vacate.runtime.dependencies import Dependencies, InformerFactory
from vacate.runtime.leaderelection import LeaderElector, LeaseTimings
from vacate.runtime.manager import Manager
from vacate.runtime.recorder import BUFFER, EventRecorder


@dataclass(frozen=True, slots=True)
class ControllerDescriptor:
    """One controller: the name under which its Events speak, and what it needs to run."""

    component: str
    build: Callable[[Dependencies], Controller]
    gate: str = ""  # the feature gate that must be open; none for those that always run
    kinds: tuple[Kind, ...] = ()  # kinds of our own that must be served
    rules: tuple[Rule, ...] = ()  # rights beyond recording Events

    def is_enabled(self, gates: FeatureGates) -> bool:
        """Whether its gate is open, and those of the kinds that it needs."""
        needed = (self.gate, *(kind.gate for kind in self.kinds))
        return all(gates.enabled(gate) for gate in needed if gate)


@dataclass(frozen=True, slots=True)
class ComponentContext:
    """What every part shares."""

    clock: Clock
    entropy: Entropy
    metrics: Metrics
    gates: FeatureGates = field(default_factory=FeatureGates)
    limits: Limits = field(default_factory=Limits)  # the administrator's, for every eviction request
    fencing_job_namespace: str = ""  # where Jobs of FencingPolicies may run; nowhere where it is empty
    fencing_addresses: tuple[Network, ...] = ()  # see Dependencies
    lifecycle_pause: Callable[[], float] = float  # see Dependencies
    event_buffer: int = BUFFER  # see EventRecorder


def component_dependencies(
    transport: Transport,
    component: str,
    around: ComponentContext,
    projections: Mapping[str, Projection[Any]] | None = None,
) -> tuple[Dependencies, EventRecorder]:
    """What the controllers of one part are built from, and the recorder that must run with them."""
    client = Client(transport, user_agent=f"vacate/{component}")
    recorder = _recorder(client, component, around)
    informers = InformerFactory(
        client,
        around.clock,
        around.entropy,
        projections=projections,
        metrics=around.metrics,
        name=component,
    )
    deps = Dependencies(
        client,
        around.clock,
        around.entropy,
        around.metrics,
        recorder,
        informers,
        around.gates,
        around.limits,
        around.fencing_job_namespace,
        around.fencing_addresses,
        around.lifecycle_pause,
    )
    return deps, recorder


def component_manager(
    transport: Transport,
    name: str,
    members: Sequence[ControllerDescriptor],
    around: ComponentContext,
    projections: Mapping[str, Projection[Any]] | None = None,
    *,
    shown_by: str = "",
) -> Manager:
    """One part: its controllers under one manager, with informers in common and a recorder for each.

    With `shown_by`, a Lease in kube-system that is held under this name shows that the part works.
    """
    shared, _ = component_dependencies(transport, name, around, projections)
    controllers, recorders = component_controllers(shared, members, around)
    elector = _shown(shared.client, name, around, shown_by) if shown_by else None
    return Manager(shared.informers, controllers, runnables=recorders, elector=elector)


def _shown(client: Client, name: str, around: ComponentContext, identity: str) -> LeaderElector:
    """Renewed seldom: it ends with the server that has it, whatever happens."""
    return LeaderElector(
        client,
        around.clock,
        around.entropy,
        around.metrics,
        name=name,
        namespace="kube-system",
        identity=identity,
        timings=LeaseTimings(20.0, 15.0, 5.0),
        contested=False,
    )


def component_controllers(
    shared: Dependencies, members: Sequence[ControllerDescriptor], around: ComponentContext
) -> tuple[list[Controller], list[EventRecorder]]:
    """The controllers of one part, and the recorders that must run with them: one for each component."""
    controllers, recorders = [], []
    for member in members:
        recorder = _recorder(shared.client, member.component, around)
        recorders.append(recorder)
        controllers.append(member.build(replace(shared, recorder=recorder)))
    return controllers, recorders


def _recorder(client: Client, component: str, around: ComponentContext) -> EventRecorder:
    buffer = around.event_buffer
    return EventRecorder(client, around.clock, around.entropy, component=component, buffer=buffer)
