"""What the definition itself holds, whether the webhook is there or not.

These are the rules of `vacate.crds.evictionrequest` as far as CEL can hold them: it has no clock, sees
of the metadata only the name, and does not run when an object is deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import ALLOW, FORBID, MAX_CONDITIONS, OWN_CONDITIONS
from vacate.crds.cel import (
    FORBIDDEN,
    INVALID,
    REQUIRED,
    any_of,
    complete,
    listed,
    names,
    rule,
    some_condition,
    value,
)
from vacate.crds.celfields import EVICTION_REQUEST_FIELDS as FIELDS
from vacate.crds.celfields import CelFields
from vacate.crds.evictionrequest.celturns import turn_rules, turn_status_rules
from vacate.eviction.model import CompletionReason
from vacate.eviction.registration import ALLOWED_KUBERNETES_NAMES, RESERVED

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
_CANCELLED = f"c.type == 'Complete' && c.reason == '{CompletionReason.CANCELLED}'"
_POLICY = FIELDS.policy
_EVICTION = "podEvictionStatus"
KEPT = "field is immutable"

FIXED = rule("self == oldSelf", KEPT)
IS_SUBDOMAIN = rule(f"self.matches('{_SUBDOMAIN}')", _SUBDOMAIN_MESSAGE)
ONLY_GROWS = rule("self >= oldSelf", "may only grow")
CONDITION_FIELDS: Mapping[str, Obj] = {
    "status.conditions[].type": rule(f"self.matches('{_QUALIFIED}')", "must be a qualified name"),
    "status.conditions[].reason": rule(f"self.matches('{_REASON}')", "must be a word in CamelCase"),
}
_FIELD_RULES: Mapping[str, Obj] = {
    "spec.type": FIXED,
    "spec.target": FIXED,
    "spec.heartbeatDeadlineSeconds": FIXED,
    "spec.requesters[].name": IS_SUBDOMAIN,
    "spec.interceptors[].name": IS_SUBDOMAIN,
    f"status.{_EVICTION}.failedAPIEvictionCounter": ONLY_GROWS,
    **CONDITION_FIELDS,
}
"""What a field alone shows: nothing here has to see that it is cleared."""


def add_rules(schema: Obj, allowed_interceptors: Sequence[str] = ()) -> None:
    """Write the rules into a schema of EvictionRequests."""
    root = [*_creation_rules(allowed_interceptors), *_whole_rules(), *turn_rules(FIELDS)]
    status = [*status_rules(FIELDS, (FIELDS.heartbeat, _EVICTION)), *turn_status_rules(FIELDS)]
    place_rules(
        schema,
        {
            "": root,
            "status": status,
            "status.conditions[]": condition_rules(CompletionReason),
            **{place: [one] for place, one in _FIELD_RULES.items()},
        },
    )


def place_rules(schema: Obj, rules: Mapping[str, list[Obj]]) -> None:
    """Write rules into a schema, each at its place."""
    for place, some in rules.items():
        _field(schema, place)["x-kubernetes-validations"] = some


def _field(schema: Obj, path: str) -> Obj:
    for step in path.split(".") if path else ():
        schema = schema["properties"][step.removesuffix("[]")]
        schema = schema["items"] if step.endswith("[]") else schema
    return schema


def reserved_rule(fields: CelFields, allowed_interceptors: Sequence[str]) -> Obj:
    """Names below k8s.io are not for everyone to take."""
    allowed = listed([*ALLOWED_KUBERNETES_NAMES, *allowed_interceptors])
    name, entries = fields.name, f"self.spec.{fields.interceptors}"
    reserved = f"one.{name}.matches('(^|[.])k8s[.]io$') && !(one.{name} in {allowed})"
    return rule(
        f"oldSelf.hasValue() || !has({entries}) || !{entries}.exists(one, {reserved})",
        RESERVED,
        path=f".spec.{fields.interceptors}",
        reason=FORBIDDEN,
        created=True,
    )


def _creation_rules(allowed_interceptors: Sequence[str]) -> list[Obj]:
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
        reserved_rule(FIELDS, allowed_interceptors),
    ]


def _whole_rules() -> list[Obj]:
    """What spec and status say together. Lists whose order counts are compared here, too: where nothing but
    an order differs the server takes a part for unchanged, and forgives it its errors."""
    same_requesters = f"{names('self', 'requesters')} == {names('oldSelf', 'requesters')}"
    policy, before = (value(f"{one}.status", _POLICY, repr(ALLOW)) for one in ("self", "oldSelf"))
    ended = complete("oldSelf.status")
    return [
        rule(
            f"{names('self', 'interceptors')} == {names('oldSelf', 'interceptors')}",
            KEPT,
            path=".spec.interceptors",
        ),
        rule(
            any_of(f"!{ended}", same_requesters),
            "may not change once the request is complete",
            path=".spec.requesters",
            reason=FORBIDDEN,
        ),
        rule(
            any_of(f"{before} != '{FORBID}'", ended, same_requesters),
            f"may not change while status.{_POLICY} is {FORBID}",
            path=".spec.requesters",
            reason=FORBIDDEN,
        ),
        rule(
            any_of(
                f"{policy} != '{FORBID}'",
                f"{before} == '{FORBID}'",
                "has(oldSelf.spec.requesters) && size(oldSelf.spec.requesters) > 0",
            ),
            f"may not become {FORBID} without requesters",
            path=f".status.{_POLICY}",
            reason=FORBIDDEN,
        ),
    ]


def status_rules(fields: CelFields, kept: Iterable[str]) -> list[Obj]:
    """Rules that need nothing but the status; `kept` are fields that are never unset again."""
    return [
        rule(
            any_of(f"!{complete('oldSelf')}", "self == oldSelf"),
            f"may not change once the {fields.request} is complete",
            reason=FORBIDDEN,
        ),
        *(
            rule(
                any_of(f"!has(oldSelf.{field})", f"has(self.{field})"),
                "may not be unset once it is set",
                path=f".{field}",
                reason=REQUIRED,
            )
            for field in kept
        ),
        rule(
            any_of(
                f"{value('self', fields.policy, repr(ALLOW))} != '{FORBID}'",
                f"!({some_condition('self', _CANCELLED)})",
            ),
            f"the {fields.request} cannot be cancelled while status.{fields.policy} is {FORBID}",
            path=".conditions",
            reason=FORBIDDEN,
        ),
        rule(
            any_of(
                "!has(self.conditions)",
                f"size(self.conditions) <= {_FREE_CONDITIONS}",
                f"self.conditions.filter(c, !(c.type in {listed(OWN_CONDITIONS)})).size()"
                f" <= {_FREE_CONDITIONS}",
            ),
            f"must have at most {_FREE_CONDITIONS} items beside {', '.join(OWN_CONDITIONS)}",
            path=".conditions",
        ),
    ]


def condition_rules(possible: Iterable[CompletionReason]) -> list[Obj]:
    """What the condition Complete may say: one of these reasons."""
    reasons = sorted(reason.value for reason in possible)
    supported = ", ".join(f'"{one}"' for one in reasons)
    return [
        rule(
            "self.type != 'Complete' || self.status == 'True'",
            'Unsupported value, supported values: "True"',
            path=".status",
            reason=INVALID,
        ),
        rule(
            f"self.type != 'Complete' || self.reason in {listed(reasons)}",
            f"Unsupported value, supported values: {supported}",
            path=".reason",
        ),
    ]
