"""PURE. The Job of one call of a fence agent: how it is made from a PodTemplate, and what its end proves.

The template is the administrator's. Added are the environment that says what is to be done, the rule that
the pod never runs on the node that it fences, and bounds: one pod, one try, a deadline.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vacate.api.objects import Obj, copied, dig
from vacate.api.untyped import mapping, maps, sequence, text
from vacate.errors import ConfigError
from vacate.fencing.agents import Answer, read_answer, unclear

NODE_ENV, UID_ENV, ACTION_ENV = "VACATE_NODE", "VACATE_NODE_UID", "VACATE_ACTION"
NODE_LABEL = "vacate.dev/fencing-node"
"""By a hash of the node's UID, so that the Jobs of a node can be listed."""

CALL = "vacate.dev/fencing-call"
"""Which call the Job carries out: the record of the fence, the node's UID and the action."""

CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
KEPT_SECONDS = 600
"""For how long a Job that has ended can be looked at."""


@dataclass(frozen=True, slots=True)
class JobCall:
    """One call: what is done to which node, in which step of which fence."""

    action: str
    node: str
    uid: str
    step: str  # the record of the fence that asks, or something unique where the call only reads

    @property
    def identity(self) -> str:
        """The call in one line."""
        return f"{self.action} {self.uid} {self.step}"

    @property
    def name(self) -> str:
        """The name of the Job: the same call has the same name, so that it is never carried out twice."""
        return f"fence-{self.action}-{_digest(self.identity)}"

    @property
    def label(self) -> str:
        """What all Jobs of the node have in common."""
        return node_label(self.uid)

    @property
    def environment(self) -> dict[str, str]:
        """The variables that every container has."""
        return {NODE_ENV: self.node, UID_ENV: self.uid, ACTION_ENV: self.action}


def node_label(uid: str) -> str:
    """The value of the label of all Jobs for a node."""
    return _digest(uid)


def make_job(template: Obj, call: JobCall, timeout: int) -> Obj:
    """The Job; ConfigError where the template cannot be used for any."""
    given = mapping(template.get("template"))
    spec = copied(mapping(given.get("spec")))
    source = f"PodTemplate {text(dig(template, 'metadata', 'name'))}"
    if not maps(spec.get("containers")):
        raise ConfigError(f"{source} has no container; write it as template.spec.containers")
    if spec.get("nodeName"):
        raise ConfigError(f"{source}: remove nodeName; the pod must not run on the node that it fences")
    for part in ("containers", "initContainers"):
        for container in maps(spec.get(part)):
            container["env"] = _environment(call, sequence(container.get("env")))
    spec["restartPolicy"] = "Never"
    _keep_away(spec, call.node)
    labels = {**mapping(dig(given, "metadata", "labels")), NODE_LABEL: call.label}
    annotations = {**mapping(dig(given, "metadata", "annotations")), CALL: call.identity}
    marks = {"app.kubernetes.io/managed-by": "vacate", NODE_LABEL: call.label}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": call.name, "labels": marks, "annotations": {CALL: call.identity}},
        "spec": {
            "parallelism": 1,
            "completions": 1,
            "backoffLimit": 0,
            "podReplacementPolicy": "Failed",
            # A pod that waits for a place must not switch a machine off when nobody waits any more.
            "activeDeadlineSeconds": max(timeout, 1),
            "ttlSecondsAfterFinished": KEPT_SECONDS,
            "template": {"metadata": {"labels": labels, "annotations": annotations}, "spec": spec},
        },
    }


def is_of_call(job: Obj, call: JobCall) -> bool:
    """Whether a Job of that name carries out this call, and not another one."""
    if dig(job, "metadata", "annotations", CALL) != call.identity:
        return False
    return _has_environment(dig(job, "spec", "template", "spec"), call)


def is_finished(job: Obj) -> bool:
    """Whether no pod of it runs or will run."""
    return _condition(job, "Complete") is not None or _condition(job, "Failed") is not None


def read_end(job: Obj, pods: Iterable[Obj], call: JobCall) -> Answer | None:
    """What the Job proves; None while it runs. Only a pod that ended well, on another node, proves much."""
    name = text(dig(job, "metadata", "name"))
    if failure := _condition(job, "Failed"):
        return unclear(f"Job {name} failed: {text(failure.get('reason'))} {text(failure.get('message'))}")
    if dig(job, "metadata", "deletionTimestamp"):
        return unclear(f"Job {name} is being deleted")
    if _condition(job, "Complete") is None:
        return None
    mine = [one for one in pods if _is_owned(one, text(dig(job, "metadata", "uid")))]
    if len(mine) != 1:
        return unclear(f"Job {name} is complete and has {len(mine)} pods: their report is not known")
    return _read_pod(mine[0], call)


def is_overdue(job: Obj) -> bool:
    """Whether its time was over before it ended."""
    return mapping(_condition(job, "Failed")).get("reason") == "DeadlineExceeded"


def waiting_for(uid: str, pods: Sequence[Obj]) -> str:
    """Why a Job has not ended, for a message: the first of its pods that says why it waits."""
    for pod in pods:
        if not _is_owned(pod, uid):
            continue
        for one in maps(dig(pod, "status", "conditions")):
            if one.get("status") == "False" and one.get("type") == "PodScheduled":
                return f"its pod has no node: {text(one.get('message'))}"
        for status in maps(dig(pod, "status", "containerStatuses")):
            if reason := text(dig(status, "state", "waiting", "reason")):
                return f"its pod waits: {reason} {text(dig(status, 'state', 'waiting', 'message'))}"
        return f"its pod is {text(dig(pod, 'status', 'phase')) or 'Pending'}"
    return "it has no pod yet"


def _read_pod(pod: Obj, call: JobCall) -> Answer:
    name = text(dig(pod, "metadata", "name"))
    if dig(pod, "spec", "nodeName") == call.node:
        return unclear(f"pod {name} ran on node {call.node}, which it should have fenced")
    if dig(pod, "status", "phase") != "Succeeded" or not _has_environment(pod.get("spec"), call):
        return unclear(f"pod {name} did not carry out {call.action} for node {call.node} and end well")
    first = text(dig(next(iter(maps(dig(pod, "spec", "containers"))), {}), "name"))
    for status in maps(dig(pod, "status", "containerStatuses")):
        if status.get("name") == first:
            message = text(dig(status, "state", "terminated", "message"))
            answer = read_answer(message.encode(), call.node, call.uid)
            return answer if answer.ok else unclear(f"pod {name}: {answer.message}")
    return unclear(f"pod {name} does not say how its container {first} ended")


def _environment(call: JobCall, given: Sequence[Any]) -> list[Any]:
    """Ours first, so that others may refer to it, and nobody's in its place."""
    ours = call.environment
    kept = [one for one in given if mapping(one).get("name") not in ours]
    return [*({"name": key, "value": value} for key, value in ours.items()), *kept]


def _has_environment(spec: Any, call: JobCall) -> bool:
    containers = maps(mapping(spec).get("containers"))
    return bool(containers) and all(
        {one.get("name"): one.get("value") for one in maps(container.get("env"))}.items()
        >= call.environment.items()
        for container in containers
    )


def _keep_away(spec: Obj, node: str) -> None:
    """Terms are alternatives: each of them must exclude the node."""
    away = {"key": "metadata.name", "operator": "NotIn", "values": [node]}
    affinity = spec["affinity"] = dict(mapping(spec.get("affinity")))
    placed = affinity["nodeAffinity"] = dict(mapping(affinity.get("nodeAffinity")))
    rule = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = [dict(one) for one in maps(dig(placed, rule, "nodeSelectorTerms"))]
    # A term without requirements matches no node; with ours it would match all others.
    terms = [one for one in terms if one.get("matchExpressions") or one.get("matchFields")] or [{}]
    for term in terms:
        term["matchFields"] = [*maps(term.get("matchFields")), away]
    placed[rule] = {"nodeSelectorTerms": terms}


def _is_owned(pod: Obj, uid: str) -> bool:
    owners = maps(dig(pod, "metadata", "ownerReferences"))
    return any(one.get("controller") is True and uid and one.get("uid") == uid for one in owners)


def _condition(job: Obj, type_: str) -> Mapping[str, Any] | None:
    found = maps(dig(job, "status", "conditions"))
    return next((one for one in found if one.get("type") == type_ and one.get("status") == "True"), None)


def _digest(given: str) -> str:
    return hashlib.sha256(given.encode()).hexdigest()[:20]
