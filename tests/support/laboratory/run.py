"""Many seeds on all cores: `python -m support.laboratory.run --seeds 500`.

A seed that fails is shown with what went wrong, a timeline, and the line that repeats it. At the end comes
how often each fault happened.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import sys
from collections import Counter

from support.laboratory.outcome import Breach, Outcome
from support.laboratory.scenario import play
from vacate.sim.invariants.names import Invariant
from vacate.sim.run import reproduction

PROGRESS = 25
TEST = "tests/sim/laboratory/test_seeds.py"


def played(seed: int) -> tuple[int, Outcome]:
    """One seed; an error is a breach like any other."""
    logging.disable(logging.CRITICAL)
    try:
        outcome = play(seed)
    except Exception as error:  # the other seeds go on
        outcome = Outcome([Breach(Invariant.RUNNING, f"{type(error).__name__}: {error}")])
    outcome.time = float  # a bound method of a loop cannot be sent
    return seed, outcome


def summary(counts: Counter[str]) -> str:
    """How often each thing happened, the most frequent first."""
    width = max((len(name) for name in counts), default=0)
    return "\n".join(f"  {name:{width}}  {count:7}" for name, count in counts.most_common())


def main() -> int:
    """Returns 1 where a seed failed."""
    parser = argparse.ArgumentParser(prog="support.laboratory.run", description=__doc__)
    parser.add_argument("--seeds", type=int, default=500, help="how many")
    parser.add_argument("--start", type=int, default=0, help="the first one")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    failed, counts = 0, Counter[str]()
    seeds = range(options.start, options.start + options.seeds)
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for number, (seed, outcome) in enumerate(pool.imap_unordered(played, seeds), 1):
            counts += outcome.counts
            if number % PROGRESS == 0:
                print(f"{number} of {options.seeds} seeds", file=sys.stderr, flush=True)
            if outcome.breaches:
                failed += 1
                print(f"seed {seed}:\n{outcome.described()}\n  {reproduction(seed, TEST)}", flush=True)
    print(f"what happened in {options.seeds} seeds:\n{summary(counts)}")
    print(f"the whole system under faults: {options.seeds} seeds, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
