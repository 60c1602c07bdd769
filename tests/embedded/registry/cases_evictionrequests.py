"""Cases of EvictionRequests, and of the annotations that register interceptors on pods."""

# ruff: noqa: E501 - the rows of a table are as long as their messages
from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from embedded.registry.case_types import Broken, BrokenStep, Cases, Done, DoneByStep, Refused
from embedded.registry.cases_metadata import SUBDOMAIN
from embedded.registry.given import GONE, NOW, POD_UID, context
from vacate.api.identity import StatusAuthority
from vacate.api.kinds import EVICTIONREQUESTS, PODS
from vacate.api.objects import Obj
from vacate.api.times import format_time

_IT = "EvictionRequest"
_FIRST, _SECOND = "first.example.com", "second.example.com"
_LONG = "x" * 254
_STAMP = "metadata.annotations[vacate.dev/admitted]"
_NAME, _DONE, _BEAT = (
    "status.activeInterceptorName",
    "status.activeInterceptorCompleted",
    "status.heartbeatTime",
)
_POLICY, _COUNTER = (
    "status.evictionRequestCancellationPolicy",
    "status.podEvictionStatus.failedAPIEvictionCounter",
)
_DEADLINE = "spec.heartbeatDeadlineSeconds"
_TOO_LONG = "Too long: may not be more than 253 bytes"
_IMMUTABLE = "field is immutable"
_FRESH = {"message": "", "evictionRequestCancellationPolicy": "Allow"}


def at(seconds: float) -> str:
    """A time so many seconds from now."""
    return format_time(NOW + dt.timedelta(seconds=seconds))


def condition(type_: str = "Ready", **more: Any) -> Obj:
    """A condition that is as it must be, but for these fields."""
    fields = {"status": "True", "reason": "Because", "message": "", "lastTransitionTime": at(0), **more}
    return {"type": type_, **{key: value for key, value in fields.items() if value is not GONE}}


COMPLETE = {"status.conditions": [condition("Complete", reason="PodDeleted")]}
_CANCELLED = condition("Complete", reason="Cancelled")
_ACTIVE = {_NAME: _FIRST, _BEAT: at(-60)}


def _broken(rule: str, changes: Mapping[str, Any], field_error: str) -> Broken:
    return Broken(f"{_IT}/{rule}", EVICTIONREQUESTS, changes, field_error)


def _spec_step(
    rule: str, step: Mapping[str, Any], field_error: str, before: Mapping[str, Any] | None = None
) -> BrokenStep:
    return BrokenStep(f"{_IT}/{rule}", EVICTIONREQUESTS, step, field_error, before or {})


def _step(
    rule: str, step: Mapping[str, Any], field_error: str, before: Mapping[str, Any] | None = None
) -> BrokenStep:
    return BrokenStep(f"{_IT}/{rule}", EVICTIONREQUESTS, step, field_error, before or {}, "status")


def _with(*conditions: Obj) -> Obj:
    return {"status.conditions": list(conditions)}


_NOT_NEXT = f"{_NAME}: Invalid value: must be the interceptor whose turn is next: down the list, beginning with the last"

SPEC_CASES: Cases = (
    Refused(f"{_IT}/refused", EVICTIONREQUESTS, {}, 403,
            f'{EVICTIONREQUESTS.resource} "{POD_UID}" is forbidden: User "ann" cannot delete resource "pods" in API group "" in the namespace "shop"',
            context(may=lambda _: False)),
    Done(f"{_IT}/metadata.labels/set", EVICTIONREQUESTS, {"metadata.labels": {"app": "x", "b": "c"}}, "metadata.labels", {"app": "web", "b": "c"}),
    Done(f"{_IT}/{_STAMP}/set", EVICTIONREQUESTS, {_STAMP: "false"}, _STAMP, "true"),
    DoneByStep(f"{_IT}/{_STAMP}/kept", EVICTIONREQUESTS, {"metadata.annotations": {"a": "b"}}, "metadata.annotations", {"a": "b", "vacate.dev/admitted": "true"}),
    DoneByStep(f"{_IT}/metadata.generation/set", EVICTIONREQUESTS, {"spec.requesters": []}, "metadata.generation", 2),
    Done(f"{_IT}/status/set", EVICTIONREQUESTS, {"status": {"message": "mine", "conditions": [condition()]}}, "status", _FRESH),
    DoneByStep(f"{_IT}/status/kept", EVICTIONREQUESTS, {"status.message": "x"}, "status", _FRESH),
    DoneByStep(f"{_IT}/spec/kept", EVICTIONREQUESTS, {"spec": {}}, "spec.type", "Soft", {}, "status"),
    DoneByStep(f"{_IT}/metadata/kept", EVICTIONREQUESTS, {"metadata.labels": {"a": "b"}}, "metadata.labels", {"app": "web"}, {}, "status"),
    Done(f"{_IT}/spec.type/default", EVICTIONREQUESTS, {}, "spec.type", "Soft"),
    Done(f"{_IT}/{_DEADLINE}/default", EVICTIONREQUESTS, {}, _DEADLINE, 1800),
    Done(f"{_IT}/spec.interceptors/set", EVICTIONREQUESTS, {}, "spec.interceptors", [{"name": _SECOND}, {"name": _FIRST}]),
    _broken("spec/invalid/type", {"spec": "all"}, 'spec: Invalid value: "string": spec in body must be of type object: "string"'),
    _broken("metadata.generateName/forbidden", {"metadata.generateName": "x-"}, "metadata.generateName: Forbidden: not supported, the name must be the UID of the pod"),
    _broken("metadata.name/invalid", {"metadata.name": "web"}, "metadata.name: Invalid value: must be equal to spec.target.podRef.uid"),
    _broken("spec/required", {"spec": GONE}, "spec: Required value"),
    _broken("spec.type/unsupported", {"spec.type": "Hard"}, 'spec.type: Unsupported value: "Hard": supported values: "Soft"'),
    _broken("spec.target/required", {"spec.target": GONE}, "spec.target: Required value"),
    _broken("spec.target.podRef/required", {"spec.target.podRef": GONE}, "spec.target.podRef: Required value"),
    _broken("spec.target.podRef.name/required", {"spec.target.podRef.name": GONE}, "spec.target.podRef.name: Required value"),
    _broken("spec.target.podRef.name/invalid/short", {"spec.target.podRef.name": ""}, 'spec.target.podRef.name: Invalid value: "": spec.target.podRef.name in body should be at least 1 chars long'),
    _broken("spec.target.podRef.name/too-long", {"spec.target.podRef.name": _LONG}, f"spec.target.podRef.name: {_TOO_LONG}"),
    _broken("spec.target.podRef.name/not-found", {"spec.target.podRef.name": "no"}, 'spec.target.podRef.name: Not found: "no"'),
    _broken("spec.target.podRef.uid/required", {"spec.target.podRef.uid": GONE}, "spec.target.podRef.uid: Required value"),
    _broken("spec.target.podRef.uid/invalid/short", {"spec.target.podRef.uid": ""}, 'spec.target.podRef.uid: Invalid value: "": spec.target.podRef.uid in body should be at least 1 chars long'),
    _broken("spec.target.podRef.uid/too-long", {"spec.target.podRef.uid": _LONG}, f"spec.target.podRef.uid: {_TOO_LONG}"),
    _broken("spec.target.podRef.uid/invalid", {"spec.target.podRef.uid": "u"}, 'spec.target.podRef.uid: Invalid value: "u": must be the UID of pod "web"'),
    _broken("spec.requesters/required", {"spec.requesters": []}, "spec.requesters: Required value: at least one requester is required"),
    _broken("spec.requesters/too-many", {"spec.requesters": [{"name": f"n{i}"} for i in range(101)]}, "spec.requesters: Too many: 101: must have at most 100 items"),
    _broken("spec.requesters[]/duplicate", {"spec.requesters": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}, 'spec.requesters[2]: Duplicate value: {"name":"a"}'),
    _broken("spec.requesters[].name/required", {"spec.requesters": [{}]}, "spec.requesters[0].name: Required value"),
    _broken("spec.requesters[].name/invalid", {"spec.requesters[0].name": "Me"}, f'spec.requesters[0].name: Invalid value: "Me": {SUBDOMAIN.partition(" (")[0]}'),
    _broken("spec.requesters[].name/too-long", {"spec.requesters[0].name": _LONG}, f"spec.requesters[0].name: {_TOO_LONG}"),
    _spec_step("spec.requesters/forbidden/forbid", {"spec.requesters[1]": {"name": "also"}}, "spec.requesters: Forbidden: may not change while status.evictionRequestCancellationPolicy is Forbid", {_POLICY: "Forbid"}),
    _spec_step("spec.requesters/forbidden/complete", {"spec.requesters": []}, "spec.requesters: Forbidden: may not change once the request is complete", COMPLETE),
    Refused(f"{_IT}/spec.interceptors/forbidden", EVICTIONREQUESTS, {"spec.interceptors": [{"name": "a.b"}], "spec.type": "x"}, 422,
            f'EvictionRequest.evictionrequest.coordination.k8s.io "{POD_UID}" is invalid: [spec.type: Unsupported value: "x": supported values: "Soft", spec.interceptors: Forbidden: must not be set on creation, it is filled in from the pod]'),
    _broken(f"{_DEADLINE}/invalid/least", {_DEADLINE: 599}, f"{_DEADLINE}: Invalid value: 599: {_DEADLINE} in body should be greater than or equal to 600"),
    _broken(f"{_DEADLINE}/invalid/most", {_DEADLINE: 86401}, f"{_DEADLINE}: Invalid value: 86401: {_DEADLINE} in body should be less than or equal to 86400"),
    _spec_step("spec.target/invalid", {"spec.target.podRef.name": "b"}, f"spec.target: Invalid value: {_IMMUTABLE}"),
    _spec_step("spec.interceptors/invalid", {"spec.interceptors": [{"name": "me"}]}, f"spec.interceptors: Invalid value: {_IMMUTABLE}"),
    _spec_step(f"{_DEADLINE}/invalid", {_DEADLINE: 601}, f"{_DEADLINE}: Invalid value: 601: {_IMMUTABLE}"),
)  # fmt: skip

_OTHERS = StatusAuthority(("controller",), {_FIRST: ("system:serviceaccount:shop:first",)})
_CONTROLLERS = 'written by the eviction request controller only, not by user "ann"'
_BOUND = f'interceptor {_FIRST} is active and bound to system:serviceaccount:shop:first; user "ann" may not report for it. An administrator may, as that account: kubectl --as=system:serviceaccount:shop:first'


def _foreign(
    rule: str, step: Mapping[str, Any], field_error: str, before: Mapping[str, Any] | None = None
) -> BrokenStep:
    """A step of a writer who is neither the controller nor the account of a bound interceptor."""
    return BrokenStep(f"{_IT}/{rule}", EVICTIONREQUESTS, step, field_error, before or {}, "status", _OTHERS)


STATUS_CASES: Cases = (
    _foreign(f"{_NAME}/forbidden/writer", {_NAME: _FIRST, _BEAT: at(0)}, f"{_NAME}: Forbidden: {_CONTROLLERS}"),
    _foreign("status.podEvictionStatus/forbidden/writer", {_COUNTER: 1}, f"status.podEvictionStatus: Forbidden: {_CONTROLLERS}"),
    _foreign("status.conditions[]/forbidden/writer", _with(condition("Progressing")), f"status.conditions[0]: Forbidden: condition Progressing is {_CONTROLLERS}; choose another type"),
    _foreign(f"{_BEAT}/forbidden/writer", {_BEAT: at(0)}, f"{_BEAT}: Forbidden: {_BOUND}", _ACTIVE),
    _foreign(f"{_POLICY}/forbidden/writer", {_POLICY: "Forbid"}, f"{_POLICY}: Forbidden: {_BOUND}", _ACTIVE),
    _step("status.conditions[].reason/forbidden/pod", COMPLETE, f'status.conditions[0].reason: Forbidden: pod "web" with UID {POD_UID} still exists'),
    _step("status/forbidden", {"status.message": "x"}, "status: Forbidden: may not change once the request is complete", COMPLETE),
    _step("status.message/too-long", {"status.message": "x" * 32769}, "status.message: Too long: may not be more than 32768 bytes"),
    _step(f"{_NAME}/invalid/first", {_NAME: _SECOND, _BEAT: at(0)}, _NOT_NEXT),
    _step(f"{_NAME}/invalid/next", {_NAME: "third", _BEAT: at(0)}, _NOT_NEXT, {**_ACTIVE, _DONE: True}),
    _step(f"{_NAME}/invalid/none", {_NAME: _FIRST, _BEAT: at(0)}, _NOT_NEXT, {"spec.interceptors": GONE}),
    _step(f"{_NAME}/invalid/over", {_NAME: _FIRST, _BEAT: at(0)}, _NOT_NEXT, {_NAME: _SECOND, _BEAT: at(-60), _DONE: True}),
    _step(f"{_NAME}/forbidden", {_NAME: _SECOND, _BEAT: at(0)}, f'{_NAME}: Forbidden: the turn may not pass on: "{_FIRST}" has neither completed nor missed its deadline', {_NAME: _FIRST, _BEAT: at(-1789)}),
    _step(f"{_NAME}/required", {_NAME: GONE}, f"{_NAME}: Required value: may not be unset before the request is complete", _ACTIVE),
    _step(f"{_NAME}/forbidden/complete", _with(_CANCELLED), f"{_NAME}: Forbidden: must be unset when the request is complete", _ACTIVE),
    _step(f"{_NAME}/too-long", {_NAME: _LONG, _BEAT: at(0)}, f"{_NAME}: {_TOO_LONG}"),
    _step(f"{_DONE}/forbidden", {_DONE: True}, f"{_DONE}: Forbidden: may not be true before an interceptor has its turn"),
    _step(f"{_DONE}/invalid/turn", {_NAME: _FIRST, _BEAT: at(0), _DONE: True}, f"{_DONE}: Invalid value: must be false when a turn begins"),
    _step(f"{_DONE}/invalid/back", {_DONE: False}, f"{_DONE}: Invalid value: may not be taken back before the next turn", {**_ACTIVE, _DONE: True}),
    _step("status.expectedInterceptorFinishTime/invalid", {"status.expectedInterceptorFinishTime": "soon"},
          'status.expectedInterceptorFinishTime: Invalid value: "soon": expectedInterceptorFinishTime in body must be of type date-time: "soon"'),
    _step(f"{_BEAT}/invalid/time", {_BEAT: "now"}, f'{_BEAT}: Invalid value: "now": heartbeatTime in body must be of type date-time: "now"', _ACTIVE),
    _step(f"{_BEAT}/invalid/future", {_BEAT: at(11)}, f'{_BEAT}: Invalid value: "{at(11)}": may not be more than 10 seconds in the future', _ACTIVE),
    _step(f"{_BEAT}/invalid/past", {_BEAT: at(-71)}, f'{_BEAT}: Invalid value: "{at(-71)}": may not fall back by more than 10 seconds', _ACTIVE),
    _step(f"{_BEAT}/invalid/turn", {_NAME: _FIRST, _BEAT: at(-61)}, f'{_BEAT}: Invalid value: "{at(-61)}": may not be more than 60 seconds ago when a turn begins'),
    _step(f"{_BEAT}/required", {_BEAT: GONE}, f"{_BEAT}: Required value: may not be unset once it is set", _ACTIVE),
    _step(f"{_BEAT}/required/begin", {_NAME: _FIRST}, f"{_BEAT}: Required value: must be set when a turn begins"),
    _step(f"{_BEAT}/forbidden", {_BEAT: at(0)}, f"{_BEAT}: Forbidden: may not be set before an interceptor has its turn"),
    _step(f"{_POLICY}/unsupported", {_POLICY: "Maybe"}, f'{_POLICY}: Unsupported value: "Maybe": supported values: "Allow", "Forbid"'),
    _step(f"{_POLICY}/forbidden/requesters", {_POLICY: "Forbid"}, f"{_POLICY}: Forbidden: may not become Forbid without requesters", {"spec.requesters": []}),
    _step(f"{_POLICY}/forbidden/deleted", {_POLICY: "Forbid"}, f"{_POLICY}: Forbidden: may not become Forbid while the request is being deleted", {"metadata.deletionTimestamp": at(0)}),
    _step("status.podEvictionStatus/required", {"status.podEvictionStatus": GONE}, "status.podEvictionStatus: Required value: may not be unset once it is set", {_COUNTER: 1}),
    _step(f"{_COUNTER}/required", {"status.podEvictionStatus": {}}, f"{_COUNTER}: Required value"),
    _step(f"{_COUNTER}/invalid/negative", {_COUNTER: -1}, f"{_COUNTER}: Invalid value: -1: podEvictionStatus.failedAPIEvictionCounter in body should be greater than or equal to 0"),
    _step(f"{_COUNTER}/invalid/most", {_COUNTER: 2**31}, f"{_COUNTER}: Invalid value: 2147483648: podEvictionStatus.failedAPIEvictionCounter in body should be less than or equal to 2147483647"),
    _step(f"{_COUNTER}/invalid/less", {_COUNTER: 1}, f"{_COUNTER}: Invalid value: 1: may only grow", {_COUNTER: 2}),
    _step("status.conditions/too-many", _with(*(condition(f"C{i}") for i in range(101))), "status.conditions: Too many: 101: must have at most 100 items"),
    _step("status.conditions/too-many/others", _with(*(condition(f"C{i}") for i in range(97))),
          "status.conditions: Invalid value: must have at most 95 items beside Complete, Admitted, InterceptorAssigned, Progressing, Forced"),
    _step("status.conditions[].type/duplicate", _with(condition(), condition()), 'status.conditions[1]: Duplicate value: {"type":"Ready"}'),
    _step("status.conditions[].type/invalid", _with(condition("a b")), 'status.conditions[0].type: Invalid value: "a b": must be a qualified name'),
    _step("status.conditions[].status/unsupported", _with(condition(status="Maybe")), 'status.conditions[0].status: Unsupported value: "Maybe": supported values: "True", "False", "Unknown"'),
    _step("status.conditions[].status/unsupported/complete", _with({**_CANCELLED, "status": "False"}), 'status.conditions[0].status: Invalid value: Unsupported value, supported values: "True"'),
    _step("status.conditions[].observedGeneration/invalid", _with(condition(observedGeneration=-1)), "status.conditions[0].observedGeneration: Invalid value: -1: conditions[0].observedGeneration in body should be greater than or equal to 0"),
    _step("status.conditions[].lastTransitionTime/required", _with(condition(lastTransitionTime=GONE)), "status.conditions[0].lastTransitionTime: Required value"),
    _step("status.conditions[].reason/required", _with(condition(reason="")), 'status.conditions[0].reason: Invalid value: "": conditions[0].reason in body should be at least 1 chars long'),
    _step("status.conditions[].reason/invalid", _with(condition(reason="no way")), 'status.conditions[0].reason: Invalid value: "no way": must be a word in CamelCase'),
    _step("status.conditions[].reason/unsupported", _with(condition("Complete")), 'status.conditions[0].reason: Invalid value: Unsupported value, supported values: "Cancelled", "PodDeleted", "PodTerminated"'),
    _step("status.conditions[].reason/forbidden", _with(_CANCELLED), "status.conditions: Forbidden: the request cannot be cancelled while status.evictionRequestCancellationPolicy is Forbid", {_POLICY: "Forbid"}),
    _step("status.conditions[].message/required", _with(condition(message=GONE)), "status.conditions[0].message: Required value"),
    _step("status.conditions[].message/too-long", _with(condition(message="x" * 32769)), "status.conditions[0].message: Too long: may not be more than 32768 bytes"),
)  # fmt: skip

_OURS, _OLDER = "interceptor.evictionrequest.coordination.k8s.io", "evacuation.coordination.k8s.io"
_RULE = "Pod/metadata.annotations[*/priority_*]"


def _annotated(
    rule: str, annotations: Mapping[str, str], key: str, field_error: str, prefix: str = _OURS
) -> Broken:
    given = {f"{prefix}/{name}": value for name, value in annotations.items()}
    return Broken(
        f"{_RULE}/{rule}",
        PODS,
        {"metadata.annotations": given},
        f"metadata.annotations[{prefix}/{key}]: {field_error}",
    )


POD_CASES: Cases = (
    _annotated("invalid/name", {"priority_A_b": "1"}, "priority_A_b", f'Invalid value: "A_b": {SUBDOMAIN}'),
    _annotated("forbidden", {"priority_x": "1", "hash_x": "mine.k8s.io"}, "priority_x", "Forbidden: names with the suffix k8s.io are reserved for Kubernetes"),
    _annotated("duplicate", {"priority_a.b": "1", "priority_h": "2", "hash_h": "a.b"}, "priority_h", 'Duplicate value: "a.b"'),
    _annotated("invalid/number", {"priority_a": "100001/x"}, "priority_a", 'Invalid value: "100001/x": must be PRIORITY or PRIORITY/ROLE with a priority from 0 to 100000', _OLDER),
    _annotated("required", {"hash_x": "a.b"}, "priority_x", f"Required value: must be given together with {_OURS}/hash_x"),
    _annotated("forbidden/one", {"priority_a": "10000/controller", "priority_b": "10000/controller"}, "priority_b", "Forbidden: only one interceptor may have the role controller", _OLDER),
    _annotated("invalid/controller", {"priority_a": "1/controller"}, "priority_a", "Invalid value: 1: the role controller must have the priority 10000"),
    _annotated("invalid/others", {"priority_a": "10000"}, "priority_a", "Invalid value: 10000: the priority 10000 is reserved for the role controller"),
    Broken("Pod/metadata.annotations/too-many/interceptors", PODS,
           {"metadata.annotations": {f"{_OURS}/priority_n{i}": "1" for i in range(100)}},
           "metadata.annotations: Too many: 100: must have at most 99 interceptors beside the one with the role controller"),
)  # fmt: skip

CASES: Cases = (*SPEC_CASES, *STATUS_CASES, *POD_CASES)
