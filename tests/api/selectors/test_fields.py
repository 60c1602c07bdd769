from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.api.selectors.fields import FieldRequirement, FieldSelector, parse_field_selector
from vacate.errors import BadRequest

pytestmark = pytest.mark.unit

MATCHES = [
    ("", {}, True),
    (",,", {}, True),
    ("a=b", {"a": "b"}, True),
    ("a==b", {"a": "c"}, False),
    ("a!=b", {}, True),
    ("a=", {}, True),
    ("a!=", {}, False),
    ("a=b,c!=d", {"a": "b", "c": "e"}, True),
    (r"a=b\,c", {"a": "b,c"}, True),
    (r"a=b\=c\\", {"a": "b=c\\"}, True),
]


@pytest.mark.parametrize(("text", "fields", "selected"), MATCHES)
def test_selects(text: str, fields: dict[str, str], selected: bool) -> None:
    assert parse_field_selector(text).matches(fields) is selected


REFUSED = {
    "a": "invalid selector: 'a'; can't understand 'a'",
    "a=b,c": "invalid selector: 'a=b,c'; can't understand 'c'",
    "a=b=c": "invalid field selector: unescaped character in value: 61",
    r"a=\x": r"invalid field selector: invalid escape sequence: \x",
    "a=b\\": "invalid field selector: invalid escape sequence: \\",
}


@pytest.mark.parametrize(("text", "why"), REFUSED.items())
def test_refuses_in_the_words_of_kubernetes(text: str, why: str) -> None:
    with pytest.raises(BadRequest) as refused:
        parse_field_selector(text)
    assert refused.value.message == why


def test_exact_value_of_a_field() -> None:
    selector = parse_field_selector("spec.nodeName=n1,status.phase!=Failed")
    assert selector.exact("spec.nodeName") == "n1"
    assert selector.exact("status.phase") is None
    assert [one.field for one in selector.requirements] == ["spec.nodeName", "status.phase"]
    assert not selector.everything
    assert FieldSelector().everything


REQUIREMENTS = st.builds(
    FieldRequirement,
    st.from_regex("[a-z]{1,3}([.][a-z]{1,3})?", fullmatch=True),
    st.text(max_size=6),
    st.booleans(),
)


@given(st.lists(REQUIREMENTS, max_size=4))
def test_what_is_printed_reads_back(requirements: list[FieldRequirement]) -> None:
    selector = FieldSelector(tuple(requirements))
    read = parse_field_selector(str(selector))
    assert sorted(map(str, read.requirements)) == sorted(map(str, requirements))


@given(st.text(alphabet="ab.=!,\\", max_size=12))
def test_reads_or_refuses_anything(text: str) -> None:
    try:
        selector = parse_field_selector(text)
    except BadRequest:
        return
    assert sorted(map(str, parse_field_selector(str(selector)).requirements)) == sorted(
        map(str, selector.requirements)
    )
