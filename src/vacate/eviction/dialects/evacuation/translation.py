"""Between Evacuations and the record that all dialects share: the names of fields, and their forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from vacate.api.kinds import EVACUATIONS, Kind
from vacate.api.objects import Obj
from vacate.api.types.evacuation import INSTIGATOR, MAX_NAME_PREFIX, Evacuation, EvacuationSpec, Evacuator
from vacate.api.types.evictionrequest import (
    EvictionRequest,
    EvictionRequestSpec,
    EvictionRequestStatus,
    EvictionTarget,
    Interceptor,
    PodEvictionStatus,
    Requester,
)
from vacate.api.untyped import mapping, maps
from vacate.eviction.dialects.words import phrasing

STATUS_FIELDS: Mapping[str, str] = {
    "activeInterceptorName": "activeEvacuatorClass",
    "activeInterceptorCompleted": "activeEvacuatorCompleted",
    "heartbeatTime": "evacuationProgressTimestamp",
    "expectedInterceptorFinishTime": "expectedEvacuationFinishTime",
    "evictionRequestCancellationPolicy": "evacuationCancellationPolicy",
}
"""From the field of a record's status to that of an Evacuation's."""

COUNTER, _RECORD_COUNTER = "failedEvictionCounter", ("podEvictionStatus", "failedAPIEvictionCounter")
_PATHS = {
    **{f"status.{ours}": f"status.{theirs}" for ours, theirs in STATUS_FIELDS.items()},
    f"status.{'.'.join(_RECORD_COUNTER)}": f"status.{COUNTER}",
    f"status.{_RECORD_COUNTER[0]}": f"status.{COUNTER}",
}


class EvacuationRecord(EvictionRequest, frozen=True):
    """An Evacuation in the shape of an EvictionRequest."""

    kind: ClassVar[Kind] = EVACUATIONS


def evacuation_name(pod_name: str, pod_uid: str) -> str:
    """What the Evacuation of a pod is called.

    No object's name ends with a hyphen or a dot, so neither does one that was cut there.
    """
    cut = pod_name[:MAX_NAME_PREFIX]
    return f"{pod_uid}-{cut if cut == pod_name else cut.rstrip('-.')}"


def instigators(finalizers: Iterable[str]) -> list[str]:
    """Who wants the pod evacuated, by the finalizers of its Evacuation."""
    return [one.removeprefix(INSTIGATOR) for one in finalizers if one.startswith(INSTIGATOR)]


def other_finalizers(finalizers: Iterable[str]) -> list[str]:
    """The finalizers that are no instigators'."""
    return [one for one in finalizers if not one.startswith(INSTIGATOR)]


def record_of(obj: Evacuation) -> EvacuationRecord:
    """The Evacuation as a record."""
    status = obj.status
    refused = status.failed_eviction_counter
    return EvacuationRecord(
        metadata=obj.metadata,
        spec=_record_spec(obj.spec, obj.metadata.finalizers),
        status=EvictionRequestStatus(
            conditions=status.conditions,
            message=status.message,
            active_interceptor_name=status.active_evacuator_class,
            active_interceptor_completed=status.active_evacuator_completed,
            expected_interceptor_finish_time=status.expected_evacuation_finish_time,
            heartbeat_time=status.evacuation_progress_timestamp,
            eviction_request_cancellation_policy=status.evacuation_cancellation_policy,
            pod_eviction_status=PodEvictionStatus(failed_api_eviction_counter=refused) if refused else None,
        ),
    )


def _record_spec(spec: EvacuationSpec, finalizers: Iterable[str]) -> EvictionRequestSpec:
    ordered = sorted(spec.evacuators, key=_turn)
    return EvictionRequestSpec(
        target=EvictionTarget(pod_ref=spec.pod_ref),
        requesters=[Requester(name=name) for name in instigators(finalizers)],
        interceptors=[Interceptor(name=one.evacuator_class) for one in ordered],
        heartbeat_deadline_seconds=spec.progress_deadline_seconds,
    )


def _turn(one: Evacuator) -> tuple[int, str]:
    # The last of a record's list has the first turn, as with annotations that register interceptors.
    return one.priority, one.evacuator_class


def status_patch(patch: Obj) -> Obj:
    """A merge patch of a record's status as one of an Evacuation's."""
    status = {STATUS_FIELDS.get(key, key): value for key, value in mapping(patch.get("status")).items()}
    counted = status.pop(_RECORD_COUNTER[0], None)
    if counted:
        status[COUNTER] = counted[_RECORD_COUNTER[1]]
    return {**patch, "status": status}


def record_object(obj: Obj) -> Obj:
    """An Evacuation's object in the shape of an EvictionRequest's, for the rules that both have."""
    spec, status = mapping(obj.get("spec")), mapping(obj.get("status"))
    theirs = {theirs: ours for ours, theirs in STATUS_FIELDS.items()}
    translated = {theirs.get(key, key): value for key, value in status.items() if key != COUNTER}
    if COUNTER in status:
        translated[_RECORD_COUNTER[0]] = {_RECORD_COUNTER[1]: status[COUNTER]}
    finalizers = mapping(obj.get("metadata")).get("finalizers")
    named = [one for one in finalizers if isinstance(one, str)] if isinstance(finalizers, list) else []
    listed = [one for one in maps(spec.get("evacuators")) if isinstance(one.get("priority"), int)]
    ordered = sorted(listed, key=lambda one: (one["priority"], str(one.get("evacuatorClass"))))
    made: Obj = {
        "target": {"podRef": mapping(spec.get("podRef"))},
        "requesters": [{"name": name} for name in instigators(named)],
        "interceptors": [{"name": str(one.get("evacuatorClass"))} for one in ordered],
    }
    if "progressDeadlineSeconds" in spec:
        made["heartbeatDeadlineSeconds"] = spec["progressDeadlineSeconds"]
    return {**obj, "spec": made, "status": translated}


def evacuation_path(path: str) -> str:
    """The path of a record's field as that of an Evacuation's."""
    return _PATHS.get(path, path)


_TERMS = {
    "interceptor": "evacuator",
    "interceptors": "evacuators",
    "requester": "instigator",
    "requesters": "instigators",
    "eviction request": "evacuation",
    "eviction requests": "evacuations",
    "request": "evacuation",
    "heartbeat": "progress report",
    "heartbeats": "progress reports",
    "heartbeat deadline": "progress deadline",
}
evacuation_text = phrasing(
    _TERMS,
    {
        **{f"status.{ours}": f"status.{theirs}" for ours, theirs in STATUS_FIELDS.items()},
        **STATUS_FIELDS,
        "spec.requesters": "metadata.finalizers",
        "spec.interceptors": "spec.evacuators",
        "heartbeatDeadlineSeconds": "progressDeadlineSeconds",
        "EvictionRequest": "Evacuation",
    },
)
"""A sentence about a record in the words of this API."""
