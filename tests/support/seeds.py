"""Parametrises `sim_seed`: a seed, two in a thorough run, or the one of --seed.

A folder takes part by importing `pytest_generate_tests` in its conftest.py.
"""

from __future__ import annotations

import pytest

from support.effort import THOROUGH

SEEDS = 2 if THOROUGH else 1


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "sim_seed" not in metafunc.fixturenames:
        return
    chosen = metafunc.config.getoption("--seed")
    metafunc.parametrize("sim_seed", range(SEEDS) if chosen is None else [chosen])
