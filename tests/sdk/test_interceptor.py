"""What an interceptor may be made of."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from vacate.errors import ConfigError
from vacate.sdk import EvictionContext, Interceptor, interceptor

pytestmark = pytest.mark.unit


async def works(leave: EvictionContext) -> None:
    """A handler."""


def plain(leave: EvictionContext) -> None:
    """Not one."""


class Callable:
    async def __call__(self, leave: EvictionContext) -> None:
        """A handler too."""

    async def method(self, leave: EvictionContext) -> None:
        """And another."""


@pytest.mark.parametrize(
    ("name", "options", "fault"),
    [
        ("", {}, r"interceptor '': name: Required value"),
        ("Back_Up", {}, r"a lowercase RFC 1123 subdomain must consist of"),
        ("actor-b.k8s.io", {}, r"names with the suffix k8s\.io are reserved for Kubernetes"),
        ("a.example.com", {"handler": plain}, r"must be an async function; vacate\.sdk\.sync"),
        ("a.example.com", {"concurrency": 0}, r"concurrency and attempts must be at least 1"),
        ("a.example.com", {"attempts": 0}, r"concurrency and attempts must be at least 1"),
        ("a.example.com", {"heartbeat": dt.timedelta()}, r"heartbeat must be positive"),
        ("a.example.com", {"progress_within": dt.timedelta(-1)}, r"progress_within must be positive"),
    ],
)
def test_what_is_refused(name: str, options: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        Interceptor(name, **{"handler": works, **options})


def test_what_is_allowed() -> None:
    assert Interceptor("deployment.apps.k8s.io", works).name == "deployment.apps.k8s.io"
    assert Interceptor("actor-b.k8s.io", works, allowed_names=("actor-b.k8s.io",)).concurrency == 16
    assert Interceptor("a.example.com", Callable()).name == "a.example.com"
    assert Interceptor("a.example.com", Callable().method).name == "a.example.com"
    made = interceptor("a.example.com", label_selector="app=db")(works)
    assert (made.name, made.label_selector, made.handler) == ("a.example.com", "app=db", works)
