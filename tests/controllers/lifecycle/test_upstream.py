"""The list of what upstream's integration tests show names tests that are there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
SCENARIOS = tomllib.loads(Path(__file__).with_name("upstream.toml").read_text())["scenario"]


@pytest.mark.unit
def test_the_tests_that_show_what_upstream_shows_are_there() -> None:
    named = [one.split("::") for scenario in SCENARIOS for one in scenario["tests"]]
    missing = [
        name
        for path, name in named
        if not re.search(rf"^(async )?def {name}\(", (TESTS / path).read_text(), re.MULTILINE)
    ]
    assert (len(named) >= len(SCENARIOS), missing) == (True, [])
