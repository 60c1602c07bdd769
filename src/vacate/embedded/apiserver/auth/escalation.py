"""Nobody grants what they do not hold.

Checked when roles and bindings are created and updated, after defaults and before validation. A way around
is the verb `escalate` on roles and `bind` on the role that a binding gives; `system:masters` may always.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vacate.api import status
from vacate.api.identity import MASTERS, Access, User, quote
from vacate.api.kinds import CLUSTERROLEBINDINGS, CLUSTERROLES, ROLEBINDINGS, ROLES, Kind
from vacate.api.objects import Obj, name_of
from vacate.api.policyrules import Rule
from vacate.embedded.apiserver.auth.authorization import Authorizer
from vacate.embedded.apiserver.auth.rbaccoverage import (
    TooManyCombinations,
    covers,
    first_uncovered,
    uncovered,
)
from vacate.embedded.apiserver.auth.rbacmessages import escalation
from vacate.embedded.apiserver.auth.rbacpolicy import RoleRef, role_ref_of
from vacate.embedded.apiserver.auth.rbacrules import FULL_AUTHORITY, rules_of
from vacate.errors import InternalError

_ROLE_KINDS = (ROLES, CLUSTERROLES)
_BINDING_KINDS = (ROLEBINDINGS, CLUSTERROLEBINDINGS)
_BOUND_KINDS = {"Role": ROLES, "ClusterRole": CLUSTERROLES}
_COLLECTOR_FIELDS = ("ownerReferences", "finalizers", "selfLink", "managedFields")
_LISTED_ATOMS = 1000
"""Of how many atoms a refusal says whether they are held: a short rule can have millions."""
_TOO_MANY = (
    "its rules overlap with those that you hold in too many ways to be compared; "
    "write several rules with fewer verbs, groups and resources each"
)
_AGGREGATION = "must have cluster-admin privileges to use the aggregationRule"


def confirm_no_escalation(
    authorizer: Authorizer, access: Access, kind: Kind, new: Obj, old: Obj | None = None
) -> None:
    """Raise Forbidden where the write would give away rights that the user does not hold.

    `access` is the request as it was authorised: its user, namespace and the name in its URL count. Kinds
    that are neither roles nor bindings pass.
    """
    if MASTERS in access.user.groups:
        return
    if kind in _ROLE_KINDS:
        _confirm_role(authorizer, access, kind, new, old)
    elif kind in _BINDING_KINDS:
        _confirm_binding(authorizer, access, kind, new, old)


def _confirm_role(authorizer: Authorizer, access: Access, kind: Kind, new: Obj, old: Obj | None) -> None:
    if _may(authorizer, access, "escalate", kind, access.name):
        return
    if old is not None and only_collector_fields_differ(new, old):
        return
    _confirm_held(authorizer, access, kind, new, rules_of(new))
    if _aggregates(new) or (old is not None and _aggregates(old)):
        held, _ = authorizer.rules_for(access.user, access.namespace)
        if not covers(held, FULL_AUTHORITY):  # two atoms: never too many
            raise status.forbidden(kind, name_of(new), _AGGREGATION)


def _confirm_binding(authorizer: Authorizer, access: Access, kind: Kind, new: Obj, old: Obj | None) -> None:
    if old is not None and only_collector_fields_differ(new, old):
        return
    ref = role_ref_of(new)
    bound = _BOUND_KINDS.get(ref.kind)
    if bound is not None and _may(authorizer, access, "bind", bound, ref.name):
        return
    namespace = access.namespace if kind is ROLEBINDINGS else ""
    rules = authorizer.role_rules(ref, namespace)
    if rules is None:
        # The real server speaks of the binding's resource here, though it is the role that is missing.
        raise _missing(ref, kind if bound else None)
    _confirm_held(authorizer, access, kind, new, rules)


def only_collector_fields_differ(new: Obj, old: Obj) -> bool:
    """Whether the update touches nothing but what the garbage collector writes."""
    return bool(_comparable(new) == _comparable(old))


def _may(authorizer: Authorizer, access: Access, verb: str, kind: Kind, name: str) -> bool:
    question = Access(access.user, verb, kind.group, "*", kind.plural, namespace=access.namespace, name=name)
    return authorizer.authorize(question).allowed


def _confirm_held(
    authorizer: Authorizer, access: Access, kind: Kind, new: Obj, wanted: Sequence[Rule]
) -> None:
    user: User = access.user
    held, unresolved = authorizer.rules_for(user, access.namespace)
    try:
        gap = first_uncovered(held, wanted)
    except TooManyCombinations:
        raise status.forbidden(kind, name_of(new), _TOO_MANY) from None
    if gap is not None:
        missing = uncovered(held, wanted, _LISTED_ATOMS) or [gap]
        errors = [str(_missing(ref, _BOUND_KINDS.get(ref.kind))) for ref in unresolved]
        raise status.forbidden(kind, name_of(new), escalation(user, missing, errors))


def _missing(ref: RoleRef, kind: Kind | None) -> Exception:
    if kind is None:
        return InternalError(f"unsupported role reference kind: {quote(ref.kind)}")
    return status.not_found(kind, ref.name)


def _aggregates(role: Obj) -> bool:
    rule = role.get("aggregationRule")
    return isinstance(rule, dict) and bool(rule.get("clusterRoleSelectors"))


def _comparable(obj: Obj) -> Any:
    meta = obj.get("metadata") or {}
    kept = {key: value for key, value in meta.items() if key not in _COLLECTOR_FIELDS}
    body = {key: value for key, value in obj.items() if key not in ("kind", "apiVersion", "metadata")}
    return _without_empty({**body, "metadata": kept})


def _without_empty(value: Any) -> Any:
    """Missing, null and empty mean the same in a comparison."""
    if isinstance(value, dict):
        cleaned = {key: _without_empty(item) for key, item in value.items()}
        return {key: item for key, item in cleaned.items() if item not in (None, "", [], {})}
    return [_without_empty(item) for item in value] if isinstance(value, list) else value
