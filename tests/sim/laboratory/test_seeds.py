"""The whole system under random faults: the invariants hold after every step, and all ends when faults stop.

`make sim` plays many more seeds. Rules that are taken out are found: support/laboratory/removals.
"""

from __future__ import annotations

from collections import Counter

import pytest

from support.effort import THOROUGH, seeds
from support.laboratory.faults.catalogue import FAULTS, FAULTS_OF_PEOPLE, GATE_OPENS
from support.laboratory.outcome import Outcome
from support.laboratory.removals.catalogue import REMOVALS, finds
from support.laboratory.scenario import SEEDS_FOR_ALL, Scenario

pytestmark = [pytest.mark.sim, pytest.mark.timeout(600)]  # a seed takes ten seconds of a core of its own

SEEDS = seeds("VACATE_LABORATORY_SEEDS", SEEDS_FOR_ALL)
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
BEGINNING = None if THOROUGH or SEEDS >= SEEDS_FOR_ALL else 4
"""So many faults are played in a plain run, and not the recovery from them; all in a thorough one."""
NEARBY = 24
"""Further seeds that are tried where the known one does not show that a rule is missing."""
STOCK_SEEDS = 4 if THOROUGH else 1
STRAGGLERS = ("request: late", "request: twice")


def test_nothing_goes_wrong_and_every_fault_happens(request: pytest.FixtureRequest) -> None:
    chosen = request.config.getoption("--seed")
    counts = Counter[str]()
    for seed in range(SEEDS) if chosen is None else [chosen]:
        beginning = BEGINNING if chosen is None else None
        outcome: Outcome = Scenario(seed, beginning=beginning).play()
        assert outcome.breaches == [], f"seed {seed}: {outcome.described()}"
        counts += outcome.counts
    if chosen is None and SEEDS >= SEEDS_FOR_ALL:
        missing = [one for one in (*FAULTS, *MESSAGES) if not counts[one]]
        missing += [] if any(counts[one] for one in STRAGGLERS) else [STRAGGLERS[0]]
        assert missing == [], f"these never happened: {missing}"


@pytest.mark.thorough
def test_where_nodes_do_not_wait_for_a_volume_the_gate_keeps_it_on_one(
    request: pytest.FixtureRequest,
) -> None:
    chosen = request.config.getoption("--seed")
    for seed in range(STOCK_SEEDS) if chosen is None else [chosen]:
        outcome = Scenario(seed, stock=True).play()
        assert outcome.breaches == [], f"seed {seed}: {outcome.described()}"
        assert outcome.counts[GATE_OPENS] or chosen is not None


@pytest.mark.thorough
def test_in_a_cluster_that_is_guarded_nothing_runs_twice(
    request: pytest.FixtureRequest,
) -> None:
    chosen = request.config.getoption("--seed")
    counts = Counter[str]()
    for seed in range(SEEDS_FOR_ALL) if chosen is None else [chosen]:
        outcome = Scenario(seed, guarded=True).play()
        assert outcome.breaches == [], f"seed {seed}: {outcome.described()}"
        counts += outcome.counts
    assert chosen is not None or [one for one in FAULTS_OF_PEOPLE if not counts[one]] == []


@pytest.mark.thorough
@pytest.mark.parametrize("rule", REMOVALS)
def test_without_the_rule_some_seed_breaks_its_invariant(rule: str) -> None:
    """The known one, as a rule. A change of the system may give a seed another course: then one near by."""
    found: list[str] = []
    for seed in REMOVALS[rule].seeds(NEARBY):
        if (breach := finds(rule, seed)) is None:
            continue
        if breach.invariant in REMOVALS[rule].breaks:
            return
        found.append(f"seed {seed}: {breach}")
    raise AssertionError(
        f"no seed shows that the rule is missing. What else went wrong: {found or 'nothing'}"
    )


@pytest.mark.thorough
@pytest.mark.parametrize("rule", [name for name, one in REMOVALS.items() if one.beside is not None])
def test_with_the_rule_nothing_breaks_where_those_beside_it_are_missing(rule: str) -> None:
    """Otherwise the seed would not show that this rule is needed."""
    assert finds(rule, REMOVALS[rule].seed, keeps_it=True) is None
