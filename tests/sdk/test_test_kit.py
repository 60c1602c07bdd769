"""The test kit: the examples of its page, and what it refuses."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vacate.errors import ConfigError
from vacate.sdk import EvictionContext, Interceptor, sync
from vacate.testing import simulate_eviction

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=3)]

PAGE = Path(__file__).parents[2] / "docs/how-to/test-an-interceptor.md"


def examples() -> dict[str, Callable[[], None]]:
    """The test functions of the page."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    return {name: made for name, made in names.items() if name.startswith("test_")}


def test_the_page_has_examples() -> None:
    assert len(examples()) == 5


@pytest.mark.parametrize("name", examples())
def test_an_example_of_the_page_passes(name: str) -> None:
    examples()[name]()


async def hangs(context: EvictionContext) -> None:
    await context.clock.sleep(10 * 86400)


def test_who_does_not_end_in_time_is_told() -> None:
    endless = Interceptor("a.example.com", hangs, progress_within=None)
    with pytest.raises(TimeoutError):
        simulate_eviction(endless, within=dt.timedelta(hours=1))


@sync.interceptor("b.example.com")
def plain(context: sync.EvictionContext) -> None:
    """It runs in a thread."""


def test_plain_functions_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"b\.example\.com is a plain function, for which time is real"):
        simulate_eviction(plain)


async def test_a_running_loop_is_refused() -> None:
    with pytest.raises(ConfigError, match="call it from a plain function"):
        simulate_eviction(Interceptor("a.example.com", hangs))
