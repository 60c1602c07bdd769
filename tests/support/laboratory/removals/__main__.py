"""Looks for seeds that fail without a rule: `python -m support.laboratory.removals --seeds 100 NAME…`."""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import sys

from support.laboratory.removals.catalogue import REMOVALS, finds


def _found(arguments: tuple[str, int]) -> tuple[str, int, list[str]]:
    logging.disable(logging.CRITICAL)
    return (*arguments, finds(*arguments))


def main() -> int:
    """Look for seeds."""
    parser = argparse.ArgumentParser(prog="support.laboratory.removals", description=__doc__)
    parser.add_argument("rules", nargs="*", default=list(REMOVALS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    left = dict.fromkeys(options.rules)
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for seed in range(options.seeds):
            for rule, _, found in pool.imap_unordered(_found, [(rule, seed) for rule in left]):
                if found:
                    print(f"{rule}: seed {seed}: {found[0][:200]}", flush=True)
                    left.pop(rule, None)
    print(f"not found: {', '.join(left) or 'none'}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
