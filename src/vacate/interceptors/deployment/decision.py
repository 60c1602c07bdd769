"""What the Deployment interceptor says in a turn: wait, done, or declined. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace

from vacate.api.integers import MAX_INT32
from vacate.api.kinds import DEPLOYMENTS, Kind
from vacate.api.times import after
from vacate.api.types import Deployment, HorizontalPodAutoscaler, ObjectMeta, Pod, condition
from vacate.api.workloads import AUTOSCALER_INTERCEPTOR, DEPLOYMENT_INTERCEPTOR
from vacate.interceptors.decision import Decision, Wait
from vacate.kube.deletionorder import is_active
from vacate.kube.minreplicas import floor_record_of, is_raised
from vacate.kube.surge import (
    is_covered,
    is_rolling_out,
    is_settled,
    record_of,
    stands,
    surge_limit,
    unsupported,
)
from vacate.runtime.refusedwrites import WriteRefusal
from vacate.sdk.values import Declined, Finished
from vacate.views.phrases import command_line, counted
from vacate.views.refusals import refusal_of

DEFAULT_LIMIT = 600
"""Seconds that a surge or a rollout may take where the Deployment has no progress deadline."""
UNREADY_LIMIT = 30
"""Seconds without readiness after which no replacement is started before a pod goes: it serves no traffic."""
UNREADY = "the pod is not ready: a replacement before it goes would gain nothing"
UNPLACED_LIMIT = 60
"""Seconds that a replacement may be without a node, or not created, where that was tried in vain before."""
_MAX_GIVE_WAYS = 2
"""So often may someone else change replicas during the surge for one pod; then the pod is evicted without."""


@dataclass(frozen=True, slots=True)
class WaitState:
    """What the turn has seen so far."""

    rolling_since: dt.datetime | None = None
    gave_way: int = 0
    gave_way_before: int | None = None  # as often before the turn
    unchanged_since: dt.datetime | None = None  # the number of pods that hold up the next batch


def seen(
    waited: WaitState, deployment: Deployment, gave_way: int, now: dt.datetime, *, inside: bool
) -> WaitState:
    """After one more look: a rollout that begins or ends, and how often others have ended a surge so far."""
    before = waited.gave_way_before if waited.gave_way_before is not None else gave_way
    rolling = is_rolling_out(deployment) or not is_settled(deployment)
    since = waited.rolling_since or now if rolling and not inside else None
    return replace(waited, gave_way=gave_way - before, gave_way_before=before, rolling_since=since)


def decide(
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

    `again` says that a turn for the pod was declined before: a budget that opens must not wait long for what
    was tried in vain. `held` is what would keep the pod without a replacement, in words.
    """
    if deployment is None:
        return Declined("the pod belongs to no Deployment")
    if why := unsupported(deployment):
        return Declined(f"Deployment {deployment.metadata.name}: {why}")
    if why := set_back(DEPLOYMENTS, deployment.metadata, "replicas", waited, again=again):
        return Declined(why)
    record = record_of(deployment)
    if record is None or not stands(record, deployment) or uid not in record.pods:
        return _outside(deployment, waited, now)
    if pods is not None and is_covered(deployment, record, pods, now):
        return Finished("The replacement is available.")
    missing = missing_replacement(deployment, pods)
    in_vain = again and now >= after(record.pods[uid], UNPLACED_LIMIT) and is_unplaced(deployment, pods)
    if in_vain or is_overdue(record.pods[uid], deployment, now):
        return unless_held(missing, held)
    return Wait(f"Waiting for the replacement: {missing}")


def set_back(kind: Kind, meta: ObjectMeta, field: str, waited: WaitState, *, again: bool) -> str:
    """Why the surge is given up: another program sets the field back each time; empty where it does not.

    After a turn that was declined, once is enough to know that the program still does.
    """
    if waited.gave_way < (1 if again else _MAX_GIVE_WAYS):
        return ""
    words = "get", kind.singular, meta.name, "-n", meta.namespace, "-o", "yaml", "--show-managed-fields"
    show = command_line("kubectl", *words)
    return (
        f"{field} of {kind.kind} {meta.name} is set back by another program during the surge: have it leave "
        f"spec.{field} alone; {show} names it"
    )


def unless_held(missing: str, held: str) -> Decision:
    """A surge that does not come is given up, unless the pod would stay all the same.

    To begin it again and again would change the Deployment without end, and wait no less.
    """
    if held:
        return Wait(
            f"Waiting for the replacement: {missing.rstrip('.')}. It is not given up, because {held}."
        )
    return Declined(f"the replacement did not become available in time: {missing}")


def unless_refused(
    decision: Decision, deployment: Deployment, refusal: WriteRefusal | None, now: dt.datetime
) -> Decision:
    """The decision, or what keeps that from happening which it waits for. As long as a surge may take."""
    if refusal is None or not isinstance(decision, Wait):
        return decision
    name = deployment.metadata.name
    if is_overdue(refusal.since, deployment, now):
        return Declined(f"the API server refuses to have Deployment {name} changed: {refusal.message}")
    remedy = refusal_of(refusal.message).remedy
    return Wait(
        f"The API server refuses to have Deployment {name} changed for a replacement: {refusal.message}. "
        f"To go on: {remedy}."
    )


def is_unready(pod: Pod, now: dt.datetime) -> bool:
    """Whether the pod has not been ready for so long that evicting it costs nothing."""
    found = condition(pod.status.conditions, "Ready")
    if found is None or found.status == "True" or found.last_transition_time is None:
        return False
    return now >= after(found.last_transition_time, UNREADY_LIMIT)


def is_unplaced(deployment: Deployment, pods: Sequence[Pod] | None) -> bool:
    """Whether a pod of the surge cannot be created, or has no node."""
    failure = condition(deployment.status.conditions, "ReplicaFailure")
    if failure is not None and failure.status == "True":
        return True
    placed = [condition(pod.status.conditions, "PodScheduled") for pod in pods or () if is_active(pod)]
    return any(one is not None and one.status == "False" for one in placed)


def left_to_autoscaler(
    deployment: Deployment, autoscaler: HorizontalPodAutoscaler, uid: str, interceptors: Sequence[str]
) -> Declined | Finished:
    """With an autoscaler the count is not ours to raise: it would be set back. The last listed runs first."""
    name, other = deployment.metadata.name, autoscaler.metadata.name
    if interceptors.index(AUTOSCALER_INTERCEPTOR) < interceptors.index(DEPLOYMENT_INTERCEPTOR):
        return Declined(
            f"HorizontalPodAutoscaler {other} scales Deployment {name}: "
            f"the replacement is left to {AUTOSCALER_INTERCEPTOR}"
        )
    record = floor_record_of(autoscaler)
    in_floor = record is not None and is_raised(autoscaler, record) and uid in record.surge.pods
    if in_floor:
        return Finished(f"The replacement is there by way of HorizontalPodAutoscaler {other}.")
    return Declined(
        f"HorizontalPodAutoscaler {other} scales Deployment {name}, "
        f"and {AUTOSCALER_INTERCEPTOR} has had its turn"
    )


def _outside(deployment: Deployment, waited: WaitState, now: dt.datetime) -> Decision:
    name = deployment.metadata.name
    if waited.rolling_since is not None and is_rolling_out(deployment):
        if is_overdue(waited.rolling_since, deployment, now):
            return Declined(f"a rollout of Deployment {name} is in progress and does not end")
        return Wait(f"Waiting for the rollout of Deployment {name} to end.")
    limit = surge_limit(deployment, deployment.spec.replicas)
    return Wait(f"Waiting for a replacement of Deployment {name}: maxSurge allows {limit} at a time.")


def is_overdue(since: dt.datetime | None, deployment: Deployment, now: dt.datetime) -> bool:
    """Whether something has lasted longer than the Deployment's progress may take."""
    return since is not None and now >= after(since, limit_of(deployment))


def limit_of(deployment: Deployment) -> int:
    """Seconds that a surge or a rollout of the Deployment may take."""
    seconds = deployment.spec.progress_deadline_seconds
    return seconds if seconds is not None and 0 < seconds < MAX_INT32 else DEFAULT_LIMIT


def missing_replacement(deployment: Deployment, pods: Sequence[Pod] | None) -> str:
    """What the surge waits for, in the words of those who hold it up."""
    failure = condition(deployment.status.conditions, "ReplicaFailure")
    if failure is not None and failure.status == "True":
        return f"{failure.reason}: {failure.message}"
    for pod in pods or ():
        placed = condition(pod.status.conditions, "PodScheduled")
        if is_active(pod) and placed is not None and placed.status == "False":
            return f"pod {pod.metadata.name} is not scheduled: {placed.message}"
    name, wanted = deployment.metadata.name, counted(deployment.spec.replicas, "pod")
    return f"{deployment.status.available_replicas} of {wanted} of Deployment {name} available"
