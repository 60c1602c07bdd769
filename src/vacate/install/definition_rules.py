"""What the definition itself holds, whether the webhook is there or not.

These are the rules of `vacate.admission.evictionrequest` as far as CEL can hold them: it has no clock, sees
of the metadata only the name, and does not run when an object is deleted.
"""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import ALLOW, FORBID, MAX_CONDITIONS, OWN_CONDITIONS
from vacate.decide.process.model import Ending
from vacate.decide.registration import ALLOWED_KUBERNETES_NAMES, RESERVED
from vacate.install.cel import (
    FORBIDDEN,
    INVALID,
    REQUIRED,
    any_of,
    complete,
    listed,
    names,
    rule,
    some_condition,
    stated,
    status,
)
from vacate.install.definition_turns import turn_rules

_SUBDOMAIN = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
_SUBDOMAIN_MESSAGE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_QUALIFIED = (
    "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    "([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$"
)
_REASON = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
_FREE_CONDITIONS = MAX_CONDITIONS - len(OWN_CONDITIONS)
_CANCELLED = f"c.type == 'Complete' && c.reason == '{Ending.CANCELLED}'"
_POLICY, _HEARTBEAT = "evictionRequestCancellationPolicy", "heartbeatTime"
_COUNTER = "podEvictionStatus.failedAPIEvictionCounter"


def add_rules(schema: Obj, allowed_interceptors: Sequence[str] = ()) -> None:
    """Write the rules into a schema of EvictionRequests."""
    schema["x-kubernetes-validations"] = [
        *_creation_rules(allowed_interceptors),
        *_spec_rules(),
        *_status_rules(),
        *turn_rules(),
    ]
    spec, state = schema["properties"]["spec"], schema["properties"]["status"]
    for field in ("requesters", "interceptors"):
        name = spec["properties"][field]["items"]["properties"]["name"]
        name["x-kubernetes-validations"] = [rule(f"self.matches('{_SUBDOMAIN}')", _SUBDOMAIN_MESSAGE)]
    condition = state["properties"]["conditions"]["items"]
    condition["x-kubernetes-validations"] = _condition_rules()


def _creation_rules(allowed_interceptors: Sequence[str]) -> list[Obj]:
    allowed = listed([*ALLOWED_KUBERNETES_NAMES, *allowed_interceptors])
    reserved = f"one.name.matches('(^|[.])k8s[.]io$') && !(one.name in {allowed})"
    return [
        rule(
            "self.metadata.name == self.spec.target.podRef.uid",
            "must be equal to spec.target.podRef.uid",
            path=".metadata.name",
        ),
        rule(
            "oldSelf.hasValue() || (has(self.spec.requesters) && size(self.spec.requesters) > 0)",
            "at least one requester is required",
            path=".spec.requesters",
            reason=REQUIRED,
            created=True,
        ),
        rule(
            "oldSelf.hasValue() || !has(self.spec.interceptors)"
            f" || !self.spec.interceptors.exists(one, {reserved})",
            RESERVED,
            path=".spec.interceptors",
            reason=FORBIDDEN,
            created=True,
        ),
    ]


def _spec_rules() -> list[Obj]:
    kept = "field is immutable"
    same_requesters = f"{names('self', 'requesters')} == {names('oldSelf', 'requesters')}"
    forbids = f"{status('oldSelf', _POLICY, repr(ALLOW))} == '{FORBID}'"
    return [
        rule(_same_value("type"), kept, path=".spec.type"),
        rule("self.spec.target == oldSelf.spec.target", kept, path=".spec.target"),
        rule(
            f"{names('self', 'interceptors')} == {names('oldSelf', 'interceptors')}",
            kept,
            path=".spec.interceptors",
        ),
        rule(
            _same_value("heartbeatDeadlineSeconds"),
            kept,
            path=".spec.heartbeatDeadlineSeconds",
        ),
        rule(
            any_of(f"!{complete('oldSelf')}", same_requesters),
            "may not change once the request is complete",
            path=".spec.requesters",
            reason=FORBIDDEN,
        ),
        rule(
            any_of(f"!({forbids})", complete("oldSelf"), same_requesters),
            f"may not change while status.{_POLICY} is {FORBID}",
            path=".spec.requesters",
            reason=FORBIDDEN,
        ),
    ]


def _same_value(field: str) -> str:
    """Of a field with a default, which is missing only in what was stored before."""
    after, before = f"self.spec.{field}", f"oldSelf.spec.{field}"
    return f"has({after}) == has({before}) && (!has({after}) || {after} == {before})"


def _status_rules() -> list[Obj]:
    becomes_forbid = (
        f"{status('self', _POLICY, repr(ALLOW))} == '{FORBID}'"
        f" && {status('oldSelf', _POLICY, repr(ALLOW))} != '{FORBID}'"
    )
    return [
        rule(
            any_of(f"!{complete('oldSelf')}", "has(self.status) && self.status == oldSelf.status"),
            "may not change once the request is complete",
            path=".status",
            reason=FORBIDDEN,
        ),
        *_heartbeat_rules(),
        *_counter_rules(),
        rule(
            any_of(
                f"!({becomes_forbid})", "has(oldSelf.spec.requesters) && size(oldSelf.spec.requesters) > 0"
            ),
            f"may not become {FORBID} when nobody requests the eviction",
            path=f".status.{_POLICY}",
            reason=FORBIDDEN,
        ),
        rule(
            f"{status('self', _POLICY, repr(ALLOW))} != '{FORBID}'"
            f" || !({some_condition('self', _CANCELLED)})",
            f"the request cannot be cancelled while status.{_POLICY} is {FORBID}",
            path=".status.conditions",
            reason=FORBIDDEN,
        ),
        rule(
            f"!({stated('self', 'conditions')})"
            f" || self.status.conditions.filter(c, !(c.type in {listed(OWN_CONDITIONS)})).size()"
            f" <= {_FREE_CONDITIONS}",
            f"must have at most {_FREE_CONDITIONS} items beside {', '.join(OWN_CONDITIONS)}",
            path=".status.conditions",
        ),
    ]


def _heartbeat_rules() -> list[Obj]:
    before, after = stated("oldSelf", _HEARTBEAT), stated("self", _HEARTBEAT)
    back = f"self.status.{_HEARTBEAT} >= oldSelf.status.{_HEARTBEAT} - duration('10s')"
    return [
        rule(
            any_of(f"!({before})", after),
            "may not be unset once it is set",
            path=f".status.{_HEARTBEAT}",
            reason=REQUIRED,
        ),
        rule(
            any_of(f"!({before} && {after})", back),
            "may not fall back by more than 10 seconds",
            path=f".status.{_HEARTBEAT}",
        ),
    ]


def _counter_rules() -> list[Obj]:
    before, after = stated("oldSelf", "podEvictionStatus"), stated("self", "podEvictionStatus")
    return [
        rule(
            any_of(f"!({before})", after),
            "may not be unset once it is set",
            path=".status.podEvictionStatus",
            reason=REQUIRED,
        ),
        rule(
            any_of(f"!({before} && {after})", f"self.status.{_COUNTER} >= oldSelf.status.{_COUNTER}"),
            "may only grow",
            path=f".status.{_COUNTER}",
        ),
    ]


def _condition_rules() -> list[Obj]:
    endings = sorted(ending.value for ending in Ending)
    supported = ", ".join(f'"{one}"' for one in endings)
    return [
        rule(f"self.type.matches('{_QUALIFIED}')", "must be a qualified name", path=".type"),
        rule(f"self.reason.matches('{_REASON}')", "must be a word in CamelCase", path=".reason"),
        rule(
            "self.type != 'Complete' || self.status == 'True'",
            'Unsupported value, supported values: "True"',
            path=".status",
            reason=INVALID,
        ),
        rule(
            f"self.type != 'Complete' || self.reason in {listed(endings)}",
            f"Unsupported value, supported values: {supported}",
            path=".reason",
        ),
    ]
