"""Eviction scenarios: how many seeds run, and how loudly."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from support.effort import SEEDS
from support.eviction_scenarios.kept import kept_seeds


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "scenario_seed" not in metafunc.fixturenames:
        return
    chosen = metafunc.config.getoption("--seed")
    seeds = [*range(SEEDS), *(seed for seed in kept_seeds() if seed >= SEEDS)]
    metafunc.parametrize("scenario_seed", seeds if chosen is None else [chosen])


@pytest.fixture(autouse=True)
def quiet(request: pytest.FixtureRequest) -> Iterator[None]:
    """Faults fill the log, which nobody reads here; only a seed that is asked for is logged."""
    if request.config.getoption("--seed") is None:
        logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
