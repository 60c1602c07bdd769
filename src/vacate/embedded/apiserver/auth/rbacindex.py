"""Rules that someone holds, indexed so that what covers a value is one look-up, however long the rules are.

A mask is a set of held rules as the bits of one integer: bit `i` for the i-th rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from vacate.api.policyrules import Rule
from vacate.embedded.apiserver.auth.rbacrules import ALL


class RuleIndex:
    """Which held rules cover one verb, group, resource, name or path."""

    def __init__(self, held: Iterable[Rule]) -> None:
        rules = tuple(held)
        self._verbs = _Values(rules, lambda rule: rule.verbs)
        self._groups = _Values(rules, lambda rule: rule.groups)
        self._resources = _Values(rules, lambda rule: rule.resources)
        self._names = _Values(rules, lambda rule: rule.names)
        self._urls = _Values(rules, lambda rule: rule.urls)
        # Paths by what stands before their final stars, and the lengths of those beginnings.
        self._prefixes = _Values(
            rules, lambda rule: [url.rstrip(ALL) for url in rule.urls if url[-1:] == ALL]
        )
        self._lengths = sorted({len(prefix) for prefix in self._prefixes.values})
        self.unnamed = _mask([number for number, rule in enumerate(rules) if not rule.names])

    def verb(self, value: str) -> int:
        """The rules that have the verb, or all verbs."""
        return self._verbs.mask(value) | self._verbs.mask(ALL)

    def group(self, value: str) -> int:
        """The rules that have the group, or all groups."""
        return self._groups.mask(value) | self._groups.mask(ALL)

    def resource(self, value: str) -> int:
        """The rules that have the resource, its subresource of every resource, or all resources."""
        found = self._resources.mask(value) | self._resources.mask(ALL)
        _, slash, subresource = value.partition("/")
        return found | self._resources.mask(f"*/{subresource}") if slash else found

    def name(self, value: str) -> int:
        """The rules that have the name, or apply to every name."""
        return self._names.mask(value) | self.unnamed

    def url(self, value: str) -> int:
        """The rules that have the path, or a beginning of it with a star; rules for names have none."""
        found = self._urls.mask(value)
        for length in self._lengths:
            if length > len(value):
                break
            found |= self._prefixes.mask(value[:length])
        return found & self.unnamed

    def atom(self, rule: Rule) -> int:
        """The rules that cover a rule of one verb, group, resource and name, or one verb and path."""
        found = self.verb(rule.verbs[0])
        if rule.urls:
            return found & self.url(rule.urls[0])
        found &= self.group(rule.groups[0]) & self.resource(rule.resources[0])
        return found & (self.name(rule.names[0]) if rule.names else self.unnamed)


class _Values:
    """The rules by the values of one of their lists."""

    def __init__(self, rules: Sequence[Rule], read: Callable[[Rule], Iterable[str]]) -> None:
        self.values: dict[str, list[int]] = {}
        self._masks: dict[str, int] = {}
        for number, rule in enumerate(rules):
            for value in read(rule):
                self.values.setdefault(value, []).append(number)

    def mask(self, value: str) -> int:
        known = self._masks.get(value)
        if known is None:
            numbers = self.values.get(value)
            if numbers is None:
                return 0
            known = self._masks[value] = _mask(numbers)
        return known


def _mask(numbers: Sequence[int]) -> int:
    if not numbers:
        return 0
    bits = bytearray(numbers[-1] // 8 + 1)
    for number in numbers:
        bits[number // 8] |= 1 << number % 8
    return int.from_bytes(bits, "little")
