"""Every way in which a drain can be held, in virtual time: it says so, and ends by itself when it is over."""

from __future__ import annotations

import pytest

from support.effort import seeds
from support.matrix.simulated import run_plain, run_seed
from support.matrix.table import CASES

pytestmark = [pytest.mark.sim, pytest.mark.timeout(300)]

SEEDS = seeds("VACATE_MATRIX_SEEDS", 100)
_PART = 10
KEPT = [(783, "a surge without room")]
"""Seeds that failed once, with the case that they chose then."""


@pytest.mark.parametrize(
    "case", [one for one in CASES if "simulated" in one.places], ids=lambda one: one.name
)
def test_a_drain_says_what_holds_it_and_ends_by_itself(case: object) -> None:
    run_plain(case)  # type: ignore[arg-type]


@pytest.mark.parametrize("part", range((SEEDS + _PART - 1) // _PART))
def test_it_ends_by_itself_also_after_faults_and_crashes(part: int) -> None:
    outcomes = [run_seed(seed) for seed in range(part * _PART, min((part + 1) * _PART, SEEDS))]
    assert [one.problem for one in outcomes if one.problem] == []


@pytest.mark.parametrize(("seed", "name"), KEPT)
def test_what_failed_once_ends_by_itself(seed: int, name: str) -> None:
    assert run_seed(seed, name).problem == ""
