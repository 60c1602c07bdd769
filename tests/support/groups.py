"""Keeps the tests of an `xdist_group` on one worker.

pytest-xdist 3.8 appends the group to a private field of each test, which pytest 9.2 no longer reads: tests
that share a server would be dealt out one by one, and get in each other's way.
"""

from __future__ import annotations

import pytest
from _pytest.nodeid import NodeId


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Take over the names that pytest-xdist gave, where it did."""
    for item in items:
        if named := getattr(item, "_nodeid", ""):
            item._id = NodeId.parse(named)
