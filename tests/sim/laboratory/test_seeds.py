"""The whole system under random faults: the invariants hold after every step, and all ends when faults stop.

`make sim` plays many more seeds. Rules that are taken out are found: support/laboratory/removals.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from support.laboratory.faults.catalogue import FAULTS
from support.laboratory.outcome import Outcome
from support.laboratory.removals.catalogue import REMOVALS, finds
from support.laboratory.scenario import SEEDS_FOR_ALL, play

pytestmark = pytest.mark.sim

SEEDS = int(os.environ.get("VACATE_LABORATORY_SEEDS", str(SEEDS_FOR_ALL)))
MESSAGES = (
    "request: delay",
    "request: lost",
    "request: unanswered",
    "request: status",
    "watch: cut_after",
    "watch: stall_after",
    "watch: lag",
    "watch: repeat",
    "watch: rewind",
    "clock more than a second off",
)
STRAGGLERS = ("request: late", "request: twice")


def test_nothing_goes_wrong_and_every_fault_happens(request: pytest.FixtureRequest) -> None:
    chosen = request.config.getoption("--seed")
    seeds = range(SEEDS) if chosen is None else [chosen]
    counts = Counter[str]()
    for seed in seeds:
        outcome: Outcome = play(seed)
        assert outcome.breaches == [], f"seed {seed}: {outcome.described()}"
        counts += outcome.counts
    if chosen is None:
        missing = [one for one in (*FAULTS, *MESSAGES) if not counts[one]]
        missing += [] if any(counts[one] for one in STRAGGLERS) else [STRAGGLERS[0]]
        assert missing == [], f"these never happened: {missing}"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("rule", "seed"), [(name, one.seed) for name, one in REMOVALS.items() if one.seed is not None]
)
def test_without_the_rule_the_seed_fails(rule: str, seed: int) -> None:
    assert finds(rule, seed)
