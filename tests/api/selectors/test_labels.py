from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.api.selectors.labels import (
    EVERYTHING,
    NOTHING,
    Selector,
    match_expressions,
    parse_selector,
    selector_of,
)
from vacate.api.selectors.requirements import Requirement
from vacate.api.types.meta import LabelSelector
from vacate.errors import BadRequest

pytestmark = pytest.mark.unit

MATCHES = [
    ("", {}, True),
    ("x=y", {"x": "y"}, True),
    ("x=y,z=w", {"x": "y", "z": "w"}, True),
    ("x==y", {"x": "z"}, False),
    ("x!=y,z!=w", {"x": "z", "z": "a"}, True),
    ("x!=y", {}, True),
    ("x", {"x": ""}, True),
    ("!x", {"x": ""}, False),
    ("! x", {"y": ""}, True),
    ("x in (a,b)", {"x": "b"}, True),
    ("x in (a,b)", {}, False),
    ("x notin (a,b)", {}, True),
    ("x notin (a,b)", {"x": "a"}, False),
    ("x=", {"x": ""}, True),
    ("x=", {}, False),
    ("x in ()", {"x": ""}, True),
    ("x in (a,,c)", {"x": ""}, True),
    ("in in (in,notin)", {"in": "notin"}, True),
    ("notin=in", {"notin": "in"}, True),
    ("x>1", {"x": "2"}, True),
    ("x>1", {"x": "zz"}, False),
    ("x<7,x>0", {"x": "8"}, False),
    ("a.b.c/d_e=f.g", {"a.b.c/d_e": "f.g"}, True),
]


@pytest.mark.parametrize(("text", "labels", "selected"), MATCHES)
def test_selects(text: str, labels: dict[str, str], selected: bool) -> None:
    assert parse_selector(text).matches(labels) is selected


PRINTED = {
    "z=1,a=2": "a=2,z=1",
    " x  in ( b , a ) ": "x in (a,b)",
    "x notin (,a)": "x notin (,a)",
    "x in ()": "x in ()",
    "x==1,!y,z": "x==1,!y,z",
    "x>5,y<6": "x>5,y<6",
    "x!=1": "x!=1",
}


@pytest.mark.parametrize(("text", "printed"), PRINTED.items())
def test_prints(text: str, printed: str) -> None:
    assert str(parse_selector(text)) == printed
    assert str(parse_selector(printed)) == printed


NAME_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName', or 'my.name', or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
REFUSED = {
    "x=a||y=b": (
        "unable to parse requirement: values[0][x]: Invalid value: \"a||y\": a valid label must be an "
        "empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
        "alphanumeric character (e.g. 'MyValue', or 'my_value', or '12345', regex used for validation is "
        "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
    ),
    "x,": "found '', expected: identifier after ','",
    ",x": "found ',', expected: !, identifier, or 'end of string'",
    "x y": "unable to parse requirement: found 'y', expected: in, notin, =, ==, !=, gt, lt",
    "!x=a": "found '=', expected: ',' or 'end of string'",
    "!": "unable to parse requirement: found '', expected: identifier",
    "x in": "unable to parse requirement: found '' expected: '('",
    "x in a": "unable to parse requirement: found 'a' expected: '('",
    "x in (": "unable to parse requirement: found '', expected: ',', ')' or identifier",
    "x in (=)": "unable to parse requirement: found '=', expected: ',', ')' or identifier",
    "x in (a": "unable to parse requirement: found '', expected: ',' or ')'",
    "x in (a b)": "unable to parse requirement: found 'b', expected: ',' or ')'",
    "x in (a,=)": "unable to parse requirement: found '=', expected: ',', or identifier",
    "x==!": "unable to parse requirement: found '!', expected: identifier",
    "x>a": (
        "unable to parse requirement: values[0]: Invalid value: \"a\": "
        "for 'Gt', 'Lt' operators, the value must be an integer"
    ),
    "-x": f'unable to parse requirement: <nil>: Invalid value: "-x": {NAME_RULE}',
    "/x": 'unable to parse requirement: <nil>: Invalid value: "/x": prefix part must be non-empty',
    f"x={'a' * 64}": (
        f'unable to parse requirement: values[0][x]: Invalid value: "{"a" * 64}": '
        "must be no more than 63 bytes"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "why"), REFUSED.items())
def test_refuses_in_the_words_of_kubernetes(text: str, why: str) -> None:
    with pytest.raises(BadRequest) as refused:
        parse_selector(text)
    assert refused.value.message == why.replace("', or '", "',  or '")


OBJECTS: list[tuple[dict[str, object], str]] = [
    ({}, ""),
    ({"matchLabels": {"b": "1", "a": "2"}}, "a=2,b=1"),
    ({"matchExpressions": [{"key": "k", "operator": "In", "values": ["y", "x"]}]}, "k in (x,y)"),
    ({"matchExpressions": [{"key": "k", "operator": "NotIn", "values": ["x"]}]}, "k notin (x)"),
    ({"matchExpressions": [{"key": "k", "operator": "Exists"}]}, "k"),
    ({"matchExpressions": [{"key": "k", "operator": "DoesNotExist", "values": None}]}, "!k"),
    ({"matchLabels": {"z": ""}, "matchExpressions": [{"key": "a", "operator": "Exists"}]}, "a,z="),
]


@pytest.mark.parametrize(("source", "printed"), OBJECTS)
def test_selectors_of_objects(source: dict[str, object], printed: str) -> None:
    assert str(selector_of(source)) == printed


def test_no_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert selector_of(None) == NOTHING
    assert not NOTHING.matches({"a": "b"})
    assert not NOTHING.everything
    assert selector_of({}) == EVERYTHING == selector_of(LabelSelector())
    assert EVERYTHING.matches(None)
    assert EVERYTHING.everything


def test_projections_and_dicts_give_the_same_selector() -> None:
    expressions = [{"key": "k", "operator": "In", "values": ["a"]}]
    projection = LabelSelector(match_labels={"x": "y"}, match_expressions=expressions)
    assert selector_of(projection) == selector_of(
        {"matchLabels": {"x": "y"}, "matchExpressions": expressions}
    )


BAD_OBJECTS: list[tuple[dict[str, object], str]] = [
    (
        {"matchExpressions": [{"key": "k", "operator": "Near"}]},
        '"Near" is not a valid label selector operator',
    ),
    (
        {"matchExpressions": [{"key": "k", "operator": "In", "values": []}]},
        "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
    ),
    (
        {"matchExpressions": [{"key": "k", "operator": "Exists", "values": ["a"]}]},
        'values: Invalid value: ["a"]: values set must be empty for exists and does not exist',
    ),
]


@pytest.mark.parametrize(("source", "why"), BAD_OBJECTS)
def test_bad_selectors_of_objects(source: dict[str, object], why: str) -> None:
    with pytest.raises(BadRequest) as refused:
        selector_of(source)
    assert refused.value.message == why


def test_text_becomes_the_expressions_of_an_object() -> None:
    assert match_expressions("") == []
    assert match_expressions("a,!b,c=1,d==2,e!=3,f in (y,x),g notin (z),h=") == [
        {"key": "a", "operator": "Exists"},
        {"key": "b", "operator": "DoesNotExist"},
        {"key": "c", "operator": "In", "values": ["1"]},
        {"key": "d", "operator": "In", "values": ["2"]},
        {"key": "e", "operator": "NotIn", "values": ["3"]},
        {"key": "f", "operator": "In", "values": ["x", "y"]},
        {"key": "g", "operator": "NotIn", "values": ["z"]},
        {"key": "h", "operator": "In", "values": [""]},
    ]


@pytest.mark.parametrize("text", ["a>1", "a<1", "b=c,a>1"])
def test_comparisons_have_no_place_in_an_object(text: str) -> None:
    with pytest.raises(BadRequest, match="compares numbers, which label selectors of objects cannot"):
        match_expressions(text)


@pytest.mark.parametrize("labels", [{}, {"a": "1"}, {"a": "2", "b": ""}, {"b": "x", "c": "1"}])
@pytest.mark.parametrize("text", ["a", "!a", "a=1", "a!=1", "a in (1,2),b", "c notin (1)", "b="])
def test_the_expressions_select_what_the_text_selects(text: str, labels: dict[str, str]) -> None:
    of_object = selector_of({"matchExpressions": match_expressions(text)})
    assert of_object.matches(labels) is parse_selector(text).matches(labels)


def test_exact_value_of_a_label() -> None:
    selector = parse_selector("a=1,b in (2),c in (3,4),d!=5")
    assert [selector.exact(key) for key in "abcde"] == ["1", "2", None, None, None]
    assert str(selector_of({"matchLabels": {"b": "2", "a": "1"}})) == "a=1,b=2"


KEYS = st.from_regex(
    r"([a-z0-9]{1,3}\.[a-z]{1,3}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,5}[A-Za-z0-9])?", fullmatch=True
)
VALUES = st.from_regex(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,5}[A-Za-z0-9])?)?", fullmatch=True)
REQUIREMENTS = st.one_of(
    st.builds(Requirement, KEYS, st.sampled_from(["=", "==", "!="]), st.tuples(VALUES)),
    st.builds(
        lambda key, operator, values: Requirement(key, operator, tuple(sorted(values))),
        KEYS,
        st.sampled_from(["in", "notin"]),
        st.sets(VALUES, min_size=1, max_size=3),
    ),
    st.builds(Requirement, KEYS, st.sampled_from(["exists", "!"])),
    st.builds(
        Requirement, KEYS, st.sampled_from(["gt", "lt"]), st.tuples(st.integers(0, 2**63 - 1).map(str))
    ),
)


@pytest.mark.thorough
@given(st.lists(REQUIREMENTS, max_size=5))
def test_what_is_printed_reads_back(requirements: list[Requirement]) -> None:
    selector = Selector(tuple(sorted(requirements, key=lambda one: one.key)))
    assert parse_selector(str(selector)) == selector


@given(st.text(alphabet="ax1 ,=!()<>\0\tin", max_size=16))
def test_reads_or_refuses_anything(text: str) -> None:
    try:
        selector = parse_selector(text)
    except BadRequest:
        return
    assert parse_selector(str(selector)) == selector
