"""How errors show the value that is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from vacate.api.fielderrors import Typed, invalid, not_supported

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (5, "5"),
        (True, "true"),
        ("a <b> & é", '"a <b> & é"'),
        ('"\\', '"\\"\\\\"'),
        ("a\n\t\x01\x7f\v", '"a\\n\\t\\x01\\x7f\\v"'),
        ("\u200b\U000e0001", '"\\u200b\\U000e0001"'),
        ({"a": "<b>"}, '{"a":"\\u003cb\\u003e"}'),
        (["a&b"], '["a\\u0026b"]'),
    ],
)
def test_shown(value: Any, shown: str) -> None:
    assert str(invalid("spec.x", value, "no")) == f"spec.x: Invalid value: {shown}: no"


def test_typed_texts_are_shown_as_json() -> None:
    assert str(invalid("x", Typed("<\x01>"), "no")) == 'x: Invalid value: "\\u003c\\u0001\\u003e": no'
    assert str(not_supported("x", "&", ("a",))).startswith('x: Unsupported value: "\\u0026": ')
