"""The parts that run beside a server: each with a client, informers and a recorder of its own identity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from vacate.client.client import Client
from vacate.client.transport import Transport
from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.features import FeatureGates
from vacate.metrics import Metrics
from vacate.runtime.controller import Controller
from vacate.runtime.deps import Deps, InformerFactory
from vacate.runtime.manager import Manager
from vacate.runtime.recorder import EventRecorder


@dataclass(frozen=True, slots=True)
class Member:
    """One controller of a part, and the name under which its events speak."""

    component: str
    build: Callable[[Deps], Controller]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every part shares."""

    clock: Clock
    entropy: Entropy
    metrics: Metrics
    gates: FeatureGates = field(default_factory=FeatureGates)


def part_deps(transport: Transport, component: str, around: Surroundings) -> tuple[Deps, EventRecorder]:
    """What the controllers of one part are built from, and the recorder that must run with them."""
    client = Client(transport, user_agent=f"vacate/{component}")
    recorder = _recorder(client, component, around)
    informers = InformerFactory(client, around.clock, around.entropy)
    deps = Deps(client, around.clock, around.entropy, around.metrics, recorder, informers, around.gates)
    return deps, recorder


def part_manager(transport: Transport, name: str, members: Sequence[Member], around: Surroundings) -> Manager:
    """One part: its controllers under one manager, with informers in common and a recorder for each."""
    shared, _ = part_deps(transport, name, around)
    controllers, recorders = [], []
    for member in members:
        recorder = _recorder(shared.client, member.component, around)
        recorders.append(recorder)
        controllers.append(member.build(replace(shared, recorder=recorder)))
    return Manager(shared.informers, controllers, runnables=recorders)


def _recorder(client: Client, component: str, around: Surroundings) -> EventRecorder:
    return EventRecorder(client, around.clock, around.entropy, component=component)
