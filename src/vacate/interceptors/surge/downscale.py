"""Pods that an autoscaler has chosen to be scaled down: the count is lowered for them, and nothing is raised.

A request is of this sort when the autoscaler's interceptor is among its requesters.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence

from vacate.api.times import after
from vacate.api.types import Deployment, Pod, ReplicaSet
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.workloads import AUTOSCALER_INTERCEPTOR
from vacate.interceptors.decision import Decision, Wait
from vacate.kube.deletionorder import is_active
from vacate.sdk.values import Declined, Finished

LIMIT = 600
"""Seconds that a turn waits for the scale-down."""


def is_downscale(request: EvictionRequest) -> bool:
    """Whether the pod goes because fewer are wanted, so that no replacement is to be made."""
    return any(one.name == AUTOSCALER_INTERCEPTOR for one in request.spec.requesters)


def decide_deployment(
    deployment: Deployment, chosen: Collection[str], pods: Sequence[Pod], began: dt.datetime, now: dt.datetime
) -> Decision:
    """The turn of the autoscaler: the count of the Deployment is lowered for all pods that were chosen."""
    name, wanted = deployment.metadata.name, deployment.spec.replicas
    others = sum(is_active(pod) and pod.metadata.uid not in chosen for pod in pods)
    if wanted <= others:
        return Finished(f"Deployment {name} is scaled down to {wanted}.")
    if now >= after(began, LIMIT):
        return Declined(f"Deployment {name} was not scaled down within {LIMIT // 60} minutes")
    return Wait(f"Waiting until Deployment {name} is scaled down from {wanted} to {others}.")


def decide_replicasets(
    deployment: Deployment, replica_sets: Sequence[ReplicaSet], began: dt.datetime, now: dt.datetime
) -> Decision:
    """The turn of the Deployment: its ReplicaSets are scaled down too."""
    name, wanted = deployment.metadata.name, deployment.spec.replicas
    found = sum(one.spec.replicas for one in replica_sets)
    if found <= wanted:
        return Finished(f"The ReplicaSets of Deployment {name} are scaled down to {wanted}.")
    if now >= after(began, LIMIT):
        return Declined(f"the ReplicaSets of Deployment {name} were not scaled down to {wanted}")
    return Wait(f"Waiting until the ReplicaSets of Deployment {name} are scaled down to {wanted}.")


def decide_removal(deployment: Deployment, limit: int, began: dt.datetime, now: dt.datetime) -> Decision:
    """The turn of the ReplicaSet while the pod is there; its end ends the turn."""
    name = deployment.metadata.name
    if now >= after(began, limit):
        return Declined(f"the scale-down of Deployment {name} has not removed the pod")
    return Wait(f"Deployment {name} is scaled down and removes the pod.")
