"""The status of a FencingPolicy: valid whatever rows were found in it."""

from __future__ import annotations

import datetime as dt

import pytest

from vacate.api.types.fencingpolicy import CONFIRMING, FAILED, FencingPolicy, NodeFencing
from vacate.fencing.report import status_of

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize("phase", [CONFIRMING, FAILED])
def test_a_row_without_a_message_does_not_spoil_the_status(phase: str) -> None:
    """Others may write rows; the API refuses a condition without a message, and then nothing is written."""
    row = NodeFencing(name="node-2", uid="u", phase=phase)
    status = status_of(FencingPolicy(), [row], NOW)
    assert status.message == f"node node-2: {phase}"
    assert f"node node-2: {phase}" in [one.message for one in status.conditions]
    assert all(one.message for one in status.conditions)
