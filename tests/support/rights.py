"""The rights of each controller of the product, written down: one more must be added here.

`rights.txt` has the name of each controller, and below it a line for each resource with the verbs.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from vacate.api.policyrules import Rule

Rights = dict[str, set[str]]
"""Verbs by `PLURAL[.GROUP][/SUBRESOURCE]`."""


def written_rights() -> dict[str, Rights]:
    """What is written down, by controller."""
    found: dict[str, Rights] = {}
    rights: Rights = {}
    for line in (Path(__file__).parent / "rights.txt").read_text().splitlines():
        if line.startswith(" "):
            resource, _, verbs = line.strip().partition(": ")
            rights[resource] = set(verbs.split())
        else:
            rights = found[line] = {}
    return found


def rights_of(rules: Iterable[Rule]) -> Rights:
    """What the rules give. Names and wildcards are no part of it: no controller has such a rule."""
    found: Rights = {}
    for rule in rules:
        assert not rule.names
        assert not rule.urls
        for group in rule.groups:
            for resource in rule.resources:
                found.setdefault(resource_name(group, resource), set()).update(rule.verbs)
    return found


def resource_name(group: str, resource: str) -> str:
    """`poddisruptionbudgets.policy`, `pods/eviction`."""
    plural, slash, sub = resource.partition("/")
    return f"{plural}{'.' if group else ''}{group}{slash}{sub}"
