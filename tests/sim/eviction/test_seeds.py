"""Leaves under faults, drawn from seeds: whatever happens, the rules hold at every revision and all ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.eviction_scenarios.kept import keep, kept_seeds
from support.eviction_scenarios.runner import run_seed
from vacate.sim.run import reproduction

TESTS = Path(__file__).parents[2]


@pytest.mark.sim
def test_every_eviction_keeps_the_invariants(scenario_seed: int) -> None:
    problems = run_seed(scenario_seed).breaches
    assert not problems, "\n".join([*problems, reproduction(scenario_seed)])


@pytest.mark.thorough
@pytest.mark.sim
def test_a_seed_gives_the_same_history_twice() -> None:
    once = run_seed(7).digest
    assert run_seed(7).digest == once
    assert run_seed(8).digest != once


@pytest.mark.thorough
@pytest.mark.process
def test_a_seed_gives_the_same_history_in_processes_with_different_hash_seeds() -> None:
    assert _digest(hash_seed="1") == _digest(hash_seed="2")


def _digest(hash_seed: str, seed: int = 12) -> str:
    program = f"from support.eviction_scenarios.runner import run_seed; print(run_seed({seed}).digest)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.unit
def test_seeds_that_failed_are_kept_once(tmp_path: Path) -> None:
    file = tmp_path / "kept.txt"
    assert kept_seeds(file) == []
    file.write_text("# for readers\n\n")
    for seed in (812, 3, 812):
        keep(seed, "a request never ended", file)
    assert kept_seeds(file) == [812, 3]
