"""A test that asks for `leave_seed` runs for two hundred seeds and those that once failed, or for --seed."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from support.eviction_scenarios.kept import kept_seeds

SEEDS = 200


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "leave_seed" not in metafunc.fixturenames:
        return
    chosen = metafunc.config.getoption("--seed")
    seeds = [*range(SEEDS), *(seed for seed in kept_seeds() if seed >= SEEDS)]
    metafunc.parametrize("leave_seed", seeds if chosen is None else [chosen])


@pytest.fixture(autouse=True)
def quiet(request: pytest.FixtureRequest) -> Iterator[None]:
    """Bad weather is loud, and what is not read need not be said; a seed that is asked for may speak."""
    if request.config.getoption("--seed") is None:
        logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
