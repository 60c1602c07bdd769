"""Rules of definitions as the embedded server evaluates them: the cases are those of the real server."""

from __future__ import annotations

from typing import Any

import pytest

from support.realcluster.crd_steps import CREATIONS, SPECS, STATUSES, Case, merged, request
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.objects import Obj
from vacate.crds.catalogue import DECLARATIONS, declaration_of
from vacate.crds.customresource import CustomResource
from vacate.crds.definition import definition
from vacate.crds.schema.formats import matches
from vacate.embedded.cel.ruletree import RuleTree
from vacate.embedded.registry.customresources import rules_of

pytestmark = pytest.mark.unit


def written(schema: Obj) -> int:
    """How many rules a schema has, wherever they are."""
    inner = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    found = len(schema.get("x-kubernetes-validations", ()))
    return found + sum(written(one) for one in inner if isinstance(one, dict))


@pytest.mark.parametrize("declaration", DECLARATIONS, ids=lambda one: str(one.kind.kind))
def test_no_rule_of_a_definition_is_left_out(declaration: CustomResource) -> None:
    (version,) = definition((), declaration)["spec"]["versions"]
    assert rules_of(declaration.kind).count == written(version["schema"]["openAPIV3Schema"]) > 0


def found(new: Obj, old: Obj | None = None) -> tuple[str, ...]:
    structure = declaration_of(KIND).structure
    structure.prune(new)
    structure.fill_defaults(new)
    errors = structure.field_errors({**new, "metadata": {}}) or rules_of(KIND).field_errors(new, old)
    return tuple(map(str, errors))


def made(case: Case) -> Obj:
    obj = request(**case.spec)
    obj["metadata"] |= case.step.get("metadata", {}) if not case.before else {}
    obj["status"] = {}
    return obj


@pytest.mark.parametrize("case", CREATIONS, ids=lambda case: case.title)
def test_new_requests(case: Case) -> None:
    errors = found(made(case))
    assert case.agrees(errors), errors


@pytest.mark.parametrize("case", [*SPECS, *STATUSES], ids=lambda case: case.title)
def test_steps(case: Case) -> None:
    old = request(**case.spec) | {"status": {}}
    assert found(old) == ()
    for step in case.before:
        new = merged(old, step)
        assert found(new, old) == ()
        old = new
    errors = found(merged(old, case.step), old)
    assert case.agrees(errors), errors


def test_the_type_stays_where_there_are_two() -> None:
    """The schema knows one type only; the rule is for the day on which it knows more."""
    old = request() | {"status": {}}
    declaration_of(KIND).structure.fill_defaults(old)
    errors = rules_of(KIND).field_errors(merged(old, {"spec": {"type": "Hard"}}), old)
    assert [str(one) for one in errors] == ['spec.type: Invalid value: "Hard": field is immutable']


def rule(text: str, **more: Any) -> Obj:
    return {"rule": text, "message": "no", "reason": "FieldValueInvalid", **more}


def tree(spec: Obj, *rules: Obj) -> RuleTree:
    properties = {"spec": {"type": "object", **spec}}
    return RuleTree({"type": "object", "properties": properties, "x-kubernetes-validations": list(rules)})


def errors(rules: RuleTree, new: Obj, old: Obj | None = None) -> list[str]:
    shown = [None if one is None else {"metadata": {"name": "a"}, "spec": one} for one in (new, old)]
    assert shown[0] is not None
    return [str(one) for one in rules.field_errors(shown[0], shown[1])]


ITEM = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "n": {"type": "integer", "x-kubernetes-validations": [rule("self >= oldSelf")]},
        "even": {"type": "integer", "x-kubernetes-validations": [rule("self % 2 == 0")]},
    },
}
MAP_LIST = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}


def listing(**kind: Any) -> RuleTree:
    return tree({"properties": {"items": {"type": "array", "items": ITEM, **kind}}})


def test_items_of_map_lists_are_found_by_their_keys() -> None:
    before = {"items": [{"name": "a", "n": 3}, {"name": "b", "n": 1}]}
    swapped = {"items": [{"name": "b", "n": 2}, {"name": "a", "n": 3}, {"name": "new", "n": 0}]}
    assert errors(listing(**MAP_LIST), swapped, before) == []
    fallen = {"items": [{"name": "b", "n": 1}, {"name": "a", "n": 2}]}
    assert errors(listing(**MAP_LIST), fallen, before) == ["spec.items[1].n: Invalid value: 2: no"]
    assert errors(listing(), fallen, before) == [], "items of other lists have no old ones"


def test_what_has_not_changed_is_forgiven() -> None:
    before = {"items": [{"name": "a", "even": 1}, {"name": "b", "even": 2}]}
    rules = listing(**MAP_LIST)
    assert errors(rules, before) == ["spec.items[0].even: Invalid value: 1: no"]
    assert errors(rules, {"items": before["items"][::-1]}, before) == []
    changed = {"items": [{"name": "a", "even": 1}, {"name": "b", "even": 3}]}
    assert errors(rules, changed, before) == ["spec.items[1].even: Invalid value: 3: no"]
    assert errors(listing(), before, before) == [], "an item is unchanged where its list is"


def test_rules_for_new_objects_and_messages_that_name_values() -> None:
    rules = tree(
        {"properties": {"n": {"type": "integer"}}},
        rule(
            "oldSelf.hasValue() ? self.spec.n >= oldSelf.value().spec.n : self.spec.n == 0",
            optionalOldSelf=True,
            fieldPath=".spec.n",
            messageExpression="'n is ' + string(self.spec.n)",
        ),
    )
    assert errors(rules, {"n": 0}) == []
    assert errors(rules, {"n": 1}) == ["spec.n: Invalid value: n is 1"]
    assert errors(rules, {"n": 1}, {"n": 1}) == []
    assert errors(rules, {"n": 0}, {"n": 1}) == ["spec.n: Invalid value: n is 0"]


def test_a_rule_that_cannot_be_evaluated_is_broken() -> None:
    assert errors(tree({}, rule("self.spec.missing == 1")), {}) == [": Invalid value: no"]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [("^a$", "a", True), ("^a$", "a\n", False), (r"^\$\(NODE\)$", "$(NODE)", True), ("^[$]$", "$", True)],
)
def test_patterns_are_those_of_go(pattern: str, text: str, expected: bool) -> None:
    assert matches(pattern, text) is expected
    rules = tree({"properties": {"t": {"type": "string"}}}, rule(f"self.spec.t.matches(r'{pattern}')"))
    assert (errors(rules, {"t": text}) == []) is expected
