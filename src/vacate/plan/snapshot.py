"""What a plan reads of a cluster: one list of each kind, reduced to the fields that a drain depends on.

Everything else is dropped when it is read: values of environment variables, commands, messages, annotations
of others, and images but where they are asked for. So a saved snapshot holds no more than what the plan saw,
and a file that others wrote is reduced to the same fields.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import gzip
import io
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

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
from vacate.api.objects import Obj
from vacate.api.options import ListOptions
from vacate.api.times import format_time, parse_time
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
from vacate.client.client import Client
from vacate.client.codec import codec_for
from vacate.clock import Clock
from vacate.errors import ConfigError, Forbidden, MethodNotAllowed, NotFound, VacateError
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.registry import DIALECT_NAMES, DIALECTS
from vacate.webhook.kinds import MUTATING, VALIDATING
from vacate.wire.message import Request

FORMAT, VERSION = "vacate.dev/plan-snapshot", 1
MAX_BYTES = 256 * 1024 * 1024
"""A snapshot is read up to this size, unpacked."""
PAGE = 500
"""So many objects are held as they were listed; of the others only what is kept."""
MAX_OBJECTS = 200_000
MAX_VALUES = 8_000_000
"""Parsed, a value takes up to two hundred bytes, whatever it takes in the file. An object has about sixty."""
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
_WEBHOOK = ("name", "failurePolicy", "timeoutSeconds", "rules")
_VOLUME_SPEC = (
    "capacity", "accessModes", "claimRef", "nodeAffinity", "storageClassName", "volumeMode",
    "persistentVolumeReclaimPolicy",
)  # fmt: skip


def _only(obj: Any, names: Iterable[str]) -> Obj:
    return {name: obj[name] for name in names if name in obj} if isinstance(obj, dict) else {}


def _each(items: Any, reduce: Callable[[Any], Obj]) -> list[Obj]:
    return [reduce(one) for one in items if isinstance(one, dict)] if isinstance(items, list) else []


def _meta(meta: Any, *, of_template: bool = False) -> Obj:
    kept = _only(meta, ("labels",) if of_template else _META)
    annotations = meta.get("annotations") if isinstance(meta, dict) else None
    if isinstance(annotations, dict):
        chosen = {key: value for key, value in annotations.items() if key.startswith(_KEPT_ANNOTATIONS)}
        kept |= {"annotations": chosen} if chosen else {}
    return kept


def _container(container: Any) -> Obj:
    image = container.get("image")
    kept = {**_only(container, _CONTAINER), "image": image if isinstance(image, str) else IMAGE}
    if isinstance(sleep := _dig(container, "lifecycle", "preStop", "sleep"), dict):
        kept["lifecycle"] = {"preStop": {"sleep": _only(sleep, ("seconds",))}}
    return kept


def _dig(obj: Any, *path: str) -> Any:
    for step in path:
        obj = obj.get(step) if isinstance(obj, dict) else None
    return obj


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
    if isinstance(made := _dig(volume, "ephemeral", "volumeClaimTemplate"), dict):
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
    return _each(_dig(status, "conditions"), lambda one: _only(one, _CONDITION))


def _pod(obj: Obj) -> Obj:
    return {"spec": _pod_spec(obj.get("spec")), "status": _pod_status(obj.get("status"))}


def _node(obj: Obj) -> Obj:
    status = _only(obj.get("status"), ("capacity", "allocatable", "volumesInUse"))
    return {
        "spec": _only(obj.get("spec"), ("unschedulable", "taints")),
        "status": {**status, "conditions": _conditions(obj.get("status"))},
    }


def _workload(obj: Obj) -> Obj:
    spec, template = _only(obj.get("spec"), _WORKLOAD_SPEC), _dig(obj, "spec", "template")
    spec["template"] = {
        "metadata": _meta(_dig(template, "metadata"), of_template=True),
        "spec": _pod_spec(_dig(template, "spec")),
    }
    if claims := _dig(obj, "spec", "volumeClaimTemplates"):
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
    kept["spec"]["requesters"] = _each(_dig(obj, "spec", "requesters"), lambda one: _only(one, ("name",)))
    if (refused := _dig(obj, "status", "podEvictionStatus")) is not None:
        kept["status"]["podEvictionStatus"] = _only(refused, ("failedAPIEvictionCounter",))
    return kept


def _drain(obj: Obj) -> Obj:
    kept = _fields(_DRAIN_SPEC, _DRAIN_STATUS)(obj)
    kept["status"]["nodes"] = _each(_dig(obj, "status", "nodes"), lambda one: _only(one, _NODE_ROW))
    return kept


def _volume(obj: Obj) -> Obj:
    spec = {**_only(obj.get("spec"), _VOLUME_SPEC), "hostPath": {"path": "/not-kept"}}
    if "claimRef" in spec:
        spec["claimRef"] = _only(spec["claimRef"], ("kind", "apiVersion", "namespace", "name", "uid"))
    return {"spec": spec, "status": _only(obj.get("status"), ("phase",))}


def _webhooks(obj: Obj) -> Obj:
    return {"webhooks": _each(obj.get("webhooks"), lambda one: _only(one, _WEBHOOK))}


@dataclass(frozen=True, slots=True)
class _Read:
    """How objects of a kind are read, and what the plan cannot know without them."""

    typed: type[Any]
    reduce: Callable[[Obj], Obj]
    unknown: str = ""


_READS: Mapping[Kind, _Read] = {
    NODES: _Read(Node, _node),
    PODS: _Read(Pod, _pod),
    PODDISRUPTIONBUDGETS: _Read(
        PodDisruptionBudget,
        _fields(_BUDGET_SPEC, _BUDGET_STATUS),
        "which budgets would hold evictions: the drain may block where this says not",
    ),
    DEPLOYMENTS: _Read(Deployment, _workload, "Deployments: which are moved before eviction"),
    REPLICASETS: _Read(ReplicaSet, _workload, "ReplicaSets: their pods are re-created one by one"),
    STATEFULSETS: _Read(StatefulSet, _workload, "StatefulSets: their pods are re-created one by one"),
    DAEMONSETS: _Read(DaemonSet, _workload, "DaemonSets: their pods do not come back"),
    JOBS: _Read(Job, _workload, "Jobs: their pods are re-created one by one"),
    HORIZONTALPODAUTOSCALERS: _Read(
        HorizontalPodAutoscaler,
        _fields(_SCALER_SPEC, _SCALER_STATUS),
        "which workloads are scaled: counts stay as they are",
    ),
    NAMESPACES: _Read(
        Namespace,
        _fields(("finalizers",), ("phase",)),
        "labels of namespaces: opt-ins and affinities by namespace",
    ),
    PERSISTENTVOLUMECLAIMS: _Read(
        PersistentVolumeClaim,
        _fields(_CLAIM_SPEC, ("phase", "accessModes", "capacity")),
        "volumes: where pods can run that have some",
    ),
    PERSISTENTVOLUMES: _Read(PersistentVolume, _volume, "volumes: where pods can run that have some"),
    STORAGECLASSES: _Read(
        StorageClass,
        lambda obj: _only(obj, ("provisioner", "volumeBindingMode", "reclaimPolicy", "allowedTopologies")),
        "how new volumes are bound",
    ),
    PRIORITYCLASSES: _Read(
        PriorityClass,
        lambda obj: _only(obj, ("value", "globalDefault", "preemptionPolicy")),
        "priorities of new pods: they are those of the pods before them",
    ),
    EVICTIONREQUESTS: _Read(EvictionRequest, _request, "evictions that are requested already"),
    NODEMAINTENANCES: _Read(NodeMaintenance, _drain, "other drains, which take turns with this one"),
    VALIDATING: _Read(Namespace, _webhooks, "which webhooks are asked about evictions"),
    MUTATING: _Read(Namespace, _webhooks, "which webhooks are asked about evictions"),
}
KINDS = tuple(_READS)
"""What is read, each with one list. Secrets and ConfigMaps are not."""
WEBHOOKS = (VALIDATING, MUTATING)
"""They are not simulated: only the report on the whole cluster speaks of them."""
_NOT_EVERYWHERE = (EVICTIONREQUESTS, NODEMAINTENANCES, *WEBHOOKS)  # some clusters do not serve them


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A cluster at one moment."""

    taken: dt.datetime
    objects: Mapping[Kind, Sequence[Obj]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)  # by resource that was not read: what is unknown
    changed: int = 0  # objects of later lists that are newer than the first list
    images: bool = False  # whether it has the images of containers
    apis: tuple[str, ...] | None = None  # for evictions, by which the cluster serves; None where unknown

    def of(self, kind: Kind) -> Sequence[Obj]:
        """The objects of a kind."""
        return self.objects.get(kind, ())

    def having(self, kind: Kind, objects: Sequence[Obj]) -> Snapshot:
        """The snapshot with other objects of one kind."""
        return replace(self, objects={**self.objects, kind: objects})


def reduced(kind: Kind, obj: Obj, *, images: bool = False) -> Obj:
    """The object with what a plan needs, and nothing else; a VacateError where it is no such object."""
    read = _READS[kind]
    kept = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": _meta(obj.get("metadata"))}
    kept |= read.reduce(obj)
    if not images:
        _drop_images(kept)
    typed = codec_for(read.typed).convert(kept)
    meta = typed.metadata
    names = (meta.name, meta.namespace) if kind.namespaced else (meta.name,)
    if any(dns1123_subdomain(name) for name in names) or not meta.uid:
        raise ConfigError(f"it has no uid, or no name and namespace as {kind.kind}s have them")
    return kept


def _drop_images(kept: Obj) -> None:
    for spec in (kept.get("spec"), _dig(kept, "spec", "template", "spec")):
        for name in ("containers", "initContainers"):
            for one in _dig(spec, name) or ():
                one["image"] = IMAGE


async def read_snapshot(client: Client, clock: Clock, *, images: bool = False) -> Snapshot:
    """List what a plan needs. Kinds that may not be listed are left out and named, but nodes and pods."""
    taken = clock.now()
    apis = await _served(client)
    objects: dict[Kind, Sequence[Obj]] = {}
    missing: dict[str, str] = {}
    first, changed = 0, 0
    total = 0
    for kind, read in _READS.items():
        found, broken, token = list[Obj](), 0, ""
        try:
            while True:
                page = await client.list(kind, options=ListOptions(limit=PAGE, continue_token=token))
                first = first or _number(page.resource_version)
                for one in page.items:
                    changed += _number(_dig(one, "metadata", "resourceVersion")) > first > 0
                    try:
                        found.append(reduced(kind, one, images=images))
                    except VacateError:
                        broken += 1
                total += len(page.items)
                if total > MAX_OBJECTS:
                    raise ConfigError(f"the cluster has more than {MAX_OBJECTS:,} objects: too many to plan")
                if not (token := page.continue_token):
                    break
        except (Forbidden, NotFound, MethodNotAllowed) as error:
            if not read.unknown:
                raise
            own = kind in (EVICTIONREQUESTS, NODEMAINTENANCES)
            absent = own and apis is not None and EVICTION_REQUEST.name not in apis
            if kind not in _NOT_EVERYWHERE or (isinstance(error, Forbidden) and not absent):
                missing[kind.resource] = read.unknown
            continue
        if broken:
            of = len(found) + broken
            missing[f"{broken} of {of} {kind.resource}"] = "these objects: they cannot be read"
        objects[kind] = found
    return Snapshot(taken, objects, missing, changed, images, apis)


async def _served(client: Client) -> tuple[str, ...] | None:
    """The APIs for evictions that the cluster serves; None for those who may not ask."""
    found = []
    for dialect in DIALECTS.values():
        try:
            await client.send(Request("GET", f"/apis/{dialect.kind.api_version}"))
        except NotFound:
            continue
        except Forbidden:
            return None
        found.append(dialect.name)
    return tuple(found)


def _number(version: Any) -> int:
    """A resource version as one that can be compared; 0 where it cannot be."""
    return int(version) if isinstance(version, str) and version.isascii() and version.isdigit() else 0


def save(snapshot: Snapshot, path: Path) -> None:
    """Write the snapshot, compressed, readable by its owner only."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "taken": format_time(snapshot.taken),
        "changed": snapshot.changed,
        "images": snapshot.images,
        "apis": snapshot.apis,
        "missing": dict(snapshot.missing),
        "objects": {kind.resource: list(found) for kind, found in snapshot.objects.items()},
    }
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            packed.write(orjson.dumps(document))
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error


def load(path: Path) -> Snapshot:
    """Read a snapshot that was saved; a ConfigError where it is damaged, or of another version."""
    body = _content(path)
    if sum(map(body.count, (b"{", b"[", b","))) > MAX_VALUES:
        raise ConfigError(f"{path} has more than {MAX_VALUES:,} values: too many to read")
    document: Any = None
    with contextlib.suppress(orjson.JSONDecodeError, RecursionError):
        document = orjson.loads(body)
    del body
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ConfigError(f"{path} is no snapshot of `vacate plan --save`")
    if document.get("version") != VERSION:
        raise ConfigError(
            f"{path} is a snapshot of version {document.get('version')!r:.20}, and this program reads "
            f"version {VERSION}: save it again with this program"
        )
    try:
        taken = parse_time(document["taken"])
        missing = {str(key): str(value) for key, value in document.get("missing", {}).items()}
        images = document.get("images") is True
        objects = _objects(document["objects"], path, images=images)
    except ConfigError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ConfigError(f"{path} is damaged: {error}") from error
    changed = document.get("changed")
    newer = changed if isinstance(changed, int) and changed > 0 else 0
    served = document.get("apis")
    apis = tuple(one for one in DIALECT_NAMES if one in served) if isinstance(served, list) else None
    return Snapshot(taken, objects, missing, newer, images, apis)


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            source: io.BufferedIOBase = gzip.GzipFile(fileobj=file) if packed else file
            body = source.read(MAX_BYTES + 1)
    except (OSError, EOFError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"{path} cannot be read: {why}") from error
    except Exception as error:  # zlib.error has no base of its own
        raise ConfigError(f"{path} is damaged: {error}") from error
    if len(body) > MAX_BYTES:
        raise ConfigError(f"{path} is larger than {MAX_BYTES >> 20} MiB, unpacked")
    return body


def _objects(given: Any, path: Path, *, images: bool) -> dict[Kind, Sequence[Obj]]:
    by_resource = {kind.resource: kind for kind in KINDS}
    if sum(len(found) for found in given.values()) > MAX_OBJECTS:
        raise ConfigError(f"{path} has more than {MAX_OBJECTS:,} objects")
    objects: dict[Kind, Sequence[Obj]] = {}
    for resource, found in given.items():
        kind = by_resource.get(resource)
        if kind is None:
            raise ConfigError(f"{path} has objects of another kind: {resource!r:.80}")
        kept = []
        for number, one in enumerate(found):
            found[number] = None  # what is reduced is held once
            try:
                kept.append(reduced(kind, one, images=images))
            except (VacateError, TypeError, AttributeError, ValueError) as error:
                raise ConfigError(f"{path} is damaged: {resource}[{number}]: {error}") from error
        if len({(one["metadata"].get("namespace"), one["metadata"]["name"]) for one in kept}) < len(kept):
            raise ConfigError(f"{path} is damaged: {resource} has two objects of one name")
        objects[kind] = kept
    return objects
