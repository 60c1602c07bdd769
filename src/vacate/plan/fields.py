"""What a plan keeps of the objects of each kind: the fields that a drain depends on, each by its name. Pure.

Everything else is dropped when it is read: values of environment variables, commands, messages, annotations
of others, and images but where they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vacate.api.kinds import (
    DAEMONSETS,
    DEPLOYMENTS,
    EVICTIONREQUESTS,
    HORIZONTALPODAUTOSCALERS,
    JOBS,
    NAMESPACES,
    NODEMAINTENANCES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODDISRUPTIONBUDGETS,
    PODS,
    PRIORITYCLASSES,
    REPLICASETS,
    STATEFULSETS,
    STORAGECLASSES,
    Kind,
)
from vacate.api.names import dns1123_subdomain
from vacate.api.objects import Obj, dig
from vacate.api.types import (
    DaemonSet,
    Deployment,
    EvictionRequest,
    HorizontalPodAutoscaler,
    Job,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    StatefulSet,
    StorageClass,
)
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.client.codec import codec_for
from vacate.errors import ConfigError
from vacate.webhook.kinds import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS

IMAGE = "not-kept"
"""What stands for every image, unless images are asked for."""

_KEPT_ANNOTATIONS = (
    "vacate.dev/", "sim.vacate.dev/", "interceptor.evictionrequest.coordination.k8s.io/",
    "evacuation.coordination.k8s.io/", "kubernetes.io/config.mirror",
    "controller.kubernetes.io/pod-deletion-cost", "deployment.kubernetes.io/",
    "pv.kubernetes.io/", "volume.kubernetes.io/", "storageclass.kubernetes.io/is-default-class",
)  # fmt: skip
_META = (
    "name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
    "generation", "labels", "ownerReferences", "finalizers",
)  # fmt: skip
_POD_SPEC = (
    "nodeName", "nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "priority",
    "priorityClassName", "preemptionPolicy", "schedulerName", "schedulingGates", "restartPolicy",
    "terminationGracePeriodSeconds", "hostNetwork", "overhead", "resources", "evictionInterceptors",
    "evictionResponders",
)  # fmt: skip
_CONTAINER = ("name", "resources", "ports", "restartPolicy")
_CONDITION = ("type", "status", "reason", "lastTransitionTime", "observedGeneration")
_STATE = ("startedAt", "finishedAt", "exitCode", "reason")
_CLAIM_SPEC = ("accessModes", "resources", "storageClassName", "volumeMode", "volumeName", "selector")
_WORKLOAD_SPEC = (
    "replicas", "selector", "strategy", "minReadySeconds", "progressDeadlineSeconds", "paused",
    "revisionHistoryLimit", "serviceName", "podManagementPolicy", "updateStrategy",
    "persistentVolumeClaimRetentionPolicy", "ordinals", "parallelism", "completions", "backoffLimit",
    "backoffLimitPerIndex", "maxFailedIndexes", "activeDeadlineSeconds", "ttlSecondsAfterFinished",
    "completionMode", "suspend", "podFailurePolicy", "podReplacementPolicy", "successPolicy", "managedBy",
    "manualSelector",
)  # fmt: skip
_WORKLOAD_STATUS = (
    "observedGeneration", "replicas", "readyReplicas", "availableReplicas", "unavailableReplicas",
    "updatedReplicas", "fullyLabeledReplicas", "terminatingReplicas", "currentReplicas", "currentRevision",
    "updateRevision", "collisionCount", "currentNumberScheduled", "numberMisscheduled", "numberReady",
    "desiredNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "active",
    "succeeded", "failed", "ready", "terminating", "startTime", "completionTime", "completedIndexes",
    "failedIndexes", "uncountedTerminatedPods",
)  # fmt: skip
_BUDGET_SPEC = ("minAvailable", "maxUnavailable", "selector", "unhealthyPodEvictionPolicy")
_BUDGET_STATUS = (
    "observedGeneration", "disruptedPods", "disruptionsAllowed", "currentHealthy", "desiredHealthy",
    "expectedPods",
)  # fmt: skip
_SCALER_SPEC = ("scaleTargetRef", "minReplicas", "maxReplicas", "metrics", "behavior")
_SCALER_STATUS = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")
_REQUEST_SPEC = ("type", "target", "requesters", "interceptors", "heartbeatDeadlineSeconds")
_REQUEST_STATUS = (
    "observedGeneration", "activeInterceptorName", "activeInterceptorCompleted", "heartbeatTime",
    "expectedInterceptorFinishTime", "evictionRequestCancellationPolicy",
)  # fmt: skip
_DRAIN_SPEC = (
    "nodes", "nodeSelector", "stage", "pods", "order", "maxNodes", "topologyKey", "cordon", "deadlineSeconds",
    "onDeadline", "requestKind", "heartbeatDeadlineSeconds",
)  # fmt: skip
_DRAIN_STATUS = ("observedGeneration", "phase", "nodesTotal", "nodesDrained", "podsTotal", "podsEvicted")
_NODE_ROW = (
    "name", "uid", "phase", "podsTotal", "podsEvicted", "podsIgnored", "podsForced", "forcedPods", "percent",
    "startTime", "deadlineTime", "drainedTime",
)  # fmt: skip
_WEBHOOK = ("name", "failurePolicy", "timeoutSeconds")
_RULE = ("operations", "apiGroups", "resources")
_VOLUME_SPEC = (
    "capacity", "accessModes", "claimRef", "nodeAffinity", "storageClassName", "volumeMode",
    "persistentVolumeReclaimPolicy",
)  # fmt: skip


def _only(obj: Any, names: Iterable[str]) -> Obj:
    found = {name: obj[name] for name in names if name in obj} if isinstance(obj, dict) else {}
    return {name: _without_nulls(value) for name, value in found.items() if value is not None}


def _without_nulls(value: Any) -> Any:
    """The value without nulls: they say nothing, an API server returns none, and no reader expects any."""
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [_without_nulls(one) for one in value if one is not None]
    return value


def _each(items: Any, reduce: Callable[[Any], Obj]) -> list[Obj]:
    return [reduce(one) for one in items if isinstance(one, dict)] if isinstance(items, list) else []


def _meta(meta: Any, *, of_template: bool = False) -> Obj:
    kept = _only(meta, ("labels",) if of_template else _META)
    annotations = meta.get("annotations") if isinstance(meta, dict) else None
    if isinstance(annotations, dict):
        chosen = _only(annotations, [key for key in annotations if key.startswith(_KEPT_ANNOTATIONS)])
        kept |= {"annotations": chosen} if chosen else {}
    return kept


def _container(container: Any) -> Obj:
    image = container.get("image")
    kept = {**_only(container, _CONTAINER), "image": image if isinstance(image, str) else IMAGE}
    if isinstance(sleep := dig(container, "lifecycle", "preStop", "sleep"), dict):
        kept["lifecycle"] = {"preStop": {"sleep": _only(sleep, ("seconds",))}}
    return kept


def _pod_spec(spec: Any) -> Obj:
    kept = _only(spec, _POD_SPEC)
    for name in ("containers", "initContainers"):
        if isinstance(spec, dict) and spec.get(name):
            kept[name] = _each(spec[name], _container)
    volumes = _each(spec.get("volumes"), _pod_volume) if isinstance(spec, dict) else []
    if kept_volumes := [one for one in volumes if len(one) > 1]:
        kept["volumes"] = kept_volumes
    return kept


def _pod_volume(volume: Any) -> Obj:
    kept = _only(volume, ("name",))
    for name, fields in (("emptyDir", ("medium", "sizeLimit")), ("persistentVolumeClaim", ("claimName",))):
        if isinstance(source := volume.get(name), dict):
            kept[name] = _only(source, fields)
    if isinstance(made := dig(volume, "ephemeral", "volumeClaimTemplate"), dict):
        kept["ephemeral"] = {"volumeClaimTemplate": _claim_template(made)}
    return kept


def _claim_template(template: Any) -> Obj:
    meta = template.get("metadata")
    named = _only(meta, ("name",)) | _meta(meta, of_template=True)
    return {"metadata": named, "spec": _only(template.get("spec"), _CLAIM_SPEC)}


def _container_status(status: Any) -> Obj:
    kept = _only(status, ("name", "ready", "restartCount", "started"))
    state = status.get("state")
    if isinstance(state, dict):
        kept["state"] = {name: _only(one, _STATE) for name, one in state.items()}
    return {**kept, "image": IMAGE, "imageID": ""}


def _pod_status(status: Any) -> Obj:
    kept = _only(status, ("phase", "reason", "startTime", "qosClass", "nominatedNodeName"))
    if not isinstance(status, dict):
        return kept
    kept["conditions"] = _conditions(status)
    for name in ("containerStatuses", "initContainerStatuses"):
        if status.get(name):
            kept[name] = _each(status[name], _container_status)
    return kept


def _conditions(status: Any) -> list[Obj]:
    return _each(dig(status, "conditions"), lambda one: _only(one, _CONDITION))


def _pod(obj: Obj) -> Obj:
    return {"spec": _pod_spec(obj.get("spec")), "status": _pod_status(obj.get("status"))}


def _node(obj: Obj) -> Obj:
    status = _only(obj.get("status"), ("capacity", "allocatable", "volumesInUse"))
    return {
        "spec": _only(obj.get("spec"), ("unschedulable", "taints")),
        "status": {**status, "conditions": _conditions(obj.get("status"))},
    }


def _workload(obj: Obj) -> Obj:
    spec, template = _only(obj.get("spec"), _WORKLOAD_SPEC), dig(obj, "spec", "template")
    spec["template"] = {
        "metadata": _meta(dig(template, "metadata"), of_template=True),
        "spec": _pod_spec(dig(template, "spec")),
    }
    if claims := dig(obj, "spec", "volumeClaimTemplates"):
        spec["volumeClaimTemplates"] = _each(claims, _claim_template)
    return {"spec": spec, "status": _status(obj, _WORKLOAD_STATUS)}


def _status(obj: Obj, names: Sequence[str]) -> Obj:
    """These fields of a status, and its conditions."""
    kept, conditions = _only(obj.get("status"), names), _conditions(obj.get("status"))
    return kept | ({"conditions": conditions} if conditions else {})


def _fields(spec: Sequence[str], status: Sequence[str]) -> Callable[[Obj], Obj]:
    """What keeps these fields, and the conditions of the status."""
    return lambda obj: {"spec": _only(obj.get("spec"), spec), "status": _status(obj, status)}


def _request(obj: Obj) -> Obj:
    kept = _fields(_REQUEST_SPEC, _REQUEST_STATUS)(obj)
    kept["spec"]["requesters"] = _each(dig(obj, "spec", "requesters"), lambda one: _only(one, ("name",)))
    if (refused := dig(obj, "status", "podEvictionStatus")) is not None:
        kept["status"]["podEvictionStatus"] = _only(refused, ("failedAPIEvictionCounter",))
    return kept


def _drain(obj: Obj) -> Obj:
    kept = _fields(_DRAIN_SPEC, _DRAIN_STATUS)(obj)
    kept["status"]["nodes"] = _each(dig(obj, "status", "nodes"), lambda one: _only(one, _NODE_ROW))
    return kept


def _volume(obj: Obj) -> Obj:
    spec = {**_only(obj.get("spec"), _VOLUME_SPEC), "hostPath": {"path": "/not-kept"}}
    if "claimRef" in spec:
        spec["claimRef"] = _only(spec["claimRef"], ("kind", "apiVersion", "namespace", "name", "uid"))
    return {"spec": spec, "status": _only(obj.get("status"), ("phase",))}


def _webhooks(obj: Obj) -> Obj:
    return {"webhooks": _each(obj.get("webhooks"), _webhook)}


def _webhook(one: Any) -> Obj:
    rules = _each(one.get("rules"), lambda rule: {name: _texts(rule.get(name)) for name in _RULE})
    return {**_only(one, _WEBHOOK), "rules": rules}


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


@dataclass(frozen=True, slots=True)
class Read:
    """How objects of a kind are read, and what the plan cannot know without them."""

    typed: type[Any]
    reduce: Callable[[Obj], Obj]
    unknown: str = ""


READS: Mapping[Kind, Read] = {
    NODES: Read(Node, _node),
    PODS: Read(Pod, _pod),
    PODDISRUPTIONBUDGETS: Read(
        PodDisruptionBudget,
        _fields(_BUDGET_SPEC, _BUDGET_STATUS),
        "which budgets would hold evictions: the drain may block where this says not",
    ),
    DEPLOYMENTS: Read(Deployment, _workload, "Deployments: which are moved before eviction"),
    REPLICASETS: Read(ReplicaSet, _workload, "ReplicaSets: their pods are re-created one by one"),
    STATEFULSETS: Read(StatefulSet, _workload, "StatefulSets: their pods are re-created one by one"),
    DAEMONSETS: Read(DaemonSet, _workload, "DaemonSets: their pods do not come back"),
    JOBS: Read(Job, _workload, "Jobs: their pods are re-created one by one"),
    HORIZONTALPODAUTOSCALERS: Read(
        HorizontalPodAutoscaler,
        _fields(_SCALER_SPEC, _SCALER_STATUS),
        "which workloads are scaled: counts stay as they are",
    ),
    NAMESPACES: Read(
        Namespace,
        _fields(("finalizers",), ("phase",)),
        "labels of namespaces: opt-ins and affinities by namespace",
    ),
    PERSISTENTVOLUMECLAIMS: Read(
        PersistentVolumeClaim,
        _fields(_CLAIM_SPEC, ("phase", "accessModes", "capacity")),
        "volumes: where pods can run that have some",
    ),
    PERSISTENTVOLUMES: Read(PersistentVolume, _volume, "volumes: where pods can run that have some"),
    STORAGECLASSES: Read(
        StorageClass,
        lambda obj: _only(obj, ("provisioner", "volumeBindingMode", "reclaimPolicy", "allowedTopologies")),
        "how new volumes are bound",
    ),
    PRIORITYCLASSES: Read(
        PriorityClass,
        lambda obj: _only(obj, ("value", "globalDefault", "preemptionPolicy")),
        "priorities of new pods: they are those of the pods before them",
    ),
    EVICTIONREQUESTS: Read(EvictionRequest, _request, "evictions that are requested already"),
    NODEMAINTENANCES: Read(NodeMaintenance, _drain, "other drains, which take turns with this one"),
    VALIDATING_WEBHOOKS: Read(Namespace, _webhooks, "which webhooks are asked about evictions"),
    MUTATING_WEBHOOKS: Read(Namespace, _webhooks, "which webhooks are asked about evictions"),
}
KINDS = tuple(READS)
"""What is read, each with one list. Secrets and ConfigMaps are not."""
WEBHOOKS = (VALIDATING_WEBHOOKS, MUTATING_WEBHOOKS)
"""They are not simulated: only the report on the whole cluster speaks of them."""
NOT_EVERYWHERE = (EVICTIONREQUESTS, NODEMAINTENANCES, *WEBHOOKS)  # some clusters do not serve them


def reduced(kind: Kind, obj: Obj, *, images: bool = False) -> Obj:
    """The object with what a plan needs, and nothing else; a VacateError where it is no such object."""
    read = READS[kind]
    kept = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": _meta(obj.get("metadata"))}
    kept |= read.reduce(obj)
    if not images:
        _drop_images(kept)
    typed = codec_for(read.typed).convert(kept)
    meta = typed.metadata
    names = (meta.name, meta.namespace) if kind.namespaced else (meta.name,)
    if any(dns1123_subdomain(name) for name in names) or not meta.uid:
        raise ConfigError(f"it has no uid, or no name and namespace as {kind.several} have them")
    if not all(one.kind and one.name and one.uid for one in meta.owner_references):
        raise ConfigError("it has an owner without kind, name or uid")
    return kept


def _drop_images(kept: Obj) -> None:
    for spec in (kept.get("spec"), dig(kept, "spec", "template", "spec")):
        for name in ("containers", "initContainers"):
            for one in dig(spec, name) or ():
                one["image"] = IMAGE
