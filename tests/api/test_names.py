from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.api import names

pytestmark = pytest.mark.unit

Rule = Callable[[str], list[str]]
GOOD: list[tuple[Rule, str]] = [
    (names.dns1123_label, "a"), (names.dns1123_label, "1-2"), (names.dns1123_label, "a" * 63),
    (names.dns1123_subdomain, "a.b-c.1"), (names.dns1123_subdomain, "a" * 253),
    (names.label_key, "a"), (names.label_key, "A_b.c-d"), (names.label_key, "example.com/Name"),
    (names.label_key, f"{'a' * 253}/{'b' * 63}"),
    (names.annotation_key, "Example.com/Name"),
    (names.label_value, ""), (names.label_value, "a_B.c"), (names.label_value, "1" * 63),
    (names.path_segment, "system:node"), (names.path_segment, "..."), (names.path_segment, ""),
    (names.config_key, "ca.crt"), (names.env_name, "my var"),
    (names.port_name, "http-2"), (names.percent, "100%"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "value"), GOOD)
def test_accepts(rule: Rule, value: str) -> None:
    assert rule(value) == []


LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
KEY = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
BAD: list[tuple[Rule, str, list[str]]] = [
    (names.dns1123_label, "", [LABEL]),
    (names.dns1123_label, "A", [LABEL]),
    (names.dns1123_label, "a\n", [LABEL]),
    (names.dns1123_label, "a.b", ["must not contain dots"]),
    (names.dns1123_label, "a" * 64, ["must be no more than 63 characters"]),
    (names.dns1123_subdomain, "a_b", [SUBDOMAIN]),
    (names.dns1123_subdomain, "a" * 254, ["must be no more than 253 characters"]),
    (names.label_key, "", ["name part must be non-empty", f"name part {KEY}"]),
    (names.label_key, "a/", ["name part must be non-empty", f"name part {KEY}"]),
    (names.label_key, "/a", ["prefix part must be non-empty"]),
    (names.label_key, "A.b/c", [f"prefix part {SUBDOMAIN}"]),
    (names.label_key, "a" * 64, ["name part must be no more than 63 bytes"]),
    (names.label_key, "ä", [f"name part {KEY}"]),
    (names.label_key, "a/b/c", [
        f"a valid label key {KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
    ]),
    (names.label_value, "1" * 64, ["must be no more than 63 bytes"]),
    (names.path_segment, "..", ["may not be '..'"]),
    (names.path_segment, "a/b%", ["may not contain '/'", "may not contain '%'"]),
    (names.config_key, "..a", ["must not start with '..'"]),
    (names.config_key, "..", ["must not be '..'"]),
    (names.env_name, "", ["environment variable name must be non-empty"]),
    (names.env_name, "a=b", [
        "a valid environment variable name must consist only of printable ASCII characters other than '='"
    ]),
    (names.port_name, "-", [
        "must contain at least one letter (a-z)",
        "must not begin or end with a hyphen",
    ]),
    (names.percent, "3", [
        PERCENT
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "value", "field_errors"), BAD)
def test_complains_in_the_words_of_kubernetes(rule: Rule, value: str, field_errors: list[str]) -> None:
    assert rule(value) == field_errors


def test_generate_names_may_end_in_a_dash() -> None:
    assert names.dns1123_subdomain(names.without_trailing_dash("web-")) == []
    assert names.without_trailing_dash("-") == "-"
    assert names.path_segment_prefix("..") == []


def test_ports() -> None:
    assert names.port_number(1) == names.port_number(65535) == []
    assert names.port_number(0) == names.port_number(65536) == ["must be between 1 and 65535, inclusive"]


@given(st.text(max_size=300))
def test_every_label_is_a_subdomain_and_every_subdomain_a_path_segment(value: str) -> None:
    if not names.dns1123_label(value):
        assert not names.dns1123_subdomain(value)
    if not names.dns1123_subdomain(value):
        assert not names.path_segment(value)
    names.label_key(value)
    names.annotation_key(value)
