"""Who holds a set of rules may grant another only where nothing in it goes beyond."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.api.identity import Access, User
from vacate.api.policyrules import Rule
from vacate.embedded.apiserver.auth.rbaccoverage import (
    TooManyCombinations,
    atoms,
    compact,
    covers,
    first_uncovered,
    uncovered,
)
from vacate.embedded.apiserver.auth.rbacrules import FULL_AUTHORITY, allows

pytestmark = pytest.mark.unit

VERBS = ("get", "list", "*")
GROUPS = ("", "apps", "*")
RESOURCES = ("pods", "pods/status", "nodes/status", "*/status", "*")
NAMES = ("a", "b")
URLS = ("/healthz", "/healthz/etcd", "/healthz/*", "*")


def some(values: tuple[str, ...], smallest: int = 0) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(values), min_size=smallest, max_size=3, unique=True).map(tuple)


resource_rules = st.builds(
    Rule, verbs=some(VERBS, 1), groups=some(GROUPS, 1), resources=some(RESOURCES, 1), names=some(NAMES)
)
path_rules = st.builds(Rule, verbs=some(VERBS, 1), urls=some(URLS, 1))
rule_lists = st.lists(st.one_of(resource_rules, path_rules), max_size=4)
resource_accesses = st.builds(
    Access,
    user=st.just(User("x")),
    verb=st.sampled_from(("get", "list", "delete")),
    group=st.sampled_from(("", "apps", "batch")),
    resource=st.sampled_from(("pods", "nodes", "jobs")),
    subresource=st.sampled_from(("", "status", "scale")),
    name=st.sampled_from(("", "a", "b", "c")),
)
path_accesses = st.builds(
    Access,
    user=st.just(User("x")),
    verb=st.sampled_from(("get", "list", "put")),
    path=st.sampled_from(("/healthz", "/healthz/etcd", "/healthz/", "/version")),
)
accesses = st.one_of(resource_accesses, path_accesses)


def any_allows(rules: Iterable[Rule], access: Access) -> bool:
    return any(allows(rule, access) for rule in rules)


@given(rule_lists, rule_lists, accesses)
def test_what_is_covered_allows_nothing_more(held: list[Rule], wanted: list[Rule], access: Access) -> None:
    missing = uncovered(held, wanted)
    if any_allows(wanted, access):
        assert any_allows(held, access) or any_allows(missing, access)


@given(rule_lists, rule_lists)
def test_a_gap_is_found_where_listing_the_atoms_finds_one(held: list[Rule], wanted: list[Rule]) -> None:
    missing, gap = uncovered(held, wanted), first_uncovered(held, wanted)
    assert (gap in missing) if missing else gap is None


def texts(letter: str, count: int) -> tuple[str, ...]:
    return tuple(f"{letter}{number}" for number in range(count))


def test_rules_with_many_values_are_compared_without_listing_their_atoms() -> None:
    """Each of these stands for more atoms than could ever be listed."""
    many = Rule(texts("v", 1000), texts("g", 1000), texts("r", 1000), texts("n", 1000))
    halves = [replace(many, verbs=many.verbs[:500]), replace(many, verbs=many.verbs[500:])]
    assert first_uncovered([many], [many]) is None
    assert first_uncovered(halves, [many]) is None
    gap = first_uncovered([halves[0], replace(halves[1], groups=texts("g", 999))], [many])
    assert gap is not None
    assert gap.groups == ("g999",)
    assert gap.verbs[0] in halves[1].verbs
    assert first_uncovered([], [Rule(texts("v", 5000), urls=texts("/", 5000))]) is not None


def test_rules_that_overlap_in_too_many_ways_are_not_compared_for_ever() -> None:
    verbs, held = texts("v", 40), []
    for number, (group, resource) in enumerate(product(texts("g", 40), texts("r", 40))):
        cut = number % 39 + 1
        held += [Rule(part, (group,), (resource,)) for part in (verbs[:cut], verbs[cut:])]
    with pytest.raises(TooManyCombinations):
        covers(held, [Rule(verbs, texts("g", 40), texts("r", 40))])


@given(rule_lists)
def test_everybody_covers_themselves_and_full_authority_covers_all(rules: list[Rule]) -> None:
    assert covers(rules, rules)
    assert covers(FULL_AUTHORITY, rules)


@given(rule_lists, rule_lists)
def test_what_is_missing_is_exactly_what_must_be_added(held: list[Rule], wanted: list[Rule]) -> None:
    assert covers([*held, *uncovered(held, wanted)], wanted)


@given(rule_lists, accesses)
def test_atoms_and_compacted_rules_allow_the_same(rules: list[Rule], access: Access) -> None:
    broken_down = [atom for rule in rules for atom in atoms(rule)]
    assert any_allows(broken_down, access) == any_allows(rules, access)
    assert any_allows(compact(broken_down), access) == any_allows(rules, access)


def rule(verbs: str, resources: str, names: str = "", groups: tuple[str, ...] = ("",)) -> Rule:
    return Rule(tuple(verbs.split()), groups, tuple(resources.split()), tuple(names.split()))


@pytest.mark.parametrize(
    ("held", "wanted", "covered"),
    [
        ([rule("get", "pods")], [rule("get", "pods", "a")], True),
        ([rule("get", "pods", "a")], [rule("get", "pods")], False),
        ([rule("get", "pods", "a"), rule("get", "pods", "b")], [rule("get", "pods", "a b")], True),
        ([rule("get", "pods"), rule("list", "pods")], [rule("get list", "pods")], True),
        ([rule("get", "pods")], [rule("*", "pods")], False),
        ([rule("get", "*/status")], [rule("get", "pods/status")], True),
        ([rule("get", "pods")], [rule("get", "pods/status")], False),
        ([rule("get", "pods/status")], [rule("get", "*/status")], False),
        ([rule("get", "pods", groups=("apps",))], [rule("get", "pods")], False),
        ([Rule(("get",), urls=("/a/*",))], [Rule(("get",), urls=("/a/b",))], True),
        ([Rule(("get",), urls=("/a/*",))], [Rule(("get",), urls=("/a/b/*",))], True),
        ([Rule(("get",), urls=("/a/b",))], [Rule(("get",), urls=("/a/*",))], False),
        ([Rule(("get",), urls=("/a",))], [Rule(("get",), urls=("*",))], False),
        ([], [], True),
        ([], [rule("", "pods")], True),
    ],
)
def test_covering(held: list[Rule], wanted: list[Rule], covered: bool) -> None:
    assert covers(held, wanted) is covered


def test_rules_of_another_shape_stay_as_they_are() -> None:
    wide = Rule(("get",), ("", "apps"), ("pods",))
    assert compact([rule("get", "pods"), wide, rule("list", "pods")]) == [wide, rule("get list", "pods")]
