"""The Job of a turn, made from the template of a CronJob. Pure.

The CronJob is an object of the pod's namespace, and its author may run pods there: nothing runs that could
not run without this interceptor. Its author marks it as a hook; an annotation of a pod starts no other one.
"""

from __future__ import annotations

import copy
import datetime as dt
from typing import Any

from vacate.api.kinds import CRONJOBS, JOBS
from vacate.api.objects import Obj, dig, name_of
from vacate.api.times import format_time
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.untyped import mapping, maps
from vacate.interceptors.hooks.annotations import HookRefused
from vacate.interceptors.hooks.names import JOB_POD, JOB_REQUEST, JOB_SOURCE, TEMPLATE

KEPT_SECONDS = 3600
"""How long a finished Job is kept for those who want to read its logs, where its template does not say."""


def job_name(request: EvictionRequest) -> str:
    """The same for the whole turn, also after a restart of this process: there is never a second Job."""
    return f"eviction-hook-{request.metadata.uid}"


def job_from(
    cron_job: Obj, pod: Pod, request: EvictionRequest, *, reason: str, now: dt.datetime, deadline: dt.datetime
) -> Obj:
    """The Job; HookRefused where the CronJob is not meant to be a hook."""
    name = name_of(cron_job)
    if mapping(dig(cron_job, "metadata", "labels")).get(TEMPLATE) != "true":
        raise HookRefused(f"CronJob {name} is not marked as a hook; its author labels it {TEMPLATE}=true")
    template = mapping(dig(cron_job, "spec", "jobTemplate"))
    spec: dict[str, Any] = copy.deepcopy(mapping(template.get("spec")))
    left = max(1, int((deadline - now).total_seconds()))
    own = spec.get("activeDeadlineSeconds")
    spec["activeDeadlineSeconds"] = min(own, left) if isinstance(own, int) and own > 0 else left
    spec.setdefault("ttlSecondsAfterFinished", KEPT_SECONDS)
    _add_environment(spec, pod, reason, deadline)
    meta = mapping(template.get("metadata"))
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {
            "name": job_name(request),
            "namespace": pod.metadata.namespace,
            "labels": {**mapping(meta.get("labels")), JOB_REQUEST: request.metadata.uid},
            "annotations": {
                **mapping(meta.get("annotations")),
                # As kubectl create job --from=cronjob/NAME has it.
                "cronjob.kubernetes.io/instantiate": "manual",
                JOB_SOURCE: f"{request.kind.singular}/{request.metadata.name}",
                JOB_POD: pod.metadata.name,
            },
            # No controller: the CronJob neither counts it among its own, nor removes it from their history.
            "ownerReferences": [
                {
                    "apiVersion": CRONJOBS.api_version,
                    "kind": CRONJOBS.kind,
                    "name": name,
                    "uid": str(dig(cron_job, "metadata", "uid") or ""),
                }
            ],
        },
        "spec": spec,
    }


def _add_environment(spec: dict[str, Any], pod: Pod, reason: str, deadline: dt.datetime) -> None:
    """Each container learns which pod it is about; variables that the template sets itself stay."""
    known = {
        "VACATE_POD_NAMESPACE": pod.metadata.namespace,
        "VACATE_POD_NAME": pod.metadata.name,
        "VACATE_POD_UID": pod.metadata.uid,
        "VACATE_NODE_NAME": pod.spec.node_name,
        "VACATE_REASON": reason,
        "VACATE_DEADLINE": format_time(deadline),
    }
    pod_spec = mapping(dig(spec, "template", "spec"))
    for container in (*maps(pod_spec.get("initContainers")), *maps(pod_spec.get("containers"))):
        given = maps(container.get("env"))
        names = {one.get("name") for one in given}
        added = [{"name": name, "value": value} for name, value in known.items() if name not in names]
        container["env"] = [*added, *given]
