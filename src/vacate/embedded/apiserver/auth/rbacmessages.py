"""Refusals in the words of kube-apiserver, with its way of quoting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vacate.api.identity import Access, User, denial, quote
from vacate.api.policyrules import Rule
from vacate.embedded.apiserver.auth.rbaccoverage import compact
from vacate.errors import Forbidden

_NOT_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def forbidden(access: Access, reason: str = "") -> Forbidden:
    """403 for an access that nothing allows."""
    why = denial(access).translate(_NOT_HTML)
    if reason:
        why = f"{why}: {reason}"
    details = {"name": access.name, "group": access.group, "kind": access.resource}
    return Forbidden(
        f"{_subject_of_refusal(access)}forbidden: {why}", details={k: v for k, v in details.items() if v}
    )


def escalation(user: User, missing: Sequence[Rule], unresolved: Sequence[str] = ()) -> str:
    """Who tries to grant what without holding it."""
    listed = "\n".join(sorted({describe(rule) for rule in compact(missing)}))
    text = (
        f"user {quote(user.name)} (groups={quote_all(user.groups)}) is attempting to grant RBAC permissions "
        f"not currently held:\n{listed}"
    )
    return f"{text}; resolution errors: [{join_errors(unresolved)}]" if unresolved else text


def describe(rule: Rule) -> str:
    """A rule on one line: `{APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list"]}`."""
    parts = (
        ("APIGroups", rule.groups),
        ("Resources", rule.resources),
        ("NonResourceURLs", rule.urls),
        ("ResourceNames", rule.names),
        ("Verbs", rule.verbs),
    )
    return "{" + ", ".join(f"{name}:{quote_all(values)}" for name, values in parts if values) + "}"


def join_errors(texts: Iterable[str]) -> str:
    """One error as it is, several in brackets, each only once."""
    unique = list(dict.fromkeys(texts))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"


def quote_all(texts: Iterable[str]) -> str:
    """A list as Go's `%q` has it: quoted items between spaces."""
    return "[" + " ".join(quote(text) for text in texts) + "]"


def _subject_of_refusal(access: Access) -> str:
    if not access.group and not access.resource:
        return ""
    resource = f"{access.resource}.{access.group}" if access.group else access.resource
    return f"{resource} {quote(access.name)} is " if access.name else f"{resource} is "
