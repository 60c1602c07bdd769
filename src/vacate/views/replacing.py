"""What lets the Deployment of a pod start a replacement before the pod goes: remedies with commands."""

from __future__ import annotations

import json
from typing import Any

from vacate.api.types.apps import Deployment
from vacate.api.types.autoscaling import HorizontalPodAutoscaler
from vacate.api.types.core import Pod
from vacate.api.workloads import DEPLOYMENT_INTERCEPTOR, OPT_IN, TEMPLATE_HASH
from vacate.eviction.registration import registered_names, registering_part
from vacate.kube.minreplicas import unsupported_floor
from vacate.kube.surge import surge_limit, unsupported
from vacate.kube.workloads import Workload, is_at_most
from vacate.views.model import Remedy
from vacate.views.phrases import command_line

FIRST = "start a replacement first"


def deployment_name(pod: Pod) -> str:
    """The Deployment of a pod, as its ReplicaSet is named; empty for pods of others."""
    owner = pod.metadata.controller
    stem, _, hash_ = owner.name.rpartition("-") if owner is not None else ("", "", "")
    if owner is None or owner.kind != "ReplicaSet" or hash_ != pod.metadata.labels.get(TEMPLATE_HASH):
        return ""
    return stem


def interceptors_on(pod: Pod) -> set[str]:
    """The interceptors that the pod names."""
    return {*registered_names(registering_part(pod)), *(one.name for one in pod.spec.eviction_interceptors)}


def start_first(pod: Pod, workload: Workload | None = None) -> Remedy | None:
    """What lets the Deployment of a pod start replacements first: its opt-in, with all that this needs.

    None where nothing is left to be done, where no change would help, and for pods of others. Of a workload
    that was not read, only what the pod itself shows is known.
    """
    name, namespace = deployment_name(pod), pod.metadata.namespace
    registered = DEPLOYMENT_INTERCEPTOR in interceptors_on(pod)
    if not name:
        return None
    if workload is None:
        return None if registered else Remedy(FIRST, _annotate(name, namespace))
    deployment = workload.deployment
    if deployment is None or len(workload.autoscalers) > 1:
        return None
    annotated = deployment.metadata.annotations.get(OPT_IN, "")
    opted_in = registered or annotated.lower() == "true"
    if workload.autoscaler is not None:
        return _by_autoscaler(deployment, workload.autoscaler, opted_in=opted_in)
    if unsupported(deployment):
        return _with_surge(deployment, opted_in=opted_in)
    return None if opted_in else Remedy(FIRST, _annotate(name, namespace, overwrite=bool(annotated)))


def patch_command(kind: str, name: str, namespace: str, change: dict[str, Any]) -> str:
    """A command that changes an object by a merge patch."""
    text = json.dumps(change, separators=(",", ":"))
    return command_line("kubectl", "patch", kind, name, "-n", namespace, "--type", "merge", "-p", text)


def _annotate(name: str, namespace: str, *, overwrite: bool = False) -> str:
    words = "annotate", "deployment", name, f"{OPT_IN}=true", "-n", namespace
    return command_line("kubectl", *words, *(("--overwrite",) if overwrite else ()))


def _with_surge(deployment: Deployment, *, opted_in: bool) -> Remedy | None:
    """One change for both, where the strategy would start pods first but for its maxSurge."""
    spec, meta = deployment.spec, deployment.metadata
    fits = spec.strategy.type == "RollingUpdate" and meta.deletion_timestamp is None and spec.replicas > 0
    if not fits or surge_limit(deployment, spec.replicas) > 0:
        return None
    change: dict[str, Any] = {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 1}}}}
    if not opted_in:
        change = {"metadata": {"annotations": {OPT_IN: "true"}}, **change}
    return Remedy(
        f"{FIRST}, which needs a maxSurge of 1",
        patch_command("deployment", meta.name, meta.namespace, change),
    )


def _by_autoscaler(
    deployment: Deployment, autoscaler: HorizontalPodAutoscaler, *, opted_in: bool
) -> Remedy | None:
    meta, scaler, most = deployment.metadata, autoscaler.metadata, autoscaler.spec.max_replicas
    if unsupported_floor(autoscaler, deployment):
        return None
    annotated = bool(meta.annotations.get(OPT_IN))
    annotate = "" if opted_in else _annotate(meta.name, meta.namespace, overwrite=annotated)
    if not is_at_most(deployment, autoscaler):
        return Remedy(FIRST, annotate) if annotate else None
    raise_it = patch_command("hpa", scaler.name, scaler.namespace, {"spec": {"maxReplicas": most + 1}})
    return Remedy(
        f"{FIRST}, which needs a maxReplicas of {most + 1}", " && ".join(filter(None, (raise_it, annotate)))
    )
