"""How much work a request is, counted as calls of functions: how long it takes depends on the machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

MAX_CALLS = 500_000
"""About a tenth of a second."""


@dataclass
class Work:
    calls: int = 0


@contextmanager
def counted() -> Iterator[Work]:
    """Calls of functions, Python's own included; ends the work once there are too many."""
    work = Work()

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        if event in ("call", "c_call"):
            work.calls += 1
            if work.calls > MAX_CALLS:
                sys.setprofile(None)
                raise AssertionError(f"more than {MAX_CALLS} calls")

    sys.setprofile(count)
    try:
        yield work
    finally:
        sys.setprofile(None)
