"""Vacate's controllers as a process of their own, for any cluster: what `vacate manager` runs."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from vacate.api.identity import split_service_account
from vacate.api.installednames import LIFECYCLE_CONTROLLER, MANAGER, OWN_LIFECYCLE_CONTROLLER
from vacate.api.kinds import Kind
from vacate.api.options import ListOptions
from vacate.client.access import own_user
from vacate.client.client import Client
from vacate.client.serverclock import DatedTransport, ServerClock
from vacate.client.transport import Transport
from vacate.controllers.lifecycle.givingway import GivingWay
from vacate.controllers.projections import PROJECTIONS
from vacate.errors import ApiError, Forbidden, NotFound, TransportError, VacateError
from vacate.eviction.dialects.lifecycle.othercontroller import LifecycleController
from vacate.eviction.model import Limits
from vacate.features import FeatureGates
from vacate.httpclient.addresses import Network
from vacate.runtime.deniedrights import DeniedRights
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.leaderelection import LeaderElector, LeaseTimings
from vacate.runtime.leaderwrites import LeaderTransport
from vacate.runtime.manager import Manager, Runnable
from vacate.runtime.ratelimit import RateLimit, RateLimitedTransport
from vacate.wiring.components import (
    ComponentContext,
    ControllerDescriptor,
    component_controllers,
    component_dependencies,
)
from vacate.wiring.controllers import LIFECYCLE_CONTROLLERS, enabled, rules

_FIRST_PAUSE, _MAX_PAUSE = 1.0, 30.0
_REPORT_SECONDS = 5.0  # between two looks at what a candidate has to report

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ManagerSettings:
    """What a person may choose."""

    gates: FeatureGates = field(default_factory=FeatureGates)
    leader_elect: bool = True  # off where only one process can ever run; it shows its Lease all the same
    lease_namespace: str = "kube-system"
    timings: LeaseTimings = field(default_factory=LeaseTimings)
    identity: str = ""  # of this process among the candidates; made up where it is empty
    pace: RateLimit = field(default_factory=RateLimit)
    limits: Limits = field(default_factory=Limits)
    fencing_job_namespace: str = ""  # where Jobs of FencingPolicies may run; nowhere where it is empty
    fencing_addresses: tuple[Network, ...] = ()  # see Dependencies
    lifecycle: LifecycleController = LifecycleController.AUTO


class ManagerParts:
    """The controllers with their caches, their lease and their fence over one transport.

    Reads go through at any time, so that a candidate is ready to take over; writes only while this process
    leads. Everything but the lease is rate limited: a manager that waits must not lose the lease for it.
    """

    def __init__(
        self,
        transport: Transport,
        around: ComponentContext,
        settings: ManagerSettings,
        controllers: Sequence[ControllerDescriptor] | None = None,
        component: str = MANAGER,
    ) -> None:
        """Of these controllers; without any given, of all whose gates are open."""
        self._component = component
        self._namespace = settings.lease_namespace
        self._clock = around.clock
        server_clock = ServerClock(around.clock, around.metrics)
        rows = enabled(settings.gates) if controllers is None else tuple(controllers)
        off = settings.lifecycle is LifecycleController.OFF
        self._rows = tuple(one for one in rows if not off or one.component not in LIFECYCLE_CONTROLLERS)
        self._denied = DeniedRights(DatedTransport(transport, server_clock), rules(self._rows))
        transport = self._denied
        self._client = Client(transport, user_agent=f"vacate/{component}")
        self._missing: str | None = "the API server has not answered yet"
        self._elector = self._candidate(replace(around, clock=server_clock), settings)
        elects = settings.leader_elect
        fenced = LeaderTransport(transport, lambda: self._elector.seconds_left) if elects else transport
        paced = RateLimitedTransport(fenced, around.clock, settings.pace, around.metrics)
        around = replace(
            around,
            clock=server_clock,
            limits=settings.limits,
            fencing_job_namespace=settings.fencing_job_namespace,
            fencing_addresses=settings.fencing_addresses,
            lifecycle_pause=lambda: self._giving_way.pause if self._giving_way is not None else 0.0,
        )
        self._giving_way: GivingWay | None = None
        self._deps, recorder = component_dependencies(paced, component, around, PROJECTIONS)
        running, runnables = component_controllers(self._deps, self._rows, around)
        served = any(one.component in LIFECYCLE_CONTROLLERS for one in self._rows)
        watching: list[Runnable] = [*runnables]
        if served and settings.lifecycle is LifecycleController.AUTO:
            self._giving_way = GivingWay(
                self._deps.informers,
                server_clock,
                recorder,
                lambda: self._elector.leading,
                lambda: self._elector.annotations,
            )
            watching += [recorder, self._giving_way]
        self._manager = Manager(self._deps.informers, running, runnables=watching, elector=self._elector)
        if served:
            notes = self._elector.notes
            self._elector.notes = lambda: {**notes(), **self._lifecycle_notes()}

    @property
    def enabled(self) -> bool:
        """Whether there is anything to do: with all gates closed the manager stands idle."""
        return bool(self._rows)

    @property
    def leading(self) -> bool:
        """Whether this process works, and not another one."""
        return self._manager.ready

    def _lifecycle_notes(self) -> dict[str, str]:
        if self._giving_way is None:
            return {LIFECYCLE_CONTROLLER: OWN_LIFECYCLE_CONTROLLER}
        return self._giving_way.annotations()

    def remark(self) -> str:
        """What readers of a health check should know, though nothing is missing."""
        other = self._giving_way.other if self._giving_way is not None else ""
        return f"Evictions of lifecycle.k8s.io are left to {other}" if other else ""

    @property
    def lifecycle_controller(self) -> str:
        """Who works on lifecycle.k8s.io, as the Lease says."""
        other = self._giving_way.other if self._giving_way is not None else ""
        return other or OWN_LIFECYCLE_CONTROLLER

    def not_ready(self) -> str:
        """What is still missing, or nothing: a health check. Who waits for the lease only is ready."""
        if not self.enabled:
            return ""
        found = (self._held_up(), self._deps.informers.stalled(), self._elector.not_ready())
        return next(filter(None, found), "")

    async def run(self) -> None:
        """Run until cancelled, and then give the lease back. Raises when the lease is lost."""
        if not self.enabled:
            log.info("the feature gates of all controllers are closed: nothing to run")
            await asyncio.get_running_loop().create_future()
        reporting = asyncio.get_running_loop().create_task(self._report(), name="report")
        try:
            await self._wait_for_api()
            await self._manager.run()
        finally:
            reporting.cancel()
            await asyncio.wait([reporting])

    def _held_up(self) -> str:
        """What keeps the controllers from work, or from a part of it."""
        return self._missing or self._denied.text() or _unsynced(self._deps)

    async def _report(self) -> None:
        """Until this process leads, write what holds it up where users look for a manager that works."""
        while True:
            await self._clock.sleep(_REPORT_SECONDS)
            if self._held_up() and not self._manager.ready:
                await self._elector.report()

    def _candidate(self, around: ComponentContext, settings: ManagerSettings) -> LeaderElector:
        return LeaderElector(
            self._client,
            around.clock,
            around.entropy,
            around.metrics,
            name=self._component,
            namespace=settings.lease_namespace,
            identity=settings.identity or f"{socket.gethostname()}_{around.entropy.uid()}",
            timings=settings.timings,
            trouble=self._held_up,
            contested=settings.leader_elect,
        )

    async def _wait_for_api(self) -> None:
        """Return once our own kinds can be read; say what is in the way, and try ever more patiently."""
        pause = _FIRST_PAUSE
        while (trouble := await self._try_api()) is not None:
            if trouble != self._missing:
                log.warning("waiting: %s", trouble)
            self._missing = trouble
            await self._clock.sleep(pause)
            pause = min(2 * pause, _MAX_PAUSE)
        self._missing = None

    async def _try_api(self) -> str | None:
        for kind in dict.fromkeys(kind for row in self._rows for kind in row.kinds):
            try:
                await self._client.list(kind, options=ListOptions(limit=1))
            except (ApiError, TransportError) as error:
                return _in_the_way(kind, error)
        return await self._misplaced()

    async def _misplaced(self) -> str | None:
        """That the account is of another namespace than the rest of the installation expects.

        Tools that change the namespace of rendered objects do not change the accounts that admission policies
        name: these would confine nobody, and nothing would say so.
        """
        try:
            account = split_service_account(await own_user(self._client))
        except ApiError:
            return None  # an older API server, which does not say who calls
        except TransportError as error:
            return str(error)
        if account is None or account[1] != self._component or account[0] == self._namespace:
            return None
        return (
            f"this process runs as service account {account[1]} of namespace {account[0]}, and was rendered "
            f"for namespace {self._namespace}, whose accounts the policies name: they do not apply. "
            "Render the objects for that namespace: "
            f"vacate install --namespace {account[0]} --print --image IMAGE"
        )


def _in_the_way(kind: Kind, error: VacateError) -> str:
    if isinstance(error, NotFound):
        remedy = (
            "install it with vacate install"
            if kind.custom
            else f"open its feature gate and version at the API server, or close {kind.gate} of Vacate"
        )
        return f"the cluster does not serve {kind.resource}: {remedy}"
    if isinstance(error, Forbidden):
        return f"this process may not read {kind.resource}: {error}"
    return str(error)


def _unsynced(deps: Dependencies) -> str:
    waiting = [one for one in deps.informers.all() if not one.reader.synced]
    return "; ".join(
        f"{one.kind.resource} are not read yet" + (f": {one.trouble}" if one.trouble else "")
        for one in waiting
    )
