"""Vacate's own interceptors as controllers, a row each for each API, with what they need to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, LIFECYCLE_EVICTIONS
from vacate.api.policyrules import CORE, READ, Rule, rule
from vacate.api.workloads import (
    AUTOSCALER_INTERCEPTOR,
    DEPLOYMENT_INTERCEPTOR,
    REPLICASET_INTERCEPTOR,
    STATEFULSET_INTERCEPTOR,
)
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.interceptors.autoscaler.interceptor import build as autoscaler_interceptor
from vacate.interceptors.deployment.interceptor import build as deployment_interceptor
from vacate.interceptors.replicaset.interceptor import build as replicaset_interceptor
from vacate.interceptors.statefulset.interceptor import build as statefulset_interceptor
from vacate.runtime.controller import Controller
from vacate.wiring.components import ControllerDescriptor

Build = Callable[..., Controller]
"""Of the dependencies and, where it is not that of EvictionRequests, the `dialect`."""

READ_EVICTIONS = rule("list watch", LIFECYCLE_EVICTIONS.group, LIFECYCLE_EVICTIONS.plural)
"""One pod is evicted once, whichever of the APIs requests that."""

READ_AUTOSCALERS = rule("list watch", "autoscaling", "horizontalpodautoscalers")

_BUDGETS = rule("list watch", "policy", "poddisruptionbudgets")
"""A surge that does not come is given up only where the pod can be evicted without."""

_MOVING = (rule("list watch", "apps", "deployments replicasets"), READ_AUTOSCALERS, _BUDGETS)


@dataclass(frozen=True, slots=True)
class _Workload:
    """One kind of workload, and what has its turns in all APIs."""

    interceptor: str
    short: str  # in the names of what has them in the others
    gate: str
    build: Build
    rules: tuple[Rule, ...]


_WORKLOADS = (
    _Workload(
        DEPLOYMENT_INTERCEPTOR,
        "deployment",
        "DeploymentInterceptor",
        deployment_interceptor,
        _MOVING,
    ),
    _Workload(
        AUTOSCALER_INTERCEPTOR,
        "horizontalpodautoscaler",
        "HorizontalPodAutoscalerInterceptor",
        autoscaler_interceptor,
        _MOVING,
    ),
    _Workload(
        REPLICASET_INTERCEPTOR,
        "replicaset",
        "ReplicaSetInterceptor",
        replicaset_interceptor,
        (
            rule(READ, "apps", "deployments"),
            rule("list watch", "apps", "replicasets"),
            rule(READ, "autoscaling", "horizontalpodautoscalers"),
        ),
    ),
    _Workload(
        STATEFULSET_INTERCEPTOR,
        "statefulset",
        "StatefulSetInterceptor",
        statefulset_interceptor,
        (
            # Members stand in one queue, whichever API requests their evictions.
            *(rule(READ, kind.group, kind.plural) for kind in (EVICTIONREQUESTS, EVACUATIONS)),
            READ_EVICTIONS,
            rule("list watch", "apps", "statefulsets"),
        ),
    ),
)


def _row(name: str, dialect: Dialect, workload: _Workload) -> ControllerDescriptor:
    kind = dialect.kind
    turns = (
        rule(READ, kind.group, kind.plural),
        rule("patch", kind.group, f"{kind.plural}/status"),
        rule(READ, CORE, "pods"),
    )
    build = partial(workload.build, dialect=dialect)
    return ControllerDescriptor(
        name, build, gate=workload.gate, kinds=(kind,), rules=(*turns, *workload.rules)
    )


INTERCEPTORS: Sequence[ControllerDescriptor] = (
    *(_row(one.interceptor, EVICTION_REQUEST, one) for one in _WORKLOADS),
    *(_row(f"{one.short}-evacuator", EVACUATION, one) for one in _WORKLOADS),
    *(_row(f"{one.short}-responder", LIFECYCLE, one) for one in _WORKLOADS),
)
"""Every interceptor of the product."""
