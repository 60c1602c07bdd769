"""What every test may use: the seed option, and tiers by folder."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=None, help="run seeded tests with this seed only")


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int | None:
    """The seed asked for on the command line, if any."""
    value: int | None = request.config.getoption("--seed")
    return value
