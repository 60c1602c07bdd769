"""Many seeds on all cores: `python -m support.safety_run --seeds 500`.

A seed that fails is shown with what went wrong, a timeline, and the line that repeats it.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import sys

from support.safety_scenario import Outcome, breaches
from vacate.sim.run import reproduction

TEST = "tests/sim/test_safety_seeds.py"


def played(seed: int) -> tuple[int, Outcome]:
    """One seed; an error is a breach like any other."""
    logging.disable(logging.CRITICAL)
    try:
        return seed, breaches(seed)
    except Exception as error:  # the other seeds go on
        return seed, Outcome([f"{type(error).__name__}: {error}"])


def main() -> int:
    """Returns 1 where a seed failed."""
    parser = argparse.ArgumentParser(prog="support.safety_run", description=__doc__)
    parser.add_argument("--seeds", type=int, default=500, help="how many")
    parser.add_argument("--start", type=int, default=0, help="the first one")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    failed = 0
    seeds = range(options.start, options.start + options.seeds)
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for seed, outcome in pool.imap_unordered(played, seeds):
            if outcome.breaches:
                failed += 1
                print(f"seed {seed}:\n{outcome.told()}\n  {reproduction(seed, TEST)}", flush=True)
    print(f"pod safety: {options.seeds} seeds, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
