"""What the interceptor says in a turn: wait, done, or declined. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from vacate.api.kinds import HORIZONTALPODAUTOSCALERS
from vacate.api.times import after
from vacate.api.types import Deployment, HorizontalPodAutoscaler, Pod
from vacate.api.workloads import AUTOSCALER_INTERCEPTOR, REPLICASET_INTERCEPTOR
from vacate.interceptors.decision import Decision, Wait
from vacate.interceptors.deployment.decision import (
    UNPLACED_LIMIT,
    WaitState,
    is_overdue,
    is_unplaced,
    missing_replacement,
    set_back,
    unless_held,
)
from vacate.kube.minreplicas import floor_record_of, is_raised, unsupported_floor
from vacate.kube.surge import is_covered, is_rolling_out
from vacate.sdk.values import Declined, Finished


def order_error(interceptors: Sequence[str]) -> str:
    """Why the order in which the pod lists its interceptors cannot work; empty where it can.

    The last runs first. The ReplicaSet interceptor removes pods, so what replaces them must run before it.
    """
    if REPLICASET_INTERCEPTOR not in interceptors:
        return ""
    if interceptors.index(REPLICASET_INTERCEPTOR) < interceptors.index(AUTOSCALER_INTERCEPTOR):
        return ""
    return (
        f"{AUTOSCALER_INTERCEPTOR} is registered to run after {REPLICASET_INTERCEPTOR}, which removes pods: "
        "give it a higher priority"
    )


def decide(
    autoscalers: Sequence[HorizontalPodAutoscaler],
    deployment: Deployment | None,
    uid: str,
    pods: Sequence[Pod] | None,
    waited: WaitState,
    now: dt.datetime,
    *,
    again: bool = False,
    held: str = "",
) -> Decision:
    """The decision about the pod of that UID. `pods` are the Deployment's, None where they were not read.

    For `again` and `held` see the Deployment's.
    """
    if deployment is None:
        return Declined("the pod belongs to no Deployment")
    name = deployment.metadata.name
    if not autoscalers:
        return Declined(f"no HorizontalPodAutoscaler scales Deployment {name}")
    if len(autoscalers) > 1:
        names = " and ".join(one.metadata.name for one in autoscalers)
        return Declined(
            f"HorizontalPodAutoscalers {names} scale the same Deployment {name}: remove all but one"
        )
    (autoscaler,) = autoscalers
    subject = f"HorizontalPodAutoscaler {autoscaler.metadata.name}"
    if why := unsupported_floor(autoscaler, deployment):
        return Declined(f"{subject}: {why}")
    if why := set_back(HORIZONTALPODAUTOSCALERS, autoscaler.metadata, "minReplicas", waited, again=again):
        return Declined(why)
    record = floor_record_of(autoscaler)
    if record is None or not is_raised(autoscaler, record) or uid not in record.surge.pods:
        return _outside(subject, autoscaler, deployment, waited, now)
    if pods is not None and is_covered(deployment, record.surge, pods, now):
        return Finished("The replacement is available.")
    missing = missing_replacement(deployment, pods)
    if deployment.spec.replicas < record.to_floor:
        missing = f"{subject} has yet to scale Deployment {name} to its minReplicas of {record.to_floor}"
    since = record.surge.pods[uid]
    in_vain = again and now >= after(since, UNPLACED_LIMIT) and is_unplaced(deployment, pods)
    if in_vain or is_overdue(since, deployment, now):
        return unless_held(missing, held)
    return Wait(f"Waiting for the replacement: {missing}")


def _outside(
    subject: str,
    autoscaler: HorizontalPodAutoscaler,
    deployment: Deployment,
    waited: WaitState,
    now: dt.datetime,
) -> Decision:
    name, most = deployment.metadata.name, autoscaler.spec.max_replicas
    record = floor_record_of(autoscaler)
    if record is None and deployment.spec.replicas >= most:
        return Declined(
            f"{subject}: Deployment {name} has all of the maxReplicas of {most} already: raise "
            "spec.maxReplicas by at least 1, so that pods can be replaced before they go"
        )
    if waited.rolling_since is not None and is_rolling_out(deployment):
        if is_overdue(waited.rolling_since, deployment, now):
            return Declined(f"a rollout of Deployment {name} is in progress and does not end")
        return Wait(f"Waiting for the rollout of Deployment {name} to end.")
    return Wait(f"Waiting for a replacement of Deployment {name}: {subject} allows {most} replicas.")
