"""How far a drain is, in one line."""

from __future__ import annotations

import datetime as dt

import pytest

from vacate.api.types.nodemaintenance import NodeMaintenance, NodeMaintenanceStatus, NodeProgress
from vacate.views.maintenance import standing

pytestmark = pytest.mark.unit

BEGUN = dt.datetime(2026, 11, 17, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("begun", "evicted", "total", "said"),
    [
        pytest.param(None, 0, 0, "the pods are counted when a node's turn comes", id="not counted yet"),
        pytest.param(BEGUN, 0, 0, "there is no pod to evict", id="an empty node"),
        pytest.param(BEGUN, 0, 2, "0 of 2 pods evicted so far", id="none yet"),
        pytest.param(BEGUN, 1, 1, "1 of 1 pod evicted so far", id="all"),
    ],
)
def test_how_far_it_is(begun: dt.datetime | None, evicted: int, total: int, said: str) -> None:
    rows = [NodeProgress(name="n1", start_time=begun)]
    status = NodeMaintenanceStatus(
        phase="Pending", message="0 of 1 node drained", pods_total=total, pods_evicted=evicted, nodes=rows
    )
    assert standing(NodeMaintenance(status=status)) == f"Pending, 0 of 1 node drained; {said}"
