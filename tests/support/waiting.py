"""Waiting for a condition of another process, which only asking again can see."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LIMIT = 180.0
"""For what happens within seconds on an idle machine. Only a failing test waits that long, and a busy machine
is not a failure."""


def until(ask: Callable[[], T], seconds: float = LIMIT) -> T:
    """Ask until the answer counts as true, and return it; fail with the last one after the time."""
    ends = time.monotonic() + seconds
    while not (answer := ask()):
        assert time.monotonic() < ends, f"still {answer!r} after {seconds} s"
        time.sleep(0.02)
    return answer
