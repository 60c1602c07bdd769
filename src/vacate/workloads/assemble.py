"""All that keeps pods moving, put together."""

from __future__ import annotations

from vacate.runtime.controller import Controller
from vacate.runtime.deps import Deps
from vacate.workloads.deployment import controller as deployment
from vacate.workloads.disruption import controller as disruption
from vacate.workloads.disruption import stale
from vacate.workloads.garbagecollector import controller as garbagecollector
from vacate.workloads.namespace import controller as namespace
from vacate.workloads.nodelifecycle import controller as nodelifecycle
from vacate.workloads.nodelifecycle import eviction
from vacate.workloads.replicaset import controller as replicaset
from vacate.workloads.scheduler import controller as scheduler
from vacate.workloads.serviceaccount import controller as serviceaccount

_BUILDERS = (
    serviceaccount.build,
    namespace.build,
    garbagecollector.build,
    deployment.build,
    replicaset.build,
    scheduler.build,
    disruption.build,
    stale.build,
    nodelifecycle.build,
    eviction.build,
)


def build_workloads(deps: Deps) -> list[Controller]:
    """What kube-controller-manager and kube-scheduler do, for the embedded cluster."""
    return [build(deps) for build in _BUILDERS]
