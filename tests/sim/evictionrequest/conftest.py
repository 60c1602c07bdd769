"""A test that asks for `leave_seed` runs for two hundred seeds and those that once failed, or for --seed."""

from __future__ import annotations

import pytest

from support.leaves.kept import kept_seeds

SEEDS = 200


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "leave_seed" not in metafunc.fixturenames:
        return
    chosen = metafunc.config.getoption("--seed")
    seeds = [*range(SEEDS), *(seed for seed in kept_seeds() if seed >= SEEDS)]
    metafunc.parametrize("leave_seed", seeds if chosen is None else [chosen])
