"""Steps that requests may and may not take where nothing but the definition watches over them."""

from __future__ import annotations

import copy
import datetime as dt
from dataclasses import dataclass, field
from typing import Any

from support.arms.arm import Obj
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.times import format_exact_time
from vacate.clock import SystemClock
from vacate.entropy import system_entropy

A, B, C = "a.example.com", "b.example.com", "c.example.com"
_NAME, _DONE, _BEAT = "activeInterceptorName", "activeInterceptorCompleted", "heartbeatTime"
_POLICY, _COUNTER = "evictionRequestCancellationPolicy", "failedAPIEvictionCounter"


IMPORTED = SystemClock().now()
"""The now of all cases: a definition has no clock."""


def at(seconds: float) -> str:
    """So many seconds from now."""
    return format_exact_time(IMPORTED + dt.timedelta(seconds=seconds))


@dataclass(frozen=True)
class Case:
    """A request, the steps that it has taken, and one more: the errors that are found, or none."""

    title: str
    step: Obj
    field_errors: tuple[str, ...] = ()
    before: tuple[Obj, ...] = ()
    spec: Obj = field(default_factory=dict)

    def agrees(self, found: tuple[str, ...]) -> bool:
        """Whether these are the errors: the same fields, kinds and words, whatever the values in between."""
        return len(found) == len(self.field_errors) and all(
            map(_matches, sorted(self.field_errors), sorted(found))
        )

    @property
    def fields(self) -> list[str]:
        """Where the errors are."""
        return sorted(field_error.partition(": ")[0] for field_error in self.field_errors)


def _matches(wanted: str, found: str) -> bool:
    path, _, rest = wanted.partition(": ")
    sort, _, message = rest.partition(": ")
    return found.startswith(f"{path}: {sort}") and found.endswith(message)


def merged(before: Obj, step: Obj) -> Obj:
    """RFC 7396, as the server does it."""
    made = copy.deepcopy(before)
    for key, value in step.items():
        if value is None:
            made.pop(key, None)
        elif isinstance(value, dict):
            inner = made.get(key)
            made[key] = merged(inner if isinstance(inner, dict) else {}, value)
        else:
            made[key] = copy.deepcopy(value)
    return made


def named(*names: str) -> list[Obj]:
    return [{"name": name} for name in names]


def condition(sort: str = "Mine", state: str = "True", reason: str = "Because", **more: Any) -> Obj:
    made = {"type": sort, "status": state, "reason": reason, "message": "", "lastTransitionTime": at(0)}
    return {**made, **more}


def status(**fields: Any) -> Obj:
    return {"status": fields}


def turn(name: str, beat: float, **more: Any) -> Obj:
    return status(**{_NAME: name, _BEAT: at(beat), _DONE: None, **more})


def complete(reason: str = "PodDeleted", **more: Any) -> Obj:
    cleared = {_NAME: None, _DONE: None}
    return status(conditions=[condition("Complete", reason=reason)], **cleared, **more)


def request(**spec: Any) -> Obj:
    """A request for a pod that nobody knows, with a name of its own."""
    uid = system_entropy().uid()
    target = {"podRef": {"name": "web", "uid": uid}}
    whole = {"target": target, "requesters": named("drain.example.com"), **spec}
    identity = {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": {"name": uid}}
    return {**identity, "spec": {key: value for key, value in whole.items() if value is not None}}


_TWO = {"interceptors": named(A, B)}
_THREE = {"interceptors": named(A, B, C)}
_IMMUTABLE = "field is immutable"
_TURN_NEXT = "must be the interceptor whose turn is next: down the list, beginning with the last"
_DENIED = f'Forbidden: the turn may not pass on: "{B}" has neither completed nor missed its deadline'
_OVER = "Forbidden: may not change once the request is complete"

CREATIONS = (
    Case("a request", {}),
    Case("a request with interceptors", {}, spec=_TWO),
    Case("interceptors of Kubernetes", {}, spec={"interceptors": named("deployment.apps.k8s.io")}),
    Case("another name than the UID", {"metadata": {"name": "web"}},
         ('metadata.name: Invalid value: must be equal to spec.target.podRef.uid',)),
    Case("no requesters", {}, ("spec.requesters: Required value: at least one requester is required",),
         spec={"requesters": []}),
    Case("requesters missing", {}, ("spec.requesters: Required value: at least one requester is required",),
         spec={"requesters": None}),
    Case("a requester that is no subdomain", {}, ("spec.requesters[0].name: Invalid value: ",),
         spec={"requesters": named("Not_A_Name")}),
    Case("an interceptor that is no subdomain", {}, ("spec.interceptors[1].name: Invalid value: ",),
         spec={"interceptors": named(A, "b..c")}),
    Case("a reserved interceptor", {},
         ("spec.interceptors: Forbidden: names with the suffix k8s.io are reserved for Kubernetes",),
         spec={"interceptors": named("mine.k8s.io")}),
)  # fmt: skip

SPECS = (
    Case("another requester", {"spec": {"requesters": named("x.y", "drain.example.com")}}),
    Case("nobody left", {"spec": {"requesters": []}}),
    Case("labels", {"metadata": {"labels": {"a": "b"}}}),
    Case("labels after the end", {"metadata": {"labels": {"a": "b"}}}, before=(complete(),)),
    Case("another target", {"spec": {"target": {"podRef": {"name": "other"}}}},
         (f"spec.target: Invalid value: {_IMMUTABLE}",)),
    Case("another deadline", {"spec": {"heartbeatDeadlineSeconds": 600}},
         (f"spec.heartbeatDeadlineSeconds: Invalid value: {_IMMUTABLE}",)),
    Case("the deadline cleared", {"spec": {"heartbeatDeadlineSeconds": None}},
         (f"spec.heartbeatDeadlineSeconds: Invalid value: {_IMMUTABLE}",),
         spec={"heartbeatDeadlineSeconds": 3600}),
    Case("interceptors added", {"spec": _TWO}, (f"spec.interceptors: Invalid value: {_IMMUTABLE}",)),
    Case("interceptors removed", {"spec": {"interceptors": None}},
         (f"spec.interceptors: Invalid value: {_IMMUTABLE}",), spec=_TWO),
    Case("interceptors in another order", {"spec": {"interceptors": named(B, A)}},
         (f"spec.interceptors: Invalid value: {_IMMUTABLE}",), spec=_TWO),
    Case("a requester under Forbid", {"spec": {"requesters": named("x.y", "drain.example.com")}},
         (f"spec.requesters: Forbidden: may not change while status.{_POLICY} is Forbid",),
         before=(status(**{_POLICY: "Forbid"}),)),
    Case("nobody left under Forbid", {"spec": {"requesters": None}},
         (f"spec.requesters: Forbidden: may not change while status.{_POLICY} is Forbid",),
         before=(status(**{_POLICY: "Forbid"}),)),
    Case("a requester after the end", {"spec": {"requesters": named("x.y", "drain.example.com")}},
         (f"spec.requesters: {_OVER}",), before=(complete(),)),
)  # fmt: skip

_BLOCKED = status(podEvictionStatus={_COUNTER: 3})
STATUSES = (
    Case("a message", status(message="hello")),
    Case("a condition of one's own", status(conditions=[condition("example.com/Mine")])),
    Case("first the last", turn(B, 0), spec=_TWO),
    Case("then the one before, when it has completed", turn(A, 0), spec=_TWO,
         before=(turn(B, -60), status(**{_DONE: True}))),
    Case("then the one before, after the deadline", turn(A, 0), spec=_TWO, before=(turn(B, -1791),)),
    Case("a heartbeat", status(**{_BEAT: at(0)}), spec=_TWO, before=(turn(B, -60),)),
    Case("a heartbeat of a clock that lags", status(**{_BEAT: at(-9)}), spec=_TWO, before=(turn(B, 0),)),
    Case("completion within a turn", complete(), spec=_TWO, before=(turn(B, -60),)),
    Case("completion after completion of the interceptor", complete("PodTerminated"), spec=_TWO,
         before=(turn(B, -60), status(**{_DONE: True}))),
    Case("cancelling", complete("Cancelled")),
    Case("one refusal more", status(podEvictionStatus={_COUNTER: 4}), before=(_BLOCKED,)),
    Case("Forbid and back", status(**{_POLICY: "Allow"}), before=(status(**{_POLICY: "Forbid"}),)),
    Case("the same after the end", status(message=""), before=(complete(),)),
    Case("first another than the last", turn(A, 0),
         (f"status.{_NAME}: Invalid value: {_TURN_NEXT}",), spec=_TWO),
    Case("one is left out", turn(A, 0), (f"status.{_NAME}: Invalid value: {_TURN_NEXT}",), spec=_THREE,
         before=(turn(C, -60), status(**{_DONE: True}))),
    Case("back up the list", turn(B, 0), (f"status.{_NAME}: Invalid value: {_TURN_NEXT}",), spec=_TWO,
         before=(turn(B, -60), status(**{_DONE: True}), turn(A, 0), status(**{_DONE: True}))),
    Case("nobody of the list", turn(C, 0), (f"status.{_NAME}: Invalid value: {_TURN_NEXT}",), spec=_TWO),
    Case("a turn where there is no list", turn(A, 0), (f"status.{_NAME}: Invalid value: {_TURN_NEXT}",)),
    Case("too early", turn(A, 0), (f"status.{_NAME}: {_DENIED}",), spec=_TWO, before=(turn(B, -1780),)),
    Case("a turn ends before the request", status(**{_NAME: None}),
         (f"status.{_NAME}: Required value: may not be unset before the request is complete",),
         spec=_TWO, before=(turn(B, -60),)),
    Case("a status cleared within a turn", {"status": None},
         (f"status.{_NAME}: Required value: may not be unset before the request is complete",
          f"status.{_BEAT}: Required value: may not be unset once it is set"),
         spec=_TWO, before=(turn(B, -60),)),
    Case("the end within a turn that goes on",
         status(conditions=[condition("Complete", reason="PodDeleted")]),
         (f"status.{_NAME}: Forbidden: must be unset when the request is complete",),
         spec=_TWO, before=(turn(B, -60),)),
    Case("a turn that begins completed", turn(B, 0, **{_DONE: True}),
         (f"status.{_DONE}: Invalid value: must be false when a turn begins",), spec=_TWO),
    Case("a turn without a heartbeat", status(**{_NAME: B}),
         (f"status.{_BEAT}: Required value: must be set when a turn begins",), spec=_TWO),
    Case("a heartbeat before the first turn", status(**{_BEAT: at(0)}),
         (f"status.{_BEAT}: Forbidden: may not be set before an interceptor has its turn",), spec=_TWO),
    Case("completed before the first turn", status(**{_DONE: True}),
         (f"status.{_DONE}: Forbidden: may not be true before an interceptor has its turn",), spec=_TWO),
    Case("completion taken back", status(**{_DONE: False}),
         (f"status.{_DONE}: Invalid value: may not be taken back before the next turn",),
         spec=_TWO, before=(turn(B, -60), status(**{_DONE: True}))),
    Case("completion cleared", status(**{_DONE: None}),
         (f"status.{_DONE}: Invalid value: may not be taken back before the next turn",),
         spec=_TWO, before=(turn(B, -60), status(**{_DONE: True}))),
    Case("a heartbeat that is unset", status(**{_BEAT: None}),
         (f"status.{_BEAT}: Required value: may not be unset once it is set",),
         spec=_TWO, before=(turn(B, 0),)),
    Case("one refusal less", status(podEvictionStatus={_COUNTER: 2}),
         (f"status.podEvictionStatus.{_COUNTER}: Invalid value: may only grow",), before=(_BLOCKED,)),
    Case("refusals forgotten", status(podEvictionStatus=None),
         ("status.podEvictionStatus: Required value: may not be unset once it is set",), before=(_BLOCKED,)),
    Case("Forbid when nobody asks", status(**{_POLICY: "Forbid"}),
         (f"status.{_POLICY}: Forbidden: may not become Forbid without requesters",),
         before=({"spec": {"requesters": []}},)),
    Case("cancelling under Forbid", complete("Cancelled"),
         (f"status.conditions: Forbidden: the request cannot be cancelled while status.{_POLICY} is Forbid",),
         before=(status(**{_POLICY: "Forbid"}),)),
    Case("an end that is none", status(conditions=[condition("Complete", "False", "PodDeleted")]),
         ('status.conditions[0].status: Invalid value: Unsupported value, supported values: "True"',)),
    Case("an end of another kind", complete("Bored"),
         (("status.conditions[0].reason: Invalid value: Unsupported value, supported values: "
          '"Cancelled", "PodDeleted", "PodTerminated"'),)),
    Case("a reason that is no word", status(conditions=[condition(reason="not a word")]),
         ("status.conditions[0].reason: Invalid value: must be a word in CamelCase",)),
    Case("a type that is no name", status(conditions=[condition("not a name")]),
         ("status.conditions[0].type: Invalid value: must be a qualified name",)),
    Case("97 conditions of others", status(conditions=[condition(f"C{number}") for number in range(97)]),
         (("status.conditions: Invalid value: must have at most 95 items beside Complete, Admitted, "
          "InterceptorAssigned, Progressing, Forced"),)),
    Case("a message after the end", status(message="late"), (f"status: {_OVER}",), before=(complete(),)),
    Case("the end undone", status(conditions=[]), (f"status: {_OVER}",), before=(complete(),)),
    Case("a status cleared after the end", {"status": None}, (f"status: {_OVER}",), before=(complete(),)),
)  # fmt: skip
