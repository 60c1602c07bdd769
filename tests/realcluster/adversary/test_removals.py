"""The suite fails when what it rests on is removed: each policy in turn, the roles, the reviews.

What the webhook checks in its own code is removed by `make rules`, in a copy of the sources.
"""

from __future__ import annotations

import fnmatch
import functools
import importlib.util
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from support.realcluster.adversary import BOUND, REVIEWS, ROLES, ROWS, TENANTS, Account, Site
from support.waiting import until
from vacate.api.identity import service_account_user
from vacate.install.objects import objects
from vacate.install.settings import Settings, ShutdownAgent

pytestmark = [*ROWS, pytest.mark.thorough]
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
HERE = Path(__file__).parent
Case = functools.partial[None]


@functools.cache
def _rows() -> list[Callable[..., None]]:
    """Every row that says what holds it, but those of the code."""
    modules = [_loaded(file) for file in sorted(HERE.glob("test_*.py")) if file != Path(__file__)]
    classes = [one for module in modules for name, one in vars(module).items() if name.startswith("Test")]
    return [row for one in classes for row in vars(one).values() if hasattr(row, "held_by")]


def _loaded(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"removals_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for it
    spec.loader.exec_module(module)
    return module


def _cases(row: Callable[..., None]) -> Iterator[Case]:
    """The row once for each of its parameters."""
    marks = [one for one in getattr(row, "pytestmark", []) if one.name == "parametrize"]
    names = [one.args[0] for one in marks]
    for values in itertools.product(*(one.args[1] for one in marks)):
        yield functools.partial(row, None, **dict(zip(names, values, strict=True)))


SETTINGS = Settings(
    guard_unlabelled=True,
    termination_reasons=True,
    eviction_bridge=True,
    shutdown_agent=ShutdownAgent(),
    hooks="targets: []",
    interceptor_accounts={BOUND: (service_account_user(TENANTS, "bound"),)},
)
POLICIES = [
    one["metadata"]["name"] for one in objects(SETTINGS) if one["kind"] == "ValidatingAdmissionPolicy"
]


def _held(policy: str, *, alone: bool) -> list[Case]:
    """What is tried about a policy, with the webhook beside it or alone."""
    return [
        case
        for row in _rows()
        if any(fnmatch.fnmatch(policy, one) for one in vars(row)["held_by"]) and vars(row)["alone"] is alone
        for case in _cases(row)
    ]


BESIDE = [one for one in POLICIES if _held(one, alone=False)]
ALONE = [one for one in POLICIES if one not in BESIDE and _held(one, alone=True)]


def test_every_policy_has_a_row() -> None:
    assert [one for one in POLICIES if one not in (*BESIDE, *ALONE)] == []


@pytest.fixture(scope="module")
def dry() -> Iterator[None]:
    """Nothing that gets through is kept."""
    Account.dry = "?dryRun=All"
    yield
    Account.dry = ""


@pytest.fixture(scope="module")
def alone(site: Site, dry: None) -> Iterator[None]:
    """The webhook is not asked."""
    with site.without_webhook():
        yield


@pytest.mark.usefixtures("dry")
@pytest.mark.parametrize("policy", BESIDE)
def test_without_a_policy_a_row_fails(site: Site, policy: str) -> None:
    _check(site, policy, _held(policy, alone=False))


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("policy", ALONE)
def test_without_the_webhook_and_a_policy_a_row_fails(site: Site, policy: str) -> None:
    _check(site, policy, _held(policy, alone=True))


def _rows_of(what: str) -> list[Callable[..., None]]:
    return [one for one in _rows() if vars(one)["held_by"] == (what,)]


@pytest.mark.parametrize("row", _rows_of(ROLES), ids=lambda row: row.__qualname__)
def test_with_every_right_a_row_fails(site: Site, row: Callable[..., None]) -> None:
    with site.with_every_right():
        until(lambda: any(_fails(case, site) for case in _cases(row)))


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("row", _rows_of(REVIEWS), ids=lambda row: row.__qualname__)
def test_without_reviews_a_row_fails(
    site: Site, row: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Account, "dry", "")
    assert any(_fails(case, site) for case in _cases(row))


def _check(site: Site, policy: str, cases: list[Case]) -> None:
    """An API server follows what is removed and put back within a second or two.

    Where the webhook is not asked, some of the cases hold in no way: the others are looked at. A row that
    nothing else holds must fail, and of others one.
    """
    held = until(lambda: [case for case in cases if not _fails(case, site)])
    rows = {case.func for case in cases if vars(case.func)["held_by"] == (policy,)}
    with site.without(BINDINGS, policy):
        failed = until(lambda: next((case for case in held if _fails(case, site)), None))
        until(lambda: {case.func for case in held if case.func in rows and _fails(case, site)} == rows)
    assert failed is not None
    until(lambda: not _fails(failed, site))


def _fails(case: Case, site: Site) -> bool:
    try:
        case(site)
    except AssertionError:
        return True
    return False
