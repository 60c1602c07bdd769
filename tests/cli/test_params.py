"""What people type, and what becomes of it."""

from __future__ import annotations

import datetime as dt

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.api.names import dns1123_subdomain
from vacate.cli.common.parameters import (
    drain_name,
    label_name,
    own_requester_name,
    pod_name,
    size_between,
    span_between,
    subdomain,
)

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("typed", ["web-1", "pod/web-1", "pods/web-1", "po/web-1"])
def test_pods_in_every_spelling(typed: str) -> None:
    assert pod_name(typed) == "web-1"


@pytest.mark.parametrize(
    "typed",
    ["", "pod/", "/", "a/b", "deployment/web", "pod/pod/x", "Web", "a b", "-x", "x" * 254, "x\n", "ü", ".."],
)
def test_what_is_no_pod(typed: str) -> None:
    with pytest.raises(click.BadParameter) as refused:
        pod_name(typed)
    assert len(refused.value.message) < 600


@pytest.mark.parametrize("typed", ["jane", "jane.cli.vacate.dev", "1.2"])
def test_names_of_requesters(typed: str) -> None:
    assert subdomain(typed) == typed


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [
        ("90", 90),
        ("0", 0),
        ("1.5", 1.5),
        ("90s", 90),
        ("30m", 1800),
        ("1h30m", 5400),
        (" 2h ", 7200),
        ("0.5h", 1800),
    ],
)
def test_spans(typed: str, seconds: float) -> None:
    assert span_between()(typed) == dt.timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "typed",
    ["", "x", "-1", "1d", "m", "1m2", "1e9", "nan", "inf", "9" * 5000, "1h 30m", "٣s", "30ms", "31d", "721h"],
)
def test_what_is_no_span(typed: str) -> None:
    with pytest.raises(click.BadParameter):
        span_between()(typed)


@pytest.mark.parametrize(
    "typed", ["599", "9m", "86401", "25h", "99999999999h", "9" * 5000, "1h9999999999.5s"]
)
def test_spans_out_of_bounds(typed: str) -> None:
    with pytest.raises(click.BadParameter, match="is not between 10m and 24h"):
        span_between(600, 86400)(typed)


@pytest.mark.parametrize(
    ("shortest", "longest", "bounds"),
    [(0.0, 30 * 86400.0, "0s and 720h"), (1.0, 90.0, "1s and 90s"), (0.5, 5400.0, "0.5s and 90m")],
)
def test_bounds_are_named_as_they_are_typed(shortest: float, longest: float, bounds: str) -> None:
    with pytest.raises(click.BadParameter, match=f"is not between {bounds}$"):
        span_between(shortest, longest)("9999h")


@pytest.mark.parametrize(
    "typed", ["a b", "-zone", "a/b/c", "/zone", "zone/", "x" * 64, "Example.com/zone", "zone\n"]
)
def test_an_invalid_label_key_is_explained_without_a_pattern(typed: str) -> None:
    with pytest.raises(click.BadParameter) as refusal:
        label_name(typed)
    assert "is not the key of a label; write letters" in str(refusal.value)
    assert "[" not in str(refusal.value)


@pytest.mark.parametrize("typed", ["", "zone", "topology.kubernetes.io/zone", "a_b.C-1"])
def test_keys_of_labels(typed: str) -> None:
    assert label_name(typed) == typed


@pytest.mark.parametrize(
    ("user", "name"),
    [
        ("jane", "jane"),
        ("Jane.Doe@Example.com", "jane-doe-example-com"),
        ("EXAMPLE\\jane_d", "example-jane-d"),
        ("--", "someone"),
        ("", "someone"),
        ("日本", "someone"),
        ("x" * 100, "x" * 63),
        ("x" * 62 + ".y", "x" * 62),
    ],
)
def test_the_name_of_a_user_as_a_requester(user: str, name: str) -> None:
    assert own_requester_name(user) == f"{name}.cli.vacate.dev"


@given(st.text())
def test_every_user_has_a_name_that_a_server_takes(user: str) -> None:
    assert dns1123_subdomain(own_requester_name(user)) == []


@pytest.mark.parametrize(
    ("typed", "size"), [("16Mi", 2**24), (" 1Gi ", 2**30), ("20000000", 20_000_000), ("1.5Gi", 3 * 2**29)]
)
def test_sizes(typed: str, size: int) -> None:
    assert size_between("16Mi", "1Ti")(typed) == size


@pytest.mark.parametrize("typed", ["", "0", "-1Gi", "1Mi", "2Ti", "1e400", "many", "1GB", "9" * 5000, "nan"])
def test_what_is_no_size(typed: str) -> None:
    with pytest.raises(click.BadParameter) as refused:
        size_between("16Mi", "1Ti")(typed)
    assert len(refused.value.message) < 200


@pytest.mark.parametrize("text", ["drain-a", "nodemaintenance/drain-a", "nm/drain-a", "drain/drain-a"])
def test_a_drain_is_named_as_it_is_printed(text: str) -> None:
    assert drain_name(text) == "drain-a"


@pytest.mark.parametrize("text", ["pod/drain-a", "nodemaintenance/", "a/b/c", "Drain"])
def test_what_is_no_name_of_a_drain(text: str) -> None:
    with pytest.raises(click.BadParameter):
        drain_name(text)
