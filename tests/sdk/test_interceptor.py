"""What an interceptor may be made of."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from vacate.errors import ConfigError
from vacate.sdk import Condition, ContractError, EvictionContext, Interceptor, interceptor, sync
from vacate.sdk.arguments import checked_report
from vacate.sdk.interceptors.program import check_interceptors

pytestmark = pytest.mark.unit


async def works(context: EvictionContext) -> None:
    """A handler."""


def plain(context: EvictionContext) -> None:
    """Not one."""


class Callable:
    async def __call__(self, context: EvictionContext) -> None:
        """A handler too."""

    async def method(self, context: EvictionContext) -> None:
        """And another."""


@pytest.mark.parametrize(
    ("name", "options", "field_error"),
    [
        ("", {}, r"interceptor '': name: Required value"),
        ("Back_Up", {}, r"a lowercase RFC 1123 subdomain must consist of"),
        ("actor-b.k8s.io", {}, r"names with the suffix k8s\.io are reserved for Kubernetes"),
        ("a.example.com", {"handler": plain}, r"must be an async function; vacate\.sdk\.sync"),
        ("a.example.com", {"handler": "back_up"}, r"must be an async function; vacate\.sdk\.sync"),
        ("a.example.com", {"concurrency": 0}, r"concurrency must be at least 1, not 0"),
        ("a.example.com", {"attempts": 0}, r"attempts must be at least 1, not 0"),
        ("a.example.com", {"attempts": 2.5}, r"attempts must be a whole number, not float"),
        ("a.example.com", {"heartbeat": dt.timedelta()}, r"heartbeat must be positive"),
        ("a.example.com", {"heartbeat": 30}, r"heartbeat must be a timedelta, such as .* not int \(30\)"),
        ("a.example.com", {"progress_within": dt.timedelta(-1)}, r"progress_within must be positive"),
        ("a.example.com", {"label_selector": "app==="}, r"a\.example\.com: label_selector 'app===': "),
        ("a.example.com", {"label_selector": {"app": "db"}}, r"label_selector must be a str such as"),
        ("a.example.com", {"namespace": "My_Space"}, r"namespace 'My_Space': a lowercase RFC 1123 label"),
        ("a.example.com", {"matches": works}, r"matches must be a plain function, not an async one"),
        ("a.example.com", {"matches": "app"}, r"matches must be a function, not str"),
        ("a.example.com", {"cancellation": "Never"}, r"cancellation must be Allow or Forbid, not 'Never'"),
        ("a.example.com", {"on_failure": "Wait"}, r"on_failure must be HandOver or Hold, not 'Wait'"),
        ("a.example.com", {"types": "Soft"}, r"types must be a tuple of str, not str"),
    ],
)
def test_what_is_refused(name: str, options: dict[str, Any], field_error: str) -> None:
    with pytest.raises(ConfigError, match=field_error):
        Interceptor(name, **{"handler": works, **options})


def test_decorators_are_checked_where_they_stand() -> None:
    with pytest.raises(ConfigError, match=r'@interceptor needs a name: write @interceptor\("backup'):
        interceptor(works)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"no option label_selectors; did you mean label_selector\?"):
        interceptor("a.example.com", label_selectors="app=db")
    with pytest.raises(ConfigError, match=r"use vacate\.sdk\.interceptor for async functions"):
        sync.interceptor("a.example.com")(works)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="plain is not an interceptor: put @interceptor"):
        check_interceptors([plain])
    with pytest.raises(ConfigError, match="there are no interceptors to run"):
        check_interceptors([])


NOW = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("report", "field_error"),
    [
        ((5, None, (), None), r"message must be a str, not int \(5\)"),
        ((None, 300, (), None), r"expected_finish must be a datetime, a timedelta or NO_ESTIMATE, not int"),
        ((None, None, Condition("A", True, "B"), None), "conditions must be a list of Condition"),
        ((None, None, ["Saved"], None), "conditions must be a list of Condition, and one is str"),
        ((None, None, (), "never"), "cancellation must be Allow or Forbid, not 'never'"),
    ],
)
def test_a_report_is_checked_when_it_is_made(report: tuple[Any, ...], field_error: str) -> None:
    message, finish, conditions, cancellation = report
    with pytest.raises(ContractError, match=field_error):
        checked_report(message, finish, conditions, cancellation, NOW)


def test_the_interceptor_says_what_it_serves() -> None:
    assert (
        Interceptor("a.example.com", works).described
        == "a.example.com in all namespaces, for all pods that name it"
    )
    one = Interceptor("a.example.com", works, namespace="shop", label_selector="app=db")
    assert one.described == "a.example.com in namespace shop, for pods with labels app=db"


def test_what_is_allowed() -> None:
    assert Interceptor("deployment.apps.k8s.io", works).name == "deployment.apps.k8s.io"
    assert Interceptor("actor-b.k8s.io", works, allowed_names=("actor-b.k8s.io",)).concurrency == 16
    assert Interceptor("a.example.com", Callable()).name == "a.example.com"
    assert Interceptor("a.example.com", Callable().method).name == "a.example.com"
    made = interceptor("a.example.com", label_selector="app=db")(works)
    assert (made.name, made.label_selector, made.handler) == ("a.example.com", "app=db", works)
