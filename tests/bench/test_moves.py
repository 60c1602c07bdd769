"""What moving Deployments costs, on a small scale; `python -m bench.moves` has 1,000 of them."""

from __future__ import annotations

import pytest
from bench.moves import REPLICAS, moves

pytestmark = pytest.mark.sim

MAX_WRITES = 20.0
"""For each pod. On so few nodes most pods of a Deployment wait for each other, and say so."""


@pytest.mark.thorough
def test_drained_node_by_node_no_deployment_ever_lacks_a_replica() -> None:
    found = moves(deployments=4, nodes=3)
    assert found.pods >= 4 * REPLICAS
    assert found.fewest == REPLICAS
    assert found.left == []
    assert found.calls["POST evictionrequests"] == found.pods
    written = found.calls["PATCH pods"] - found.refused.get("PATCH pods", 0)
    assert written == 2 * found.pods  # when it is requested, and when it is due
    assert "POST pods/eviction" not in found.calls  # scaling back removes them
    assert found.writes <= MAX_WRITES
