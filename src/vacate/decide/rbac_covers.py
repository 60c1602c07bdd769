"""Whether the rules that someone holds cover the rules that someone wants to grant.

Wanted rules are broken down until each names one verb, one group, one resource and at most one name; such an
atom is covered by one held rule or by none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

from vacate.api.policyrules import Rule
from vacate.decide.rbac import ALL, url_includes


def covers(held: Iterable[Rule], wanted: Iterable[Rule]) -> bool:
    """Whether everything that the wanted rules allow is allowed by the held ones."""
    return not uncovered(held, wanted)


def uncovered(held: Iterable[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """The atoms of the wanted rules that no held rule covers, in order."""
    owned = tuple(held)
    return [
        atom for rule in wanted for atom in atoms(rule) if not any(_covers_atom(one, atom) for one in owned)
    ]


def atoms(rule: Rule) -> Iterator[Rule]:
    """The rule as rules of one verb, group, resource and name each; paths only combine with verbs."""
    for group, resource, verb in product(rule.groups, rule.resources, rule.verbs):
        atom = Rule(verbs=(verb,), groups=(group,), resources=(resource,))
        if not rule.names:
            yield atom
        for name in rule.names:
            yield replace(atom, names=(name,))
    for url, verb in product(rule.urls, rule.verbs):
        yield Rule(verbs=(verb,), urls=(url,))


def compact(rules: Sequence[Rule]) -> list[Rule]:
    """Join atoms that differ only by verb; rules of another shape come first, unchanged."""
    merged: dict[tuple[str, str, tuple[str, ...]], Rule] = {}
    others: list[Rule] = []
    for rule in rules:
        if rule.urls or len(rule.names) > 1 or len(rule.groups) != 1 or len(rule.resources) != 1:
            others.append(rule)
            continue
        key = (rule.groups[0], rule.resources[0], rule.names)
        known = merged.get(key)
        merged[key] = replace(known, verbs=known.verbs + rule.verbs) if known else rule
    return others + list(merged.values())


def _covers_atom(held: Rule, atom: Rule) -> bool:
    return (
        _has_all(held.verbs, atom.verbs)
        and _has_all(held.groups, atom.groups)
        and all(_has_resource(held.resources, resource) for resource in atom.resources)
        and all(any(url_includes(own, url) for own in held.urls) for url in atom.urls)
        and _has_names(held.names, atom.names)
    )


def _has_all(held: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return ALL in held or all(item in held for item in wanted)


def _has_resource(held: tuple[str, ...], wanted: str) -> bool:
    if ALL in held or wanted in held:
        return True
    _, slash, subresource = wanted.partition("/")
    return bool(slash) and f"*/{subresource}" in held


def _has_names(held: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    if not held:
        return True
    return bool(wanted) and all(name in held for name in wanted)
