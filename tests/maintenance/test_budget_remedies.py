"""What helps against a disruption budget that refuses."""

from __future__ import annotations

import msgspec
import pytest

from vacate.api.types import PodDisruptionBudget
from vacate.maintenance.blockers import budget_remedy

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("expected", "desired", "healthy", "remedy"),
    [
        pytest.param(1, 1, 1, "add replicas or lower what it demands", id="all of its pods"),
        pytest.param(3, 2, 1, "wait until more pods of disruption budget web are", id="one is unhealthy"),
        pytest.param(
            13, 11, 12, "wait until evictions of other pods of disruption budget web have ended",
            id="needs 11, has 12, allows none",
        ),
    ],
)  # fmt: skip
def test_remedy(expected: int, desired: int, healthy: int, remedy: str) -> None:
    status = {"expectedPods": expected, "desiredHealthy": desired, "currentHealthy": healthy}
    spec = {"minAvailable": desired}
    budget = msgspec.convert(
        {"metadata": {"name": "web"}, "spec": spec, "status": status}, PodDisruptionBudget
    )
    assert remedy in budget_remedy(budget)
