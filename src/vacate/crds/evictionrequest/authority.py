"""Who may write which part of a request's status.

The process belongs to the controller: whose turn it is, how many evictions were refused, and the conditions
that report on it. Everything else of the status belongs to interceptors, and where a name is bound to
accounts, to those accounts while that interceptor is active.
"""

from __future__ import annotations

from vacate.admission.checks import same
from vacate.admission.context import Context
from vacate.api.fielderrors import FieldError, forbidden
from vacate.api.objects import Obj
from vacate.api.times import parse_time
from vacate.api.types.evictionrequest import FORBID, OWN_CONDITIONS
from vacate.api.untyped import mapping, maps, text

CONTROLLER_FIELDS = ("activeInterceptorName", "podEvictionStatus")
"""The fields of the status that the controller alone writes, beside its conditions."""

REPORTED_FIELDS = (
    "activeInterceptorCompleted",
    "expectedInterceptorFinishTime",
    "heartbeatTime",
    "message",
    "conditions",
)
"""What an interceptor reports with. The policy is apart: every writer may allow cancellation again."""

_POLICY = "evictionRequestCancellationPolicy"
_CONTROLLERS = "written by the eviction request controller only"


def keep_controller_conditions(new: Obj, old: Obj, ctx: Context) -> None:
    """Put back the controller's conditions that another writer has left out of the list.

    A merge patch replaces the whole list, and a client may cut times down to seconds: neither is meant as a
    change of what the controller wrote.
    """
    if ctx.authority.is_controller(ctx.user):
        return
    stored = {text(one.get("type")): one for one in maps(mapping(old.get("status")).get("conditions"))}
    own = {sort: one for sort, one in stored.items() if sort in OWN_CONDITIONS}
    status = new.get("status")
    if not own or type(status) is not dict or type(status.get("conditions", [])) is not list:
        return
    written = status.get("conditions") or []
    if any(type(one) is not dict for one in written):
        return
    kept = [own[one["type"]] if _equivalent(one, own.get(text(one.get("type")))) else one for one in written]
    named = {text(one.get("type")) for one in written}
    missing = [one for sort, one in own.items() if sort not in named]
    if missing or kept != written:
        status["conditions"] = [*missing, *kept]


def authority_errors(new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
    """What this user may not write in the step from the old status to the new one."""
    if ctx.authority.is_controller(ctx.user):
        return []
    after, before = mapping(new.get("status")), mapping(old.get("status"))
    found = [
        forbidden(f"status.{field}", f'{_CONTROLLERS}, not by user "{ctx.user.name}"')
        for field in CONTROLLER_FIELDS
        if not same(after.get(field), before.get(field))
    ]
    return [*found, *_condition_errors(after, before, ctx), *_bound_errors(after, before, old, ctx)]


def _condition_errors(after: Obj, before: Obj, ctx: Context) -> list[FieldError]:
    stored = {text(one.get("type")): one for one in maps(before.get("conditions"))}
    found: list[FieldError] = []
    for index, one in enumerate(maps(after.get("conditions"))):
        sort = text(one.get("type"))
        if sort in OWN_CONDITIONS and not same(one, stored.get(sort)):
            detail = f'condition {sort} is {_CONTROLLERS}, not by user "{ctx.user.name}"; choose another type'
            found.append(forbidden(f"status.conditions[{index}]", detail))
    return found


def _bound_errors(after: Obj, before: Obj, old: Obj, ctx: Context) -> list[FieldError]:
    """Reports for a bound interceptor come from its accounts; allowing cancellation is open to all."""
    active = text(before.get("activeInterceptorName"))
    if not active:
        return _early_forbid_errors(after, before, old, ctx)
    accounts = ctx.authority.accounts_of(active)
    if not accounts or ctx.user.name in accounts:
        return []
    changed = [field for field in REPORTED_FIELDS if not same(after.get(field), before.get(field))]
    if _forbids(after) and not _forbids(before):
        changed.append(_POLICY)
    bound = f"interceptor {active} is active and bound to {', '.join(accounts)}"
    detail = (
        f'{bound}; user "{ctx.user.name}" may not report for it. An administrator may, as that account: '
        f"kubectl --as={accounts[0]}"
    )
    return [forbidden(f"status.{field}", detail) for field in changed]


def _early_forbid_errors(after: Obj, before: Obj, old: Obj, ctx: Context) -> list[FieldError]:
    if not _forbids(after) or _forbids(before):
        return []
    names = [text(one.get("name")) for one in maps(mapping(old.get("spec")).get("interceptors"))]
    bound = [name for name in names if ctx.authority.accounts_of(name)]
    if not bound:
        return []
    detail = f"interceptor {bound[0]} is bound to accounts; no interceptor is active yet that could forbid it"
    return [forbidden(f"status.{_POLICY}", detail)]


def _forbids(status: Obj) -> bool:
    return text(status.get(_POLICY)) == FORBID


def _equivalent(one: Obj, stored: Obj | None) -> bool:
    """Whether a condition says what the stored one says, its time to the second."""
    if stored is None:
        return False
    timeless = {**one, "lastTransitionTime": stored.get("lastTransitionTime")}
    return same(timeless, stored) and _second(one) == _second(stored)


def _second(one: Obj) -> int | None:
    try:
        return int(parse_time(text(one.get("lastTransitionTime"))).timestamp())
    except (ValueError, OverflowError):
        return None
