"""Who holds a set of rules may grant another only where nothing in it goes beyond."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.api.identity import Access, User
from vacate.api.policyrules import Rule
from vacate.decide.rbac import FULL_AUTHORITY, any_allows
from vacate.decide.rbac_covers import atoms, compact, covers, uncovered

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


@given(rule_lists, rule_lists, accesses)
def test_what_is_covered_allows_nothing_more(held: list[Rule], wanted: list[Rule], access: Access) -> None:
    missing = uncovered(held, wanted)
    if any_allows(wanted, access):
        assert any_allows(held, access) or any_allows(missing, access)


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
