"""Tests with a real logind need root. Where it is missing they are skipped, or left out where none may be."""

from __future__ import annotations

import os

import pytest
from hack.logindlab.machine import missing

HERE = os.path.dirname(__file__)  # noqa: PTH120
REAL = ("test_logind.py", "test_logind_grid.py")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    real = [one for one in items if str(one.path).startswith(HERE) and one.path.name in REAL]
    why = missing() if real else ""
    if not why:
        return
    for one in real:
        one.add_marker(pytest.mark.skip(reason=why))
    if os.environ.get("VACATE_NO_SKIPS"):
        config.hook.pytest_deselected(items=real)
        items[:] = [one for one in items if one not in real]
        print(f"left out: tests of a real logind: {why}")
