"""Many seeds on all cores: `python -m support.eviction_scenarios.run --seeds 5000`.

A seed that fails is reported with what went wrong and the line that repeats it, and is kept for `make test`.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import sys
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from support.eviction_scenarios.kept import keep
from support.eviction_scenarios.runner import run_seed
from vacate.clock import SystemClock
from vacate.sim.run import reproduction

TEST = "tests/sim/eviction/test_seeds.py"
BETWEEN_LINES = 10.0
_MAX_PROBLEMS = 5


class SeedResult(NamedTuple):
    """One seed and what was wrong with it."""

    seed: int
    problems: list[str]


def check(seed: int, *, mixed: bool = False) -> SeedResult:
    """Run one seed; an error is a breach like any other."""
    logging.disable(logging.CRITICAL)
    try:
        return SeedResult(seed, run_seed(seed, mixed=mixed).breaches)
    except Exception as error:  # the other seeds go on
        return SeedResult(seed, [f"{type(error).__name__}: {error}"])


def run(seeds: range, processes: int, *, mixed: bool) -> Iterator[SeedResult]:
    """The verdicts as they come."""
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap_unordered(partial(check, mixed=mixed), seeds, chunksize=4)


def main() -> int:
    """Returns 1 where a seed failed."""
    options = _options()
    clock = SystemClock()
    began = reported_at = clock.monotonic()
    failed = []
    seeds = range(options.start, options.start + options.seeds)
    for done, verdict in enumerate(run(seeds, options.processes, mixed=options.mixed), 1):
        if verdict.problems:
            failed.append(verdict.seed)
            _report(verdict, mixed=options.mixed)
        if clock.monotonic() - reported_at >= BETWEEN_LINES or done == options.seeds:
            reported_at = clock.monotonic()
            print(
                f"{done} of {options.seeds} seeds, {len(failed)} failed, {reported_at - began:.0f} s",
                flush=True,
            )
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="support.eviction_scenarios.run", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5000, help="how many")
    parser.add_argument("--start", type=int, default=0, help="the first one")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--mixed", action="store_true", help="some requesters ask by Evacuations")
    return parser.parse_args()


def _report(verdict: SeedResult, *, mixed: bool) -> None:
    print(f"seed {verdict.seed}:")
    for line in verdict.problems[:_MAX_PROBLEMS]:
        print(f"  {line}")
    if mixed:
        print(f"  run_seed({verdict.seed}, mixed=True)", flush=True)
        return
    print(f"  {reproduction(verdict.seed, TEST)}", flush=True)
    keep(verdict.seed, verdict.problems[0].splitlines()[0][:160])


if __name__ == "__main__":
    sys.exit(main())
