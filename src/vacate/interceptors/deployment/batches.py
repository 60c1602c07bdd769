"""Deployments without a surge whose pods are evicted in batches of maxUnavailable. Pure.

By opt-in alone: the pods go before their replacements come, and budgets still have the last word.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence

from vacate.api.types import Deployment, Pod
from vacate.interceptors.decision import Decision, Wait
from vacate.interceptors.deployment.decision import WaitState, is_overdue, limit_of
from vacate.kube.availability import is_available
from vacate.kube.deletionorder import is_active
from vacate.kube.evictionbatches import unavailable_limit
from vacate.kube.surge import is_rolling_out
from vacate.sdk.values import Declined, Finished
from vacate.views.phrases import counted


def decide_batch(
    deployment: Deployment,
    uid: str,
    pods: Sequence[Pod],
    handed_over: Collection[str],
    waited: WaitState,
    now: dt.datetime,
) -> Decision:
    """The decision about the pod of that UID. Pods that were handed over count as gone already."""
    name = deployment.metadata.name
    if is_rolling_out(deployment):
        if is_overdue(waited.rolling_since, deployment, now):
            return Declined(f"a rollout of Deployment {name} is in progress and does not end")
        return Wait(f"Waiting for the rollout of Deployment {name} to end.")
    limit, wait = unavailable_limit(deployment), deployment.spec.min_ready_seconds
    staying = [pod for pod in pods if is_active(pod) and pod.metadata.uid not in (*handed_over, uid)]
    available = sum(is_available(pod, wait, now) for pod in staying)
    if available >= deployment.spec.replicas - limit:
        return Finished(f"Deployment {name} may have {counted(limit, 'unavailable pod')}.")
    wanted = deployment.spec.replicas
    counts = f"{available} other pods of Deployment {name} are available, and {wanted - limit} must be"
    if is_overdue(waited.unchanged_since, deployment, now):
        seconds = limit_of(deployment)
        return Declined(f"{counts}: that has not changed for {seconds} s")
    return Wait(f"Waiting for the next batch: {counts}.")
