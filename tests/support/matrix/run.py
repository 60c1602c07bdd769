"""Many seeds of the matrix on all cores: `python -m support.matrix.run --seeds 5000`.

A seed that fails is reported with what went wrong and the call that repeats it.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import sys

from support.matrix.simulated import SeedOutcome, run_seed
from vacate.clock import SystemClock

BETWEEN_LINES = 10.0


def check(seed: int) -> tuple[int, SeedOutcome]:
    """Run one seed; an error is a problem like any other."""
    logging.disable(logging.CRITICAL)
    try:
        return seed, run_seed(seed)
    except Exception as error:  # the other seeds go on
        return seed, SeedOutcome("", problem=f"{type(error).__name__}: {error}")


def main() -> int:
    """Returns 1 where a seed failed."""
    parser = argparse.ArgumentParser(prog="support.matrix.run", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5000, help="how many")
    parser.add_argument("--start", type=int, default=0, help="the first one")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    clock = SystemClock()
    began = reported_at = clock.monotonic()
    failed, longest = 0, 0.0
    seeds = range(options.start, options.start + options.seeds)
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for done, (seed, outcome) in enumerate(pool.imap_unordered(check, seeds, chunksize=4), 1):
            longest = max(longest, outcome.seconds)
            if outcome.problem:
                failed += 1
                print(
                    f"seed {seed}: {outcome.problem}\n  run_seed({seed}, {outcome.case!r}, {outcome.kind!r})",
                    flush=True,
                )
            if clock.monotonic() - reported_at >= BETWEEN_LINES or done == options.seeds:
                reported_at = clock.monotonic()
                took = f"{reported_at - began:.0f} s; longest from removal to the end {longest:.0f} s"
                print(f"{done} of {options.seeds} held drains, {failed} failed, {took}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
