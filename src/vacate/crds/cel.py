"""Rules in CEL, as a definition writes them, and the expressions that several of them share.

A rule sees what it stands at, before and after, where both are there: what is required or has a default
always is. A rule that must see a field being cleared stands above it. Else it stands as near as it can to
what it speaks of, and asks first what is mostly so: with each write, every step of every path costs the
server as much as the object there has fields.

Fields that may be missing are asked for with `has`: the server reckons what a rule may cost at worst, and
forgets the limits of what is read as optional.
"""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.objects import Obj

INVALID, FORBIDDEN, REQUIRED = "FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired"


def rule(
    holds: str,
    message: str,
    *,
    path: str = "",
    reason: str = INVALID,
    message_expression: str = "",
    created: bool = False,
) -> Obj:
    """What must hold. `message_expression` makes a message that names values; `created` rules look at new
    objects too, for which there is no `oldSelf`."""
    made: Obj = {"rule": holds, "message": message, "reason": reason}
    if path:
        made["fieldPath"] = path
    if message_expression:
        made["messageExpression"] = message_expression
    if created:
        made["optionalOldSelf"] = True
    return made


def any_of(*holds: str) -> str:
    """At least one of them."""
    return " || ".join(f"({one})" if "&&" in one or "?" in one else one for one in holds)


def listed(values: Sequence[str]) -> str:
    """A list of texts."""
    return f"[{', '.join(text(value) for value in values)}]"


def text(value: str) -> str:
    """A literal."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def value(owner: str, field: str, default: str) -> str:
    """A field of an object, or what stands for nothing."""
    return f"(has({owner}.{field}) ? {owner}.{field} : {default})"


def complete(status: str) -> str:
    """Whether the request of this status has ended."""
    found = some_condition(status, "c.type == 'Complete' && c.status == 'True'")
    return f"({found})"


def some_condition(status: str, holds: str) -> str:
    """Whether a condition `c` is as given."""
    return f"has({status}.conditions) && {status}.conditions.exists(c, {holds})"


def names(which: str, field: str) -> str:
    """The names of requesters or interceptors in their order, which comparing the lists would not see."""
    return f"(has({which}.spec.{field}) ? {which}.spec.{field}.map(one, one.name) : [])"
