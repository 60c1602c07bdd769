"""Looks for seeds that fail without a rule: `python -m support.laboratory.removals --seeds 100 NAME…`."""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import time

from support.laboratory.removals.catalogue import REMOVALS, finds


def _searched(arguments: tuple[str, int]) -> tuple[str, bool]:
    """Play seeds until one shows that the rule is missing."""
    logging.disable(logging.CRITICAL)
    rule, count = arguments
    removal = REMOVALS[rule]
    for seed in removal.seeds(count):
        begin = time.process_time()
        breach = finds(rule, seed)
        if breach is not None:
            expected = breach.invariant in removal.breaks
            aside = "" if expected else "NOT EXPECTED: "
            cost = time.process_time() - begin
            print(f"{rule}: seed {seed} ({cost:.1f} s): {aside}{str(breach)[:240]}", flush=True)
            if expected:
                return rule, True
    return rule, False


def main() -> int:
    """Look for seeds; returns 1 where a rule is left without one."""
    parser = argparse.ArgumentParser(prog="support.laboratory.removals", description=__doc__)
    parser.add_argument("rules", nargs="*", default=list(REMOVALS), metavar="RULE")
    parser.add_argument("--seeds", type=int, default=20, help="for each rule, beside the one that is known")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    wanted = [(rule, options.seeds) for rule in options.rules]
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        left = [rule for rule, found in pool.imap_unordered(_searched, wanted) if not found]
    print(f"not found: {', '.join(left) or 'none'}")
    return 1 if left else 0
