"""The rows of `vacate status`, in each state."""

from __future__ import annotations

import datetime as dt

import pytest

from support.simulated.request import START, SimRequest
from vacate.api.times import format_time
from vacate.cli.common.output import aligned, aligned_to
from vacate.views.statusrows import HEADER, Row, row_of, rows_of
from views.explanation_inputs import EXPLANATION_INPUTS, SEVERAL

pytestmark = pytest.mark.unit

# STAGE | ACTIVE | SINCE | ETA | HEARTBEAT | BLOCKED BY | AGE
ROWS = {
    "not started": "Intercepting | - | 0s | - | - | - | 0s",
    "waiting for a response": "Intercepting | backup.example.com | 20s | - | none yet | - | 20s",
    "responding": "Intercepting | backup.example.com | 5m10s | in 9m49s | 10s ago | - | 5m10s",
    "later than expected": "Intercepting | backup.example.com | 8m | 2m late | 3m ago | - | 8m",
    "handed over after silence": "Intercepting | notify.example.com | 20s | - | none yet | - | 30m",
    "all done, evicting": "Evicting | - | 90s | - | - | - | 90s",
    "blocked": "Blocked | - | 1s | - | - | pdb/web | 1s",
    "blocked by two budgets": "Blocked | - | 1s | - | - | pdb/all, pdb/web | 1s",
    "blocked by others than budgets": (
        'Blocked | - | 9s | - | - | admission webhook "x" denied the request: no | 9s'
    ),
    "complete: gone": "Complete | - | 5m | - | - | - | 7m",
    "cancelled, held by finalizers": "Cancelled | - | 60s | - | - | finalizer foregroundDeletion | 60s",
    "cancelled": "Cancelled | - | 5m | - | - | - | 7m",
}


def row(sim: SimRequest) -> Row:
    request = sim.metadata(labels={"app": "web"}).typed
    return row_of(request, sim.typed_budgets, sim.now)


@pytest.mark.parametrize("name", ROWS)
def test_the_row_of_each_state(name: str) -> None:
    assert row(EXPLANATION_INPUTS[name]()).cells(namespace=False)[:8] == ("web-1", *ROWS[name].split(" | "))


@pytest.mark.parametrize("name", EXPLANATION_INPUTS)
def test_every_state_has_a_row_without_gaps(name: str) -> None:
    assert all(row(EXPLANATION_INPUTS[name]()).cells(namespace=True))


def test_two_budgets_that_nobody_may_read() -> None:
    assert row_of(SimRequest().refused(SEVERAL).typed, [], START).blocked_by == "pdbs"


def test_requests_that_nobody_processes() -> None:
    assert row(EXPLANATION_INPUTS["unadmitted"]()).blocked_by == "admission"


def test_what_others_write_does_not_steer_the_terminal() -> None:
    assert row(SimRequest().refused("no\x1b[2J\nand\tno")).blocked_by == "no [2J and no"


def test_a_long_refusal_is_cut() -> None:
    assert row(SimRequest().refused("x" * 500)).blocked_by == "x" * 59 + "…"


def test_clocks_that_run_ahead_show_no_negative_times() -> None:
    sim = (
        SimRequest("a.example.com")
        .after(seconds=1)
        .controller()
        .after(seconds=5)
        .responds()
        .after(seconds=-9)
    )
    assert row(sim).cells(namespace=False)[3:8] == ("0s", "-", "0s ago", "-", "0s")


def test_what_goes_on_comes_first_then_by_name() -> None:
    over = SimRequest().pod_goes().controller().typed
    going = [_named(name) for name in ("b", "a")]
    shown = rows_of([over, *(one.typed for one in going)], [], START)
    assert [(one.pod, one.stage) for one in shown] == [
        ("a", "Evicting"),
        ("b", "Evicting"),
        ("web-1", "Complete"),
    ]


def _named(name: str) -> SimRequest:
    return SimRequest().spec(target={"podRef": {"name": name, "uid": "uid-web-1"}})


def test_wide_names_are_shown_whole() -> None:
    long = "x" * 253
    sim = _named(long).metadata(namespace="n" * 63).status(activeInterceptorName="i" * 253)
    lines = aligned([HEADER, row(sim).cells(namespace=False)])
    assert long in lines[1]
    assert lines[0].index("STAGE") == lines[1].index("Evicting")


def test_columns_that_were_too_narrow_still_show_everything() -> None:
    assert aligned_to([1, 2], [("abc", "d")]) == ["abc   d"]


def test_an_estimate_at_this_very_moment() -> None:
    sim = SimRequest("a.example.com").controller().after(seconds=1)
    sim.responds(expectedInterceptorFinishTime=format_time(sim.now))
    assert row_of(sim.typed, [], sim.now + dt.timedelta()).eta == "0s late"
