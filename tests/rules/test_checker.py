"""The checker of the table finds out a rule that is not held."""

from __future__ import annotations

from pathlib import Path

import pytest
from hack.rules.check import check
from hack.rules.table import ROOT, Mutation, Rule

pytestmark = pytest.mark.process

HOLDING = "tests/eviction/test_deadlines.py::test_honest_clocks_are_at_most_ten_seconds_apart"
SILENCE = "src/vacate/eviction/deadlines.py"
TOLERANCE = "CLOCK_TOLERANCE = dt.timedelta(seconds=10)"


@pytest.mark.parametrize(
    ("mutation", "killed", "message"),
    [
        (Mutation(SILENCE, TOLERANCE, "CLOCK_TOLERANCE = dt.timedelta(seconds=11)"), True, ""),
        (Mutation(SILENCE, TOLERANCE, f"{TOLERANCE}  # the same"), False, "its tests pass without it"),
        (Mutation(SILENCE, TOLERANCE, "CLOCK_TOLERANCE = ("), False, "pytest ended with"),
        (Mutation(SILENCE, "nowhere to be found", ""), False, "does not occur once"),
    ],
    ids=["removed", "still there", "broken altogether", "not found"],
)
@pytest.mark.thorough
def test_a_rule_that_holds_is_distinguished_from_one_that_does_not(
    mutation: Mutation, killed: bool, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = (ROOT / SILENCE).read_text()
    verdict = check(Rule("x", ("decision 10",), "X.", tests=(HOLDING,), mutation=mutation))
    assert verdict.killed is killed
    assert message in verdict.message
    assert (ROOT / SILENCE).read_text() == before
    assert list(tmp_path.iterdir()) == []
