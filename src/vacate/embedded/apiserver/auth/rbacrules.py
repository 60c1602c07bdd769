"""Whether a rule of a role allows an access: the evaluation rules of Kubernetes RBAC.

Rules only ever allow. A wildcard in verbs, groups or resources means all of them; `*/scale` means that
subresource of every resource; `pods` does not include `pods/status`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vacate.api.identity import Access, combined_resource
from vacate.api.policyrules import Rule

ALL = "*"


FULL_AUTHORITY = (Rule(verbs=(ALL,), groups=(ALL,), resources=(ALL,)), Rule(verbs=(ALL,), urls=(ALL,)))
"""Everything that can be asked."""


def rule_of(obj: Mapping[str, Any]) -> Rule:
    """Read a rule; what is missing, null or no list of texts counts as empty."""
    return Rule(
        verbs=_texts(obj.get("verbs")),
        groups=_texts(obj.get("apiGroups")),
        resources=_texts(obj.get("resources")),
        names=_texts(obj.get("resourceNames")),
        urls=_texts(obj.get("nonResourceURLs")),
    )


def rules_of(role: Mapping[str, Any]) -> tuple[Rule, ...]:
    """The rules that stand in a role itself."""
    listed = role.get("rules")
    return (
        tuple(rule_of(rule) for rule in listed if isinstance(rule, dict)) if isinstance(listed, list) else ()
    )


def allows(rule: Rule, access: Access) -> bool:
    """Whether this rule alone allows the access."""
    if access.path is not None:
        return allows_path(rule, access.verb, access.path)
    return allows_any_name(rule, access) and (not rule.names or access.name in rule.names)


def allows_any_name(rule: Rule, access: Access) -> bool:
    """Whether the rule allows the access to at least one name; paths are no matter of names."""
    return (
        _includes(rule.verbs, access.verb)
        and _includes(rule.groups, access.group)
        and _includes_resource(rule.resources, access)
    )


def allows_path(rule: Rule, verb: str, path: str) -> bool:
    """Whether the rule allows the verb on a path that is no resource."""
    return _includes(rule.verbs, verb) and any(url_includes(url, path) for url in rule.urls)


def url_includes(pattern: str, path: str) -> bool:
    """Whether the path is the pattern, or begins with what stands before the pattern's final stars."""
    return pattern == path or (pattern.endswith(ALL) and path.startswith(pattern.rstrip(ALL)))


def _includes(listed: tuple[str, ...], wanted: str) -> bool:
    return wanted in listed or ALL in listed


def _includes_resource(listed: tuple[str, ...], access: Access) -> bool:
    if _includes(listed, combined_resource(access)):
        return True
    return bool(access.subresource) and f"*/{access.subresource}" in listed


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
