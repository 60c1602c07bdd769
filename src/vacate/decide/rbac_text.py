"""Refusals in the words of kube-apiserver, with its way of quoting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vacate.api.identity import Access, User
from vacate.api.policyrules import Rule
from vacate.decide.rbac import combined_resource, is_resource_access
from vacate.decide.rbac_covers import compact
from vacate.errors import Forbidden

_SHORT = {
    "\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v",
    '"': r"\"", "\\": r"\\",
}  # fmt: skip
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


def denial(access: Access) -> str:
    """Who cannot do what, and where."""
    who = f"User {quote(access.user.name)} cannot {access.verb}"
    if not is_resource_access(access):
        return f"{who} path {quote(access.path)}"
    what = f"resource {quote(combined_resource(access))} in API group {quote(access.group)}"
    where = f"in the namespace {quote(access.namespace)}" if access.namespace else "at the cluster scope"
    return f"{who} {what} {where}"


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


def quote(text: str) -> str:
    """Double quotes and escapes as Go's `%q` has them."""
    return '"' + "".join(_escape(char) for char in text) + '"'


def quote_all(texts: Iterable[str]) -> str:
    """A list as Go's `%q` has it: quoted items between spaces."""
    return "[" + " ".join(quote(text) for text in texts) + "]"


def _escape(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _subject_of_refusal(access: Access) -> str:
    if not access.group and not access.resource:
        return ""
    resource = f"{access.resource}.{access.group}" if access.group else access.resource
    return f"{resource} {quote(access.name)} is " if access.name else f"{resource} is "
