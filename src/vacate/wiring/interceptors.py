"""Vacate's own interceptors as controllers, a row each for each API, with what they need to run."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, LIFECYCLE_EVICTIONS
from vacate.api.policyrules import CORE, READ, rule
from vacate.interceptors.autoscaler.interceptor import build as autoscaler_interceptor
from vacate.interceptors.autoscaler.interceptor import build_evacuator as autoscaler_evacuator
from vacate.interceptors.deployment.interceptor import build as deployment_interceptor
from vacate.interceptors.deployment.interceptor import build_evacuator as deployment_evacuator
from vacate.interceptors.replicaset.interceptor import build as replicaset_interceptor
from vacate.interceptors.replicaset.interceptor import build_evacuator as replicaset_evacuator
from vacate.interceptors.statefulset.interceptor import build as statefulset_interceptor
from vacate.interceptors.statefulset.interceptor import build_evacuator as statefulset_evacuator
from vacate.wiring.components import ControllerDescriptor

READ_EVICTIONS = rule("list watch", LIFECYCLE_EVICTIONS.group, LIFECYCLE_EVICTIONS.plural)
"""One pod is evicted once, whichever of the APIs requests that."""

READ_AUTOSCALERS = rule("list watch", "autoscaling", "horizontalpodautoscalers")

_INTERCEPTING = (
    rule(READ, EVICTIONREQUESTS.group, EVICTIONREQUESTS.plural),
    rule("patch", EVICTIONREQUESTS.group, f"{EVICTIONREQUESTS.plural}/status"),
    rule(READ, CORE, "pods"),
)

_EVACUATING = (
    rule(READ, EVACUATIONS.group, EVACUATIONS.plural),
    rule("patch", EVACUATIONS.group, f"{EVACUATIONS.plural}/status"),
    rule(READ, CORE, "pods"),
)

_BUDGETS = rule("list watch", "policy", "poddisruptionbudgets")
"""A surge that does not come is given up only where the pod can be evicted without."""

_MOVING = (rule("list watch", "apps", "deployments replicasets"), READ_AUTOSCALERS, _BUDGETS)

INTERCEPTORS: Sequence[ControllerDescriptor] = (
    ControllerDescriptor(
        "deployment.apps.k8s.io",
        deployment_interceptor,
        gate="DeploymentInterceptor",
        kinds=(EVICTIONREQUESTS,),
        rules=(
            *_INTERCEPTING,
            rule("list watch", "apps", "deployments replicasets"),
            READ_AUTOSCALERS,
            _BUDGETS,
        ),
    ),
    ControllerDescriptor(
        "horizontalpodautoscaler.autoscaling.k8s.io",
        autoscaler_interceptor,
        gate="HorizontalPodAutoscalerInterceptor",
        kinds=(EVICTIONREQUESTS,),
        rules=(
            *_INTERCEPTING,
            rule("list watch", "apps", "deployments replicasets"),
            READ_AUTOSCALERS,
            _BUDGETS,
        ),
    ),
    ControllerDescriptor(
        "replicaset.apps.k8s.io",
        replicaset_interceptor,
        gate="ReplicaSetInterceptor",
        kinds=(EVICTIONREQUESTS,),
        rules=(
            *_INTERCEPTING,
            rule(READ, "apps", "deployments"),
            rule("list watch", "apps", "replicasets"),
            rule(READ, "autoscaling", "horizontalpodautoscalers"),
        ),
    ),
    ControllerDescriptor(
        "statefulset.apps.k8s.io",
        statefulset_interceptor,
        gate="StatefulSetInterceptor",
        kinds=(EVICTIONREQUESTS,),
        rules=(
            *_INTERCEPTING,
            # Members stand in one queue, whichever API requests their evictions.
            rule(READ, EVACUATIONS.group, EVACUATIONS.plural),
            READ_EVICTIONS,
            rule("list watch", "apps", "statefulsets"),
        ),
    ),
    ControllerDescriptor(
        "deployment-evacuator",
        deployment_evacuator,
        gate="DeploymentInterceptor",
        kinds=(EVACUATIONS,),
        rules=(
            *_EVACUATING,
            rule("list watch", "apps", "deployments replicasets"),
            READ_AUTOSCALERS,
            _BUDGETS,
        ),
    ),
    ControllerDescriptor(
        "horizontalpodautoscaler-evacuator",
        autoscaler_evacuator,
        gate="HorizontalPodAutoscalerInterceptor",
        kinds=(EVACUATIONS,),
        rules=(
            *_EVACUATING,
            rule("list watch", "apps", "deployments replicasets"),
            READ_AUTOSCALERS,
            _BUDGETS,
        ),
    ),
    ControllerDescriptor(
        "replicaset-evacuator",
        replicaset_evacuator,
        gate="ReplicaSetInterceptor",
        kinds=(EVACUATIONS,),
        rules=(
            *_EVACUATING,
            rule(READ, "apps", "deployments"),
            rule("list watch", "apps", "replicasets"),
            rule(READ, "autoscaling", "horizontalpodautoscalers"),
        ),
    ),
    ControllerDescriptor(
        "statefulset-evacuator",
        statefulset_evacuator,
        gate="StatefulSetInterceptor",
        kinds=(EVACUATIONS,),
        rules=(
            *_EVACUATING,
            rule(READ, EVICTIONREQUESTS.group, EVICTIONREQUESTS.plural),
            READ_EVICTIONS,
            rule("list watch", "apps", "statefulsets"),
        ),
    ),
)
"""Every interceptor of the product."""
