"""Names of requesters that are derived from others, and what they say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.eviction.requesternames import (
    MAINTENANCE_SUFFIX,
    fitted_requester,
    is_maintenance,
    maintenance_of,
)

pytestmark = pytest.mark.unit

LIMIT = 63
NAMES = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,80}[a-z0-9])?", fullmatch=True)


@given(NAMES)
def test_no_other_maintenance_is_ever_named(name: str) -> None:
    requester = fitted_requester(name, MAINTENANCE_SUFFIX, LIMIT)
    assert is_maintenance(requester)
    assert maintenance_of(requester, LIMIT) in (name, None)


@pytest.mark.parametrize("name", ["drain-node-1", "drain-node-1-and-2-more-0a1b2c3d", "pool-0123456789"])
def test_a_name_that_was_not_cut(name: str) -> None:
    assert maintenance_of(f"{name}.{MAINTENANCE_SUFFIX}", 253) == name


def test_a_name_that_was_cut() -> None:
    assert maintenance_of(fitted_requester("x" * 300, MAINTENANCE_SUFFIX, 253), 253) is None
