"""PURE. What one API for evictions calls the fields and parts that its rules in CEL speak of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CelFields:
    """The names in one API of what all of them have."""

    request: str  # what its objects are, in sentences
    interceptor: str  # what those are who prepare the eviction
    active: str
    completed: str
    heartbeat: str
    expected_finish: str
    refusals: str  # how often the eviction was refused
    policy: str
    deadline: str  # of the spec
    interceptors: str  # of the spec
    name: str  # of one of them
    last_first: bool  # whether the turns go from the end of the list to its beginning


EVICTION_REQUEST_FIELDS = CelFields(
    request="request",
    interceptor="interceptor",
    active="activeInterceptorName",
    completed="activeInterceptorCompleted",
    heartbeat="heartbeatTime",
    expected_finish="expectedInterceptorFinishTime",
    refusals="podEvictionStatus",
    policy="evictionRequestCancellationPolicy",
    deadline="heartbeatDeadlineSeconds",
    interceptors="interceptors",
    name="name",
    last_first=True,
)
EVACUATION_FIELDS = CelFields(
    request="evacuation",
    interceptor="evacuator",
    active="activeEvacuatorClass",
    completed="activeEvacuatorCompleted",
    heartbeat="evacuationProgressTimestamp",
    expected_finish="expectedEvacuationFinishTime",
    refusals="failedEvictionCounter",
    policy="evacuationCancellationPolicy",
    deadline="progressDeadlineSeconds",
    interceptors="evacuators",
    name="evacuatorClass",
    last_first=False,
)
