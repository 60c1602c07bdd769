"""The rows of `vacate status`: one request each, in the words that an admin looks for. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vacate.api.durations import human_duration
from vacate.api.kinds import LIFECYCLE_REQUESTS
from vacate.api.objectidentity import Identity
from vacate.api.text import plain
from vacate.api.types.evictionrequest import ADMITTED_STAMP, COMPLETE, PROGRESSING, EvictionRequest
from vacate.api.types.meta import condition
from vacate.api.types.policy import PodDisruptionBudget
from vacate.api.types.readable import UNREADABLE
from vacate.eviction.model import Stage
from vacate.eviction.pins import pin_of
from vacate.eviction.records.reader import assigned, has_responded, shown_stage
from vacate.views.budgets import budgets_named_in, covering
from vacate.views.phrases import NOTHING, counted
from vacate.views.refusals import refusal_of

NAMESPACE = "NAMESPACE"
HEADER = (
    "POD", "STAGE", "ACTIVE", "SINCE", "ETA", "HEARTBEAT", "BLOCKED BY", "AGE", "REQUESTERS", "MESSAGE"
)  # fmt: skip
WIDE_HEADER = (*HEADER[:-1], "REFUSALS", "REQUEST", HEADER[-1])
PENDING = "Pending"
"""What is shown in place of the stage where a process has not begun."""
_OVER = (Stage.COMPLETE, Stage.CANCELLED, Stage.SUPERSEDED)


@dataclass(frozen=True, slots=True)
class Row:
    """One request at a glance."""

    namespace: str
    pod: str
    stage: str
    active: str
    since: str
    eta: str
    heartbeat: str
    blocked_by: str
    age: str
    requesters: str = NOTHING
    message: str = NOTHING
    refusals: str = NOTHING
    request: str = NOTHING

    def cells(self, *, namespace: bool, wide: bool = False) -> tuple[str, ...]:
        """The row's texts, in the order of `header_of`."""
        own = (
            self.pod, self.stage, self.active, self.since, self.eta, self.heartbeat, self.blocked_by,
            self.age, self.requesters, *((self.refusals, self.request) if wide else ()), self.message,
        )  # fmt: skip
        return (self.namespace, *own) if namespace else own


def header_of(*, namespace: bool, wide: bool = False) -> tuple[str, ...]:
    """The titles of the columns."""
    own = WIDE_HEADER if wide else HEADER
    return (NAMESPACE, *own) if namespace else own


def row_of(request: EvictionRequest, budgets: Sequence[PodDisruptionBudget], now: dt.datetime) -> Row:
    """The request as it stands."""
    stage, status = shown_stage(request), request.status
    active = (status.active_interceptor_name or "") if stage is Stage.INTERCEPTING else ""
    return Row(
        namespace=request.metadata.namespace,
        pod=pod_of(request),
        stage=PENDING if request.kind == LIFECYCLE_REQUESTS and not request.complete else stage.value,
        active=active or NOTHING,
        since=_span(unchanged_since(request), now),
        eta=_eta(request, now) if active else NOTHING,
        heartbeat=_heartbeat(request, now) if active else NOTHING,
        blocked_by=_blocked_by(request, stage, budgets, now),
        age=_span(request.metadata.creation_timestamp, now),
        requesters=", ".join(one.name for one in request.spec.requesters) or NOTHING,
        message=plain(status.message) or NOTHING,
        refusals=_refusals(request),
        request=request.metadata.name,
    )


def unreadable_row(request: Identity, pod: str) -> Row:
    """A request that cannot be decoded, of which nothing more is known."""
    return Row(request.namespace, pod or NOTHING, UNREADABLE, *(NOTHING,) * 6, request=request.name)


def rows_of(
    requests: Iterable[EvictionRequest], budgets: Sequence[PodDisruptionBudget], now: dt.datetime
) -> list[Row]:
    """All of them, those that still go on first, then by namespace and pod."""
    ordered = sorted(requests, key=lambda one: (one.complete, one.metadata.namespace, pod_of(one)))
    return [row_of(one, budgets, now) for one in ordered]


def refusal_notes(requests: Iterable[EvictionRequest]) -> list[str]:
    """What helps where a webhook, a policy or a missing right refuses evictions: one line for each."""
    found: dict[str, list[str]] = {}
    for one in requests:
        by = refusal_of(one.status.message) if shown_stage(one) is Stage.BLOCKED else None
        if by is not None and by.name:
            found.setdefault(by.remedy, []).append(pod_of(one))
    return [f"Evictions of {counted(len(pods), 'pod')} are refused: {text}." for text, pods in found.items()]


def pod_of(request: EvictionRequest) -> str:
    """The name of the pod that the request is about."""
    return request.pod_name or NOTHING


def unchanged_since(request: EvictionRequest) -> dt.datetime | None:
    """Since when it stands as it does: the turn, the stage, or the end."""
    stage, conditions = shown_stage(request), request.status.conditions
    if stage is Stage.INTERCEPTING:
        began = assigned(request)
    else:
        began = condition(conditions, COMPLETE if stage in _OVER else PROGRESSING)
    if began is not None and began.last_transition_time is not None:
        return began.last_transition_time
    return request.metadata.creation_timestamp


def _eta(request: EvictionRequest, now: dt.datetime) -> str:
    finish = request.status.expected_interceptor_finish_time
    if finish is None:
        return NOTHING
    return f"in {human_duration(finish - now)}" if finish > now else f"{human_duration(now - finish)} late"


def _heartbeat(request: EvictionRequest, now: dt.datetime) -> str:
    return f"{_span(request.status.heartbeat_time, now)} ago" if has_responded(request) else "none yet"


def _blocked_by(
    request: EvictionRequest, stage: Stage, budgets: Sequence[PodDisruptionBudget], now: dt.datetime
) -> str:
    pin = pin_of(request, now)
    if pin is not None and pin.finalizers:
        return ", ".join(f"finalizer {one}" for one in pin.finalizers)
    if ADMITTED_STAMP not in request.metadata.annotations:
        return "admission"
    return ", ".join(_blocking(request, budgets)) if stage is Stage.BLOCKED else NOTHING


def _blocking(request: EvictionRequest, budgets: Sequence[PodDisruptionBudget]) -> list[str]:
    """The budgets over the pod, whose labels the request carries; else those that the refusal named."""
    meta, message = request.metadata, request.status.message
    named = [f"pdb/{name}" for name in budgets_named_in(message)]
    if named:
        return named
    if "PodDisruptionBudget" in message:
        return [f"pdb/{one.metadata.name}" for one in covering(budgets, meta.namespace, meta.labels)] or [
            "pdbs"
        ]
    return [_short(message)]


def _refusals(request: EvictionRequest) -> str:
    status = request.status.pod_eviction_status
    return str(status.failed_api_eviction_counter) if status else NOTHING


def _short(message: str) -> str:
    return plain(message.removeprefix("The eviction was refused: "), 60) or NOTHING


def _span(moment: dt.datetime | None, now: dt.datetime) -> str:
    return human_duration(max(now - moment, dt.timedelta())) if moment else NOTHING
