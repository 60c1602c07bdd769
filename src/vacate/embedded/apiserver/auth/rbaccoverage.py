"""Whether the rules that someone holds cover the rules that someone wants to grant.

A wanted rule stands for every combination of its verbs, groups, resources and names: an atom each. A short
rule has millions of them, so the answer is found without listing them. Values that the same held rules cover
are alike, and of those one is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice, product
from operator import and_

from vacate.api.policyrules import Rule
from vacate.embedded.apiserver.auth.rbacindex import RuleIndex
from vacate.errors import VacateError

MAX_COMBINATIONS = 50_000
"""Most combinations that one comparison looks at; roles in use need a few hundred."""


class TooManyCombinations(VacateError):
    """The rules overlap in so many ways that comparing them would take too long."""


def covers(held: Iterable[Rule], wanted: Iterable[Rule]) -> bool:
    """Whether everything that the wanted rules allow is allowed by the held ones.

    Raises TooManyCombinations where that cannot be decided with reasonable work.
    """
    return first_uncovered(held, wanted) is None


def first_uncovered(held: Iterable[Rule], wanted: Iterable[Rule]) -> Rule | None:
    """An atom of the wanted rules that no held rule covers, or None where there is none.

    Raises TooManyCombinations where that cannot be decided with reasonable work.
    """
    search = _Search(RuleIndex(held))
    for rule in wanted:
        atom = search.gap(rule)
        if atom is not None:
            return atom
    return None


def uncovered(held: Iterable[Rule], wanted: Iterable[Rule], most: int | None = None) -> list[Rule]:
    """The atoms of the wanted rules that no held rule covers, in order; of the first `most` atoms only."""
    index = RuleIndex(held)
    every = (atom for rule in wanted for atom in atoms(rule))
    return [atom for atom in islice(every, most) if not index.atom(atom)]


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


# One list of a wanted rule: a value for each set of held rules that cover it, by the set's mask.
_Values = dict[int, str]


@dataclass(slots=True)
class _Search:
    """Looks for combinations that nothing covers; counts what it looked at."""

    index: RuleIndex
    combinations: int = 0

    def gap(self, rule: Rule) -> Rule | None:
        """An atom of the rule that no held rule covers."""
        index = self.index
        verbs = {index.verb(verb): verb for verb in rule.verbs}
        groups = {index.group(group): group for group in rule.groups}
        resources = {index.resource(resource): resource for resource in rule.resources}
        names = {index.name(name): name for name in rule.names} or {index.unnamed: ""}
        found = self._gap((groups, resources, names, verbs))
        if found is not None:
            group, resource, name, verb = found
            return Rule((verb,), (group,), (resource,), (name,) if rule.names else ())
        found = self._gap(({index.url(url): url for url in rule.urls}, verbs))
        return Rule((found[1],), urls=(found[0],)) if found is not None else None

    def _gap(self, lists: Sequence[_Values]) -> tuple[str, ...] | None:
        """One value of each list that no rule covers together, if there are such values."""
        if not all(lists):
            return None
        # Which rules cover all values of a list and of those after it.
        common = [reduce(and_, values) for values in lists]
        rests = [reduce(and_, common[place:]) for place in range(len(lists))]
        return self._descend(lists, rests, ~0)

    def _descend(
        self, lists: Sequence[_Values], rests: Sequence[int], mask: int, place: int = 0
    ) -> tuple[str, ...] | None:
        self.combinations += 1
        if self.combinations > MAX_COMBINATIONS:
            raise TooManyCombinations
        if not mask:
            return tuple(next(iter(values.values())) for values in lists[place:])
        if place == len(lists) or mask & rests[place]:
            return None  # at least one rule covers everything from here
        for covering, value in lists[place].items():
            found = self._descend(lists, rests, mask & covering, place + 1)
            if found is not None:
                return (value, *found)
        return None
