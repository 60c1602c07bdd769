"""The same seed gives the same trace, in one process and in two with different hash seeds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.simulated.history import digest
from vacate.sim.run import Sim, run_sim
from vacate.sim.trace import Trace

TESTS = Path(__file__).parent.parent


def trace_of(seed: int) -> Trace:
    async def main(sim: Sim) -> Trace:
        for _ in range(5):
            await sim.clock.sleep(sim.entropy.uniform(0, 10))
            sim.entropy.uid()
            sim.trace.add("write", sim.entropy.suffix())
        return sim.trace

    return run_sim(main, seed, keep_trace=True)


@pytest.mark.sim
def test_a_seed_repeats_itself() -> None:
    one, other = trace_of(3), trace_of(3)
    assert one.digest == other.digest
    assert one.entries == other.entries


@pytest.mark.sim
def test_another_seed_gives_another_trace() -> None:
    assert trace_of(3).digest != trace_of(4).digest


@pytest.mark.thorough
@pytest.mark.process
def test_a_seed_gives_the_same_trace_in_two_processes_with_different_hash_seeds() -> None:
    digests = [run_cluster(seed=11, hash_seed=hash_seed) for hash_seed in ("1", "2")]
    assert digests[0] == digests[1]
    assert digests[0].strip() != digest(12)


def run_cluster(seed: int, hash_seed: str) -> str:
    """The digest of the whole cluster's history, made by a process of its own."""
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(TESTS)}
    done = subprocess.run(
        [sys.executable, "-m", "support.simulated.history", str(seed)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
