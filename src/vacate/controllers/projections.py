"""Pods and requests cut down to what any controller of Vacate reads, with equal parts held once.

A cluster has many pods and few distinct sets of labels, owners, nodes and phases. What is never looked at is
dropped; the rest is shared, so that a hundred thousand of each fit into little memory.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from vacate.admission.pods.workloads import REGISTERED
from vacate.api.kinds import (
    DEPLOYMENTS,
    EVACUATIONS,
    EVICTIONREQUESTS,
    HORIZONTALPODAUTOSCALERS,
    PODS,
    REPLICASETS,
    STATEFULSETS,
    Kind,
)
from vacate.api.terminationreason import ANNOTATION as TERMINATION_REASON
from vacate.api.terminationreason import SOURCE_ANNOTATION
from vacate.api.types import (
    Deployment,
    HorizontalPodAutoscaler,
    ObjectMeta,
    OwnerReference,
    Pod,
    ReplicaSet,
    StatefulSet,
    Toleration,
    condition,
)
from vacate.api.types.autoscaling import HorizontalPodAutoscalerStatus
from vacate.api.types.core import (
    ClaimSource,
    EvictionInterceptor,
    EvictionResponder,
    PodSpec,
    PodStatus,
    TopologySpread,
    Volume,
)
from vacate.api.types.evictionrequest import (
    ADMITTED_STAMP,
    IGNORED_REGISTRATION,
    PUSHED_BY,
    RETRY,
    SHUTDOWN_DEADLINE,
    SKIP,
    SUPERSEDES,
    EvictionRequest,
    EvictionRequestSpec,
    EvictionRequestStatus,
    EvictionTarget,
    Interceptor,
    LocalPodReference,
    RequestCondition,
    Requester,
)
from vacate.api.types.meta import Condition
from vacate.api.workloads import DELETE_PREPARED
from vacate.cache.reflector import Projection
from vacate.eviction.callers import CALLERS
from vacate.eviction.records.reader import DAEMON_SET, MIRROR
from vacate.eviction.registration import registering
from vacate.eviction.succession import HANDED_OVER, kinds_handed_over
from vacate.kube.deletionorder import DELETION_COST
from vacate.kube.exclusivevolumes import READY_TO_START, has_started
from vacate.kube.nodes import NODE_DOWN
from vacate.kube.podend import BY_POD_GC, DISRUPTION_TARGET, is_given_up
from vacate.kube.spreadcosts import SPREAD_COST
from vacate.kube.surge import DEPLOYMENT_ANNOTATIONS, MARKED

_MAX_INTERNED = 16_384
_KEPT_ANNOTATIONS = (
    ADMITTED_STAMP,
    IGNORED_REGISTRATION,
    CALLERS,
    SHUTDOWN_DEADLINE,
    SUPERSEDES,
    RETRY,
    SKIP,
    PUSHED_BY,
)
_NO_LABELS: dict[str, str] = {}
_NO_OWNERS: list[OwnerReference] = []
_NO_NAMES: list[str] = []
_NO_VOLUMES: list[Volume] = []
_LOCAL_DATA = [Volume(empty_dir={})]
_NO_GATES: list[dict[str, str]] = []
_NO_TOLERATIONS: list[Toleration] = []
_NO_INTERCEPTORS: list[EvictionInterceptor] = []
_NO_RESPONDERS: list[EvictionResponder] = []
_IN_GROUP: dict[str, Any] = {"podGroupName": "*"}  # in which one, nobody asks
_NO_CONDITIONS: list[Condition] = []
_NO_CONSTRAINTS: list[TopologySpread] = []


def project_pod(pod: Pod) -> Pod:
    """Who and where the pod is, whether it is going, and what budgets see of it."""
    return Pod(
        metadata=_pod_meta(pod.metadata),
        spec=_spec(
            pod.spec.node_name,
            pod.spec.priority,
            any(volume.empty_dir is not None for volume in pod.spec.volumes),
            _daemon_tolerations(pod),
            tuple(pod.claims),
            tuple(gate.get("name", "") for gate in pod.spec.scheduling_gates),
            tuple(one.name for one in pod.spec.eviction_interceptors),
            tuple((one.topology_key, one.when_unsatisfiable) for one in pod.spec.topology_spread_constraints),
            tuple((one.name, one.priority) for one in pod.spec.eviction_responders),
            bool(pod.spec.scheduling_group),
        ),
        status=_status(
            pod.status.phase,
            kinds_handed_over(pod),
            _says_node_down(pod),
            pod.status.phase in ("", "Pending") and bool(pod.spec.node_name) and has_started(pod),
            is_given_up(pod),
            pod.status.phase == "Running" and not pod.ready,
        ),
    )


def project_request(request: EvictionRequest) -> EvictionRequest:
    """All that the process depends on, and the conditions of others, which travel along in patches.

    Finalizers matter only where they name requesters, and where they keep what was deleted.
    """
    meta = _request_meta(request.metadata)
    if request.kind is EVACUATIONS or request.metadata.deletion_timestamp is not None:
        meta = replace(meta, finalizers=request.metadata.finalizers)
    return type(request)(
        metadata=meta, spec=_request_spec(request.spec, meta.name), status=_request_status(request.status)
    )


@lru_cache(_MAX_INTERNED)
def shared(text: str) -> str:
    """One string for all that are equal, as long as they are not too many."""
    return text


@lru_cache(_MAX_INTERNED)
def _labels(pairs: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return dict(pairs)


@lru_cache(_MAX_INTERNED)
def _owner(version: str, kind: str, name: str, uid: str) -> list[OwnerReference]:
    return [OwnerReference(api_version=version, kind=kind, name=name, uid=uid, controller=True)]


def _daemon_tolerations(pod: Pod) -> tuple[Toleration, ...]:
    """Only of pods that return to a cordoned node does anybody ask which taints they tolerate."""
    owner = pod.metadata.controller
    return tuple(pod.spec.tolerations) if owner is not None and owner.kind == DAEMON_SET else ()


@lru_cache(_MAX_INTERNED)
def _spec(
    node: str,
    priority: int | None,
    local_data: bool,
    tolerations: tuple[Toleration, ...],
    claims: tuple[str, ...],
    gates: tuple[str, ...],
    interceptors: tuple[str, ...],
    spread: tuple[tuple[str, str], ...],
    responders: tuple[tuple[str, int], ...],
    in_group: bool,
) -> PodSpec:
    volumes = _LOCAL_DATA if local_data else _NO_VOLUMES
    if claims:
        claimed = [Volume(persistent_volume_claim=ClaimSource(claim_name=claim)) for claim in claims]
        volumes = [*volumes, *claimed]
    return PodSpec(
        node_name=node,
        priority=priority,
        volumes=volumes,
        tolerations=list(tolerations) if tolerations else _NO_TOLERATIONS,
        scheduling_gates=[{"name": gate} for gate in gates] if gates else _NO_GATES,
        eviction_interceptors=[EvictionInterceptor(name=name) for name in interceptors] or _NO_INTERCEPTORS,
        eviction_responders=[EvictionResponder(name, priority) for name, priority in responders]
        or _NO_RESPONDERS,
        scheduling_group=_IN_GROUP if in_group else None,
        topology_spread_constraints=(
            [TopologySpread(topology_key=key, when_unsatisfiable=when) for key, when in spread]
            if spread
            else _NO_CONSTRAINTS
        ),
    )


@lru_cache
def _status(
    phase: str, handed_over: tuple[Kind, ...], node_down: bool, started: bool, given_up: bool, unready: bool
) -> PodStatus:
    kept = [HANDED_OVER[one] for one in handed_over] + ([NODE_DOWN] if node_down else [])
    kept += [READY_TO_START] if started else []  # also where only a container's status shows it
    conditions = [Condition(type=one, status="True") for one in kept]
    if given_up:
        conditions.append(Condition(type=DISRUPTION_TARGET, status="True", reason=BY_POD_GC))
    if unready:
        conditions.append(Condition(type="Ready", status="False"))  # budgets let it go sooner
    return PodStatus(phase=phase, conditions=conditions or _NO_CONDITIONS)


def _says_node_down(pod: Pod) -> bool:
    found = condition(pod.status.conditions, NODE_DOWN) if pod.status.conditions else None
    return found is not None and found.status == "True"


def _pod_annotations(annotations: dict[str, str]) -> dict[str, str]:
    """Whether a node made the pod, and who is registered on it: few distinct values, so they are shared."""
    kept = registering(annotations)
    if MIRROR in annotations:
        kept[MIRROR] = "true"
    for key in (REGISTERED, MARKED, DELETION_COST, SPREAD_COST, TERMINATION_REASON, SOURCE_ANNOTATION):
        if key in annotations:
            kept[key] = annotations[key]
    return _labels(tuple(kept.items())) if kept else _NO_LABELS


def project_deployment(deployment: Deployment) -> Deployment:
    """Everything but the template."""
    return replace(deployment, spec=replace(deployment.spec, template={}))


def project_statefulset(stateful_set: StatefulSet) -> StatefulSet:
    """Everything but the templates."""
    spec = replace(stateful_set.spec, template={}, volume_claim_templates=[])
    return replace(stateful_set, spec=spec)


def project_autoscaler(autoscaler: HorizontalPodAutoscaler) -> HorizontalPodAutoscaler:
    """What is scaled and between which counts; nothing of metrics."""
    spec = replace(autoscaler.spec, metrics=[])
    return replace(autoscaler, spec=spec, status=HorizontalPodAutoscalerStatus())


def project_replicaset(replica_set: ReplicaSet) -> ReplicaSet:
    """Whose it is, and the record of a surge that its Deployment's controller copied to it."""
    meta = replica_set.metadata
    owner = meta.controller
    names = (*DEPLOYMENT_ANNOTATIONS, DELETE_PREPARED)
    kept = {name: meta.annotations[name] for name in names if name in meta.annotations}
    kept = kept or _NO_LABELS
    return ReplicaSet(
        metadata=ObjectMeta(
            name=meta.name,
            namespace=shared(meta.namespace),
            uid=meta.uid,
            resource_version=meta.resource_version,
            annotations=kept,
            owner_references=(
                _owner(owner.api_version, owner.kind, owner.name, owner.uid) if owner else _NO_OWNERS
            ),
            deletion_timestamp=meta.deletion_timestamp,
        )
    )


def _pod_meta(meta: ObjectMeta) -> ObjectMeta:
    owner = meta.controller
    return ObjectMeta(
        name=meta.name,
        namespace=shared(meta.namespace),
        uid=meta.uid,
        resource_version=meta.resource_version,
        labels=_labels(tuple(meta.labels.items())) if meta.labels else _NO_LABELS,
        annotations=_pod_annotations(meta.annotations) if meta.annotations else _NO_LABELS,
        owner_references=(
            _owner(owner.api_version, owner.kind, owner.name, owner.uid) if owner else _NO_OWNERS
        ),
        finalizers=meta.finalizers or _NO_NAMES,
        deletion_timestamp=meta.deletion_timestamp,
    )


def _request_meta(meta: ObjectMeta) -> ObjectMeta:
    kept = tuple((key, meta.annotations[key]) for key in _KEPT_ANNOTATIONS if key in meta.annotations)
    return ObjectMeta(
        name=meta.name,
        namespace=shared(meta.namespace),
        uid=meta.uid,
        resource_version=meta.resource_version,
        labels=_NO_LABELS,
        annotations=_labels(kept) if kept else _NO_LABELS,
        owner_references=_NO_OWNERS,
        finalizers=_NO_NAMES,
        creation_timestamp=meta.creation_timestamp,
        deletion_timestamp=meta.deletion_timestamp,
    )


@lru_cache(_MAX_INTERNED)
def _requesters(names: tuple[str, ...]) -> list[Requester]:
    return [Requester(name=name) for name in names]


@lru_cache(_MAX_INTERNED)
def _interceptors(names: tuple[str, ...]) -> list[Interceptor]:
    return [Interceptor(name=name) for name in names]


@lru_cache
def _number(value: int) -> int:
    return value


def _request_spec(spec: EvictionRequestSpec, name: str) -> EvictionRequestSpec:
    ref = spec.target.pod_ref
    if ref is not None:
        ref = LocalPodReference(name=ref.name, uid=name if ref.uid == name else ref.uid)
    return EvictionRequestSpec(
        type=shared(spec.type),
        target=EvictionTarget(pod_ref=ref),
        requesters=_requesters(tuple(one.name for one in spec.requesters)),
        interceptors=_interceptors(tuple(one.name for one in spec.interceptors)),
        heartbeat_deadline_seconds=_number(spec.heartbeat_deadline_seconds),
    )


def _request_status(status: EvictionRequestStatus) -> EvictionRequestStatus:
    active, policy = status.active_interceptor_name, status.eviction_request_cancellation_policy
    return replace(
        status,
        conditions=[_condition(one, status.heartbeat_time) for one in status.conditions],
        message=shared(status.message),
        active_interceptor_name=None if active is None else shared(active),
        eviction_request_cancellation_policy=None if policy is None else shared(policy),
    )


def _condition(one: RequestCondition, heartbeat: dt.datetime | None) -> RequestCondition:
    since = one.last_transition_time
    return RequestCondition(
        type=shared(one.type),
        status=shared(one.status),
        observed_generation=one.observed_generation,
        last_transition_time=heartbeat if since == heartbeat else since,
        reason=shared(one.reason),
        message=shared(one.message),
    )


PROJECTIONS: Mapping[str, Projection[Any]] = {
    PODS.resource: project_pod,
    EVICTIONREQUESTS.resource: project_request,
    DEPLOYMENTS.resource: project_deployment,
    REPLICASETS.resource: project_replicaset,
    STATEFULSETS.resource: project_statefulset,
    EVACUATIONS.resource: project_request,
    HORIZONTALPODAUTOSCALERS.resource: project_autoscaler,
}
"""By resource; a controller that reads another field of these kinds adds it to the projection."""
