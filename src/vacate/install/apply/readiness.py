"""Whether an installation works yet, and if not, what is in the way: read off its objects, nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.objects import Obj, dig, name_of
from vacate.api.untyped import has_condition

_MAX_TEXT = 300


def rollout_left(deployment: Obj | None) -> str:
    """What a Deployment still has to do until all its copies are of its newest form and answer."""
    if deployment is None:
        return "is not there"
    status, wanted = deployment.get("status") or {}, int(dig(deployment, "spec", "replicas") or 0)
    if int(status.get("observedGeneration") or 0) < int(deployment["metadata"].get("generation") or 0):
        return "the change has not been seen by its controller yet"
    total, updated, available = (
        int(status.get(key) or 0) for key in ("replicas", "updatedReplicas", "availableReplicas")
    )
    if updated < wanted:
        return f"{updated} of {wanted} copies are of the newest form"
    if total > updated:
        return f"{total - updated} old copies are still there"
    return "" if available >= updated else f"{available} of {updated} copies are available"


def daemons_left(daemon_set: Obj | None) -> str:
    """What a DaemonSet still has to do until each of its nodes has a copy of its newest form that answers."""
    if daemon_set is None:
        return "is not there"
    status = daemon_set.get("status") or {}
    if int(status.get("observedGeneration") or 0) < int(daemon_set["metadata"].get("generation") or 0):
        return "the change has not been seen by its controller yet"
    wanted, updated, available = (
        int(status.get(key) or 0)
        for key in ("desiredNumberScheduled", "updatedNumberScheduled", "numberAvailable")
    )
    if updated < wanted:
        return f"{updated} of {wanted} copies are of the newest form"
    return "" if available >= wanted else f"{available} of {wanted} copies are available"


def authority_left(configuration: Obj | None) -> str:
    """Whether API servers know whom to trust: every webhook of a configuration needs an authority."""
    if configuration is None:
        return "is not there"
    hooks = configuration.get("webhooks") or []
    without = [hook for hook in hooks if not dig(hook, "clientConfig", "caBundle")]
    return f"{len(without)} of {len(hooks)} webhooks have no authority yet" if without else ""


def reason_of(deployment: Obj | None, pods: Sequence[Obj], events: Sequence[Obj]) -> str:
    """Why its copies do not answer, as far as the cluster says it; nothing where it does not."""
    own = [pod for pod in pods if _selected(deployment, pod) and not pod["metadata"].get("deletionTimestamp")]
    for pod in own:
        if not has_condition(pod, "Ready"):
            return _plain(_of_pod(pod, events))
    if deployment is not None and not own:
        return _plain(_creation_failure(deployment, events))
    return ""


def _plain(text: str) -> str:
    """One line for a terminal: what others wrote may have many, and signs that are none."""
    return "".join(sign if sign.isprintable() else " " for sign in text)[:_MAX_TEXT]


def _of_pod(pod: Obj, events: Sequence[Obj]) -> str:
    reason = _waiting(pod) or _unscheduled(pod) or _last_warning(name_of(pod), events)
    return f"pod {name_of(pod)}: {reason or dig(pod, 'status', 'phase') or 'is new'}"


def _creation_failure(deployment: Obj, events: Sequence[Obj]) -> str:
    """No pod could even be made: forbidden, over a quota, or nobody makes any."""
    for one in dig(deployment, "status", "conditions") or []:
        if one.get("type") == "ReplicaFailure" and one.get("status") == "True":
            return str(one.get("message"))
    return _last_warning(f"{name_of(deployment)}-", events) or "it has no pods"


def _waiting(pod: Obj) -> str:
    for container in dig(pod, "status", "containerStatuses") or []:
        if waiting := dig(container, "state", "waiting"):
            reason = ": ".join(filter(None, (waiting.get("reason"), waiting.get("message"))))
            ended = dig(container, "lastState", "terminated") or {}
            code = f", after exit code {ended['exitCode']}" if "exitCode" in ended else ""
            return f"{reason}{code}"
    return ""


def _unscheduled(pod: Obj) -> str:
    for one in dig(pod, "status", "conditions") or []:
        if one.get("type") == "PodScheduled" and one.get("status") == "False":
            return ": ".join(filter(None, (one.get("reason"), one.get("message"))))
    return ""


def _last_warning(beginning: str, events: Sequence[Obj]) -> str:
    """The newest complaint about an object whose name begins so."""
    about = [
        one
        for one in events
        if one.get("type") == "Warning"
        and str(dig(one, "involvedObject", "name") or "").startswith(beginning)
    ]
    newest = max(about, key=_time, default=None)
    return f"{newest.get('reason')}: {newest.get('message')}" if newest is not None else ""


def _time(event: Obj) -> str:
    when = event.get("lastTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp")
    return str(when or "")


def _selected(deployment: Obj | None, pod: Obj) -> bool:
    wanted = dig(deployment or {}, "spec", "selector", "matchLabels") or {}
    return bool(wanted) and wanted.items() <= (pod["metadata"].get("labels") or {}).items()
