"""What is said while `vacate evict --wait` waits."""

from __future__ import annotations

import pytest

from vacate.cli.evict.progress import progress_text
from vacate.views.statusrows import row_of
from views.explanation_inputs import EXPLANATION_INPUTS

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("responding", "waits for interceptor backup.example.com (ETA in 9m49s): Copied 40 of 100 GiB"),
        ("not started", "waits for its first interceptor"),
        ("evicting without interceptors", "is being evicted"),
    ],
)
def test_the_sentence(name: str, said: str) -> None:
    sim = EXPLANATION_INPUTS[name]()
    assert progress_text(row_of(sim.typed, sim.typed_budgets, sim.now)) == said


def test_a_blocker_is_named_with_its_reason() -> None:
    sim = EXPLANATION_INPUTS["blocked"]()
    said = progress_text(row_of(sim.typed, sim.typed_budgets, sim.now))
    assert said.startswith("is blocked by pdb/web: The eviction was refused: ")
    assert "needs 3 healthy pods and has 3 currently" in said


@pytest.mark.parametrize("name", EXPLANATION_INPUTS)
def test_every_state_has_a_sentence(name: str) -> None:
    sim = EXPLANATION_INPUTS[name]()
    assert progress_text(row_of(sim.typed, sim.typed_budgets, sim.now))
