"""How a drain ends for the command that follows it, from the states that it has seen."""

from __future__ import annotations

import datetime as dt

import pytest

from vacate.api.types.meta import ObjectMeta
from vacate.api.types.nodemaintenance import (
    DRAINED,
    DRAINING,
    NOT_FOUND,
    REPLACED,
    NodeMaintenance,
    NodeMaintenanceStatus,
    NodeProgress,
)
from vacate.cli.drain.outcome import CANCELLED_END, DRAINED_END, REPLACED_END, DrainOutcome

pytestmark = pytest.mark.unit


def state(phase: str, *rows: NodeProgress, generation: int = 1, deleted: bool = False) -> NodeMaintenance:
    gone = dt.datetime(2026, 3, 1, tzinfo=dt.UTC) if deleted else None
    return NodeMaintenance(
        metadata=ObjectMeta(name="drain-n1", generation=generation, deletion_timestamp=gone),
        status=NodeMaintenanceStatus(observed_generation=1, phase=phase, nodes=list(rows)),
    )


def row(name: str, phase: str, percent: int = 0) -> NodeProgress:
    return NodeProgress(name=name, uid=f"uid-{name}", phase=phase, percent=percent)


def test_it_goes_on_until_the_newest_generation_is_drained() -> None:
    ends = DrainOutcome()
    assert ends.note(state(DRAINING, row("n1", DRAINING, 50))) is None
    assert ends.note(state(DRAINED, row("n1", DRAINED, 100), generation=2)) is None
    assert ends.note(state(DRAINED, row("n1", DRAINED, 100))) == DRAINED_END


@pytest.mark.parametrize("last", [None, state(DRAINED, row("n1", DRAINED, 100), deleted=True)])
def test_a_maintenance_that_goes_is_cancelled(last: NodeMaintenance | None) -> None:
    assert DrainOutcome().note(last) == CANCELLED_END


def test_a_node_that_was_replaced_on_the_way_is_not_drained() -> None:
    ends = DrainOutcome()
    assert ends.note(state(DRAINING, row("n1", DRAINED, 100), row("n2", DRAINING, 50))) is None
    last = state(DRAINED, row("n1", DRAINED, 100), row("n2", REPLACED, 50))
    assert ends.note(last) == REPLACED_END
    assert [one.name for one in ends.replaced(last)] == ["n2"]


def test_a_node_that_is_replaced_after_it_was_drained_was_drained() -> None:
    ends = DrainOutcome()
    assert ends.note(state(DRAINING, row("n1", DRAINED, 100), row("n2", DRAINING, 50))) is None
    assert ends.note(state(DRAINED, row("n1", REPLACED, 100), row("n2", DRAINED, 100))) == DRAINED_END


def test_a_node_that_had_been_replaced_before_one_looked_is_not_drained() -> None:
    assert DrainOutcome().note(state(DRAINED, row("n1", REPLACED, 100))) == REPLACED_END


def test_a_node_that_was_deleted_has_nothing_left_to_drain() -> None:
    assert DrainOutcome().note(state(DRAINED, row("n1", NOT_FOUND, 50))) == DRAINED_END
