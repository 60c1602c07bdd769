"""The scheduler, the workload controllers and the simulated nodes of an embedded cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from vacate.client.transport import Transport
from vacate.controllers.projections import PROJECTIONS
from vacate.embedded.bootstrap.identities import CONTROLLER_MANAGER, SCHEDULER, controller, node
from vacate.embedded.controllers.daemonset.controller import build as daemonset
from vacate.embedded.controllers.deployment.controller import build as deployment
from vacate.embedded.controllers.disruption.controller import build as disruption
from vacate.embedded.controllers.disruption.stale import build as stale_disruption
from vacate.embedded.controllers.eventexpiry.controller import build as event_expiry
from vacate.embedded.controllers.garbagecollector.controller import build as garbage_collector
from vacate.embedded.controllers.job.controller import build as job
from vacate.embedded.controllers.job.orphans import build as job_orphans
from vacate.embedded.controllers.namespace.controller import build as namespace
from vacate.embedded.controllers.nodelifecycle.controller import build as node_lifecycle
from vacate.embedded.controllers.persistentvolumes.controller import build as persistent_volumes
from vacate.embedded.controllers.podautoscaler.controller import build as podautoscaler
from vacate.embedded.controllers.podgc.controller import build as pod_gc
from vacate.embedded.controllers.replicaset.controller import build as replicaset
from vacate.embedded.controllers.scheduler.controller import build as scheduler
from vacate.embedded.controllers.serviceaccount.controller import build as serviceaccount
from vacate.embedded.controllers.statefulset.controller import build as statefulset
from vacate.embedded.controllers.tainteviction.controller import build as taint_eviction
from vacate.embedded.nodes.nodeobjects import NodeShape
from vacate.embedded.nodes.pool import NodePool
from vacate.embedded.nodes.settings import NodeSettings
from vacate.runtime.manager import Manager
from vacate.wire.message import Peer
from vacate.wiring.components import (
    ComponentContext,
    ControllerDescriptor,
    component_dependencies,
    component_manager,
)
from vacate.wiring.controllers import enabled

SCHEDULERS: Sequence[ControllerDescriptor] = (ControllerDescriptor("default-scheduler", scheduler),)
"""What kube-scheduler runs."""

CONTROLLERS: Sequence[ControllerDescriptor] = (
    ControllerDescriptor("namespace-controller", namespace),
    ControllerDescriptor("service-account-controller", serviceaccount),
    ControllerDescriptor("deployment-controller", deployment),
    ControllerDescriptor("replicaset-controller", replicaset),
    ControllerDescriptor("statefulset-controller", statefulset),
    ControllerDescriptor("daemonset-controller", daemonset),
    ControllerDescriptor("job-controller", job),
    ControllerDescriptor("job-controller", job_orphans),
    ControllerDescriptor("horizontal-pod-autoscaler", podautoscaler),
    ControllerDescriptor("persistentvolume-binder", persistent_volumes),
    ControllerDescriptor("controllermanager", disruption),
    ControllerDescriptor("controllermanager", stale_disruption),
    ControllerDescriptor("garbage-collector-controller", garbage_collector),
    ControllerDescriptor("node-controller", node_lifecycle),
    ControllerDescriptor("taint-eviction-controller", taint_eviction),
    ControllerDescriptor("pod-garbage-collector", pod_gc),
    ControllerDescriptor("event-expiry-controller", event_expiry),
)
"""What kube-controller-manager runs, as far as the embedded cluster has it."""

EVICTION_CONTROLLER = controller("evictionrequest-controller")
"""The identity of Vacate's own controllers."""
HOOKS = controller("eviction-hooks")
"""The identity of the hooks interceptor."""

TransportFor = Callable[[Peer], Transport]
"""Makes a way to the server under an identity."""


class ControlPlane:
    """Everything that keeps pods moving, started and stopped as one."""

    def __init__(
        self,
        transport_for: TransportFor,
        around: ComponentContext,
        shapes: Sequence[NodeShape] = (),
        settings: NodeSettings | None = None,
        *,
        evictions: bool = True,
        hooks: Sequence[ControllerDescriptor] = (),
        shown_by: str = "",
    ) -> None:
        """`shown_by`: the name under which a Lease shows that Vacate's controllers run in here."""
        deps, recorder = component_dependencies(transport_for(node("simulated")), "kubelet", around)
        self.nodes = NodePool(deps, shapes, settings)
        self._managers: list[Manager] = [
            component_manager(transport_for(SCHEDULER), "default-scheduler", SCHEDULERS, around),
            component_manager(transport_for(CONTROLLER_MANAGER), "controller-manager", CONTROLLERS, around),
            self.nodes.manager(recorder),
        ]
        if evictions:
            self._managers.append(
                component_manager(
                    transport_for(EVICTION_CONTROLLER),
                    "vacate-manager",
                    enabled(around.gates),
                    around,
                    PROJECTIONS,
                    shown_by=shown_by,
                )
            )

        if hooks:
            self._managers.append(
                component_manager(transport_for(HOOKS), "vacate-hooks", hooks, around, PROJECTIONS)
            )

    async def wait_ready(self) -> None:
        """Return when every part runs on synced caches and all nodes are registered."""
        for manager in self._managers:
            await manager.wait_ready()
        await self.nodes.wait_registered()

    def not_ready(self) -> str:
        """What is still missing, or nothing: a health check."""
        waiting = sum(1 for manager in self._managers if not manager.ready)
        if waiting:
            return f"{waiting} of {len(self._managers)} parts are still starting"
        return "; ".join(filter(None, (manager.not_ready() for manager in self._managers)))

    async def run(self) -> None:
        """Run all parts until cancelled; the failure of one ends all and is raised."""
        async with asyncio.TaskGroup() as group:
            for manager in self._managers:
                group.create_task(manager.run())
