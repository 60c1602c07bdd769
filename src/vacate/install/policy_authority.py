"""Who writes which part of a request's status, as an admission policy: it holds while the webhook is away.

The same rules as in `vacate.crds.evictionrequest.authority`, but for one: where the webhook puts back
the controller's conditions that a writer has left out of the list, the policy can only refuse the write.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import FORBID, OWN_CONDITIONS
from vacate.api.untyped import mapping, maps
from vacate.api.untyped import text as text_of
from vacate.crds.cel import listed, text
from vacate.crds.celfields import CelFields
from vacate.install.manifests import policyobjects
from vacate.install.manifests.policyobjects import validation

_ACCOUNTS = "accounts"
# To the second: clients that know times as Kubernetes does cut them down to that.
_SAME_CONDITION = (
    "a.type == b.type && a.status == b.status && a.?reason == b.?reason && a.?message == b.?message"
    " && int(timestamp(a.lastTransitionTime)) == int(timestamp(b.lastTransitionTime))"
)


def others_only(controllers: Sequence[str]) -> list[Obj]:
    """The match condition: what the controller writes is its own affair."""
    expression = f"!(request.userInfo.username in {listed(controllers)})"
    return [{"name": "not-the-controller", "expression": expression}]


def variables(accounts: Mapping[str, Sequence[str]], fields: CelFields) -> list[Obj]:
    """What the validations speak of."""
    made = {
        "own": listed(OWN_CONDITIONS),
        "before": "oldObject.?status.?conditions.orValue([]).filter(c, c.type in variables.own)",
        "after": "object.?status.?conditions.orValue([]).filter(c, c.type in variables.own)",
    }
    if accounts:
        bound = ", ".join(f"{text(name)}: {listed(users)}" for name, users in accounts.items())
        made["active"] = f"oldObject.?status.?{fields.active}.orValue('')"
        made[_ACCOUNTS] = f"{{{bound}}}"
    return policyobjects.variables(made)


def bound_accounts(policy: Obj) -> Mapping[str, Sequence[str]] | None:
    """User names by interceptor, as a policy that was rendered here has them; None of another policy."""
    made = {text_of(one.get("name")): one for one in maps(mapping(policy.get("spec")).get("variables"))}
    if _ACCOUNTS not in made:
        return {} if "own" in made else None
    try:  # a map of lists of texts is written in CEL as in Python
        found = ast.literal_eval(text_of(made[_ACCOUNTS].get("expression")))
    except (SyntaxError, ValueError):
        return None
    return found if type(found) is dict else None


def validations(accounts: Mapping[str, Sequence[str]], fields: CelFields) -> list[Obj]:
    """What a writer other than the controller must leave as it is."""
    own = f"written by the {_controller(fields)} only"
    found = [
        validation(f"{_status('object', field)} == {_status('oldObject', field)}", f"status.{field}: {own}")
        for field in (fields.active, fields.refusals)
    ]
    found.append(_conditions(own))
    found.append(_no_fall_back(fields))
    return [*found, *(_bound(fields) if accounts else [])]


def _controller(fields: CelFields) -> str:
    return f"{'eviction ' if fields.request == 'request' else ''}{fields.request} controller"


def _status(owner: str, field: str) -> str:
    return f"{owner}.?status.?{field}"


def _conditions(own: str) -> Obj:
    same = f"variables.after.all(a, variables.before.exists(b, {_SAME_CONDITION}))"
    message = f"status.conditions: the types {', '.join(OWN_CONDITIONS)} are {own}, and stay in the list"
    return validation(f"size(variables.after) == size(variables.before) && {same}", message)


def _no_fall_back(fields: CelFields) -> Obj:
    """Not in the definition: the controller must be able to set back a heartbeat from the future."""
    beat, owners = fields.heartbeat, ("object", "oldObject")
    new, old = (f"{owner}.status.{beat}" for owner in owners)
    there = " || ".join(f"!{_status(owner, beat)}.hasValue()" for owner in owners)
    holds = f"{there} || timestamp({new}) >= timestamp({old}) - duration('10s')"
    return validation(holds, f"status.{beat}: may not fall back by more than 10 seconds", "Invalid")


def _bound(fields: CelFields) -> list[Obj]:
    """Reports for a bound interceptor come from its accounts; allowing cancellation is open to all."""
    bound = f"the active {fields.interceptor} is bound to other accounts, which alone may report for it"
    reported = (fields.completed, fields.expected_finish, fields.heartbeat, "message", "conditions")
    unchanged = " && ".join(
        f"{_status('object', field)} == {_status('oldObject', field)}" for field in reported
    )
    forbids, forbade = (
        f"{_status(owner, fields.policy)}.orValue('') == '{FORBID}'" for owner in ("object", "oldObject")
    )
    by_them = (
        "variables.active in variables.accounts"
        " && request.userInfo.username in variables.accounts[variables.active]"
    )
    unbound = "!(variables.active in variables.accounts)"
    listed_ones = f"oldObject.?spec.?{fields.interceptors}.orValue([])"
    names = f"variables.accounts.exists(n, {listed_ones}.exists(i, i.{fields.name} == n))"
    return [
        validation(f"{unbound} || ({by_them}) || ({unchanged})", f"status: {bound}"),
        validation(
            f"!({forbids}) || {forbade} || ({by_them})"
            f" || ({unbound} && (variables.active != '' || !{names}))",
            f"status.{fields.policy}: {bound}",
        ),
    ]
