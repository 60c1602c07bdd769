"""The suite fails when any one policy is removed: each is taken away in turn, and its rows are tried again.

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

from support.realcluster.adversary import BOUND, ROWS, TENANTS, Account, Site
from support.waiting import until
from vacate.api.identity import service_account_user
from vacate.install.objects import objects
from vacate.install.settings import Settings, ShutdownAgent

pytestmark = [*ROWS, pytest.mark.thorough]
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
HERE = Path(__file__).parent
Case = Callable[[Site], None]


@functools.cache
def _rows() -> list[Callable[..., None]]:
    """Every row that says which policies hold it."""
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


def _check(site: Site, policy: str, cases: list[Case]) -> None:
    """An API server follows what is removed and put back within a second or two.

    Where the webhook is not asked, some of the cases hold in no way: the others are looked at.
    """
    held = until(lambda: [case for case in cases if not _fails(case, site)])
    with site.without(BINDINGS, policy):
        failed = until(lambda: next((case for case in held if _fails(case, site)), None))
    assert failed is not None
    until(lambda: not _fails(failed, site))


def _fails(case: Case, site: Site) -> bool:
    try:
        case(site)
    except AssertionError:
        return True
    return False
