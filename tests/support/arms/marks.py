"""Which arms a case runs on, and what its id is."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from support.arms.kube import ALONE, REAL
from support.arms.servers import arm_names, why_missing

CONFORMANCE = pytest.mark.asyncio(loop_scope="session")
"""For every module of the body: all cases share the servers, so they share the loop that these run on."""

ALTERS_THE_SERVER = pytest.mark.alters_the_server
"""For cases that others of the same server would notice: they have a real one for themselves."""

_MARKS = {
    "memory": [pytest.mark.unit],
    "kubectl": [pytest.mark.kubectl],
    REAL: [pytest.mark.kube],
    ALONE: [pytest.mark.kube, pytest.mark.xdist_group(ALONE)],
}


def without(*arms: str, because: str) -> pytest.MarkDecorator:
    """Leave arms out of a case that they cannot express; the reason is for readers."""
    assert because
    return pytest.mark.without_arms(*arms, because=because)


def parametrize_arms(metafunc: pytest.Metafunc) -> None:
    """Give a case one test for each arm that it runs on."""
    left_out = {arm for mark in metafunc.definition.iter_markers("without_arms") for arm in mark.args}
    alters = metafunc.definition.get_closest_marker("alters_the_server") is not None
    names = [ALONE if name == REAL and alters else name for name in arm_names()]
    arms = [_param(name) for name in names if name not in left_out]
    metafunc.parametrize("arm", arms, indirect=True)


def _param(name: str) -> object:
    marks = [*_MARKS.get(name, [pytest.mark.process])]
    if reason := why_missing(name):
        marks.append(pytest.mark.skip(reason=reason))
    return pytest.param(name, id=name, marks=marks)


def case_id(item: pytest.Item) -> str:
    """`eviction/budget_of_zero`, with parameters in brackets, the arm not among them."""
    topic = item.path.stem.removeprefix("test_")
    function, _, parameters = item.name.removeprefix("test_").partition("[")
    others = parameters.removesuffix("]").removeprefix(f"{arm_of(item)}-").removeprefix(arm_of(item))
    return f"{topic}/{function}[{others}]" if others else f"{topic}/{function}"


def arm_of(item: pytest.Item) -> str:
    """The arm of a test, or nothing."""
    callspec = getattr(item, "callspec", None)
    return str(callspec.params.get("arm", "")) if callspec else ""


def known_deviations(path: Path) -> dict[str, str]:
    """Cases in which a real server is known to answer otherwise, each with the reason."""
    return {str(case): str(reason) for case, reason in tomllib.loads(path.read_text()).items()}


def expect_deviations(items: list[pytest.Item], deviations: dict[str, str]) -> None:
    """On a real server a listed case must fail: a line that is no longer true has to go."""
    for item in items:
        reason = deviations.get(case_id(item)) if arm_of(item) in (REAL, ALONE) else None
        if reason:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
