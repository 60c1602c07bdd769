"""The table of rules is whole, and names tests that exist and passages that occur."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache

import pytest
from hack.rules.page import PAGE, page
from hack.rules.table import ROOT, load

from embedded.registry.test_rules import CASES

pytestmark = pytest.mark.unit

RULES = load()
PRESENT = [rule for rule in RULES if not rule.later]
LAST_DECISION = 51
SHOWN = {case.rule for case in CASES}  # each a parameter of the one test


@cache
def names_in(file: str) -> frozenset[str]:
    """The tests and classes that the file defines."""
    tree = ast.parse((ROOT / file).read_text())
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    defined = {node.name for node in ast.walk(tree) if isinstance(node, functions)}
    assigned = {node.target for node in tree.body if isinstance(node, ast.AnnAssign)}
    return frozenset(defined | {one.id for one in assigned if isinstance(one, ast.Name)})


def exists(test: str) -> bool:
    file, _, name = test.partition("::")
    function, _, case = name.partition("[")
    if file == "tests/embedded/registry/test_rules.py" and case.rstrip("0123456789]") not in SHOWN:
        return False
    return (ROOT / file).is_file() and function in names_in(file)


def test_ids_are_unique_words() -> None:
    assert [name for name, count in Counter(rule.id for rule in RULES).items() if count > 1] == []
    assert [rule.id for rule in RULES if not re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", rule.id)] == []


def test_every_rule_has_tests_that_exist() -> None:
    assert [rule.id for rule in PRESENT if not rule.tests] == []
    assert [(rule.id, test) for rule in PRESENT for test in rule.tests if not exists(test)] == []


def test_every_rule_can_be_taken_away() -> None:
    """Where a passage has changed, say anew what takes the rule away: `python -m hack.rules.check ID`."""
    assert [rule.id for rule in PRESENT if rule.mutation is None] == []
    found = {rule.id: rule.mutation.occurrences(ROOT) for rule in PRESENT if rule.mutation}
    assert {name: count for name, count in found.items() if count != 1} == {}
    assert [rule.id for rule in PRESENT if rule.mutation and rule.mutation.old == rule.mutation.new] == []


def test_every_rule_says_something_and_whence() -> None:
    assert [rule.id for rule in RULES if not rule.says.endswith(".") or not rule.source] == []
    origin = re.compile(r"seed: \S.*|decision [0-9]+")
    assert [(rule.id, one) for rule in RULES for one in rule.source if not origin.fullmatch(one)] == []


def test_later_rules_claim_nothing() -> None:
    assert [rule.id for rule in RULES if rule.later and (rule.tests or rule.mutation)] == []


def test_every_decision_is_there() -> None:
    found = {number for rule in RULES for number in rule.decisions()}
    assert found >= set(range(1, LAST_DECISION + 1))


def test_the_page_shows_the_table() -> None:
    assert PAGE.read_text() == page(RULES), "run python -m hack.rules.page"
