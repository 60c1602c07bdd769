"""Vacate's own interceptors as controllers, a row each for each API, with what they need to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, LIFECYCLE_EVICTIONS, Kind
from vacate.api.policyrules import CORE, READ, Rule, rule
from vacate.interceptors.autoscaler.interceptor import build as autoscaler_interceptor
from vacate.interceptors.autoscaler.interceptor import build_evacuator as autoscaler_evacuator
from vacate.interceptors.deployment.interceptor import build as deployment_interceptor
from vacate.interceptors.deployment.interceptor import build_evacuator as deployment_evacuator
from vacate.interceptors.replicaset.interceptor import build as replicaset_interceptor
from vacate.interceptors.replicaset.interceptor import build_evacuator as replicaset_evacuator
from vacate.interceptors.statefulset.interceptor import build as statefulset_interceptor
from vacate.interceptors.statefulset.interceptor import build_evacuator as statefulset_evacuator
from vacate.runtime.controller import Controller
from vacate.runtime.dependencies import Deps
from vacate.wiring.components import ControllerDescriptor

Build = Callable[[Deps], Controller]

READ_EVICTIONS = rule("list watch", LIFECYCLE_EVICTIONS.group, LIFECYCLE_EVICTIONS.plural)
"""One pod is evicted once, whichever of the APIs requests that."""

READ_AUTOSCALERS = rule("list watch", "autoscaling", "horizontalpodautoscalers")

_BUDGETS = rule("list watch", "policy", "poddisruptionbudgets")
"""A surge that does not come is given up only where the pod can be evicted without."""

_MOVING = (rule("list watch", "apps", "deployments replicasets"), READ_AUTOSCALERS, _BUDGETS)


@dataclass(frozen=True, slots=True)
class _Workload:
    """One kind of workload: what has its turn in EvictionRequests, and what in Evacuations."""

    interceptor: str
    evacuator: str
    gate: str
    intercepts: Build
    evacuates: Build
    rules: tuple[Rule, ...]


_WORKLOADS = (
    _Workload(
        "deployment.apps.k8s.io",
        "deployment-evacuator",
        "DeploymentInterceptor",
        deployment_interceptor,
        deployment_evacuator,
        _MOVING,
    ),
    _Workload(
        "horizontalpodautoscaler.autoscaling.k8s.io",
        "horizontalpodautoscaler-evacuator",
        "HorizontalPodAutoscalerInterceptor",
        autoscaler_interceptor,
        autoscaler_evacuator,
        _MOVING,
    ),
    _Workload(
        "replicaset.apps.k8s.io",
        "replicaset-evacuator",
        "ReplicaSetInterceptor",
        replicaset_interceptor,
        replicaset_evacuator,
        (
            rule(READ, "apps", "deployments"),
            rule("list watch", "apps", "replicasets"),
            rule(READ, "autoscaling", "horizontalpodautoscalers"),
        ),
    ),
    _Workload(
        "statefulset.apps.k8s.io",
        "statefulset-evacuator",
        "StatefulSetInterceptor",
        statefulset_interceptor,
        statefulset_evacuator,
        (
            # Members stand in one queue, whichever API requests their evictions.
            *(rule(READ, kind.group, kind.plural) for kind in (EVICTIONREQUESTS, EVACUATIONS)),
            READ_EVICTIONS,
            rule("list watch", "apps", "statefulsets"),
        ),
    ),
)


def _row(name: str, build: Build, kind: Kind, workload: _Workload) -> ControllerDescriptor:
    turns = (
        rule(READ, kind.group, kind.plural),
        rule("patch", kind.group, f"{kind.plural}/status"),
        rule(READ, CORE, "pods"),
    )
    return ControllerDescriptor(
        name, build, gate=workload.gate, kinds=(kind,), rules=(*turns, *workload.rules)
    )


INTERCEPTORS: Sequence[ControllerDescriptor] = (
    *(_row(one.interceptor, one.intercepts, EVICTIONREQUESTS, one) for one in _WORKLOADS),
    *(_row(one.evacuator, one.evacuates, EVACUATIONS, one) for one in _WORKLOADS),
)
"""Every interceptor of the product."""
