"""The rows of `vacate status` on terminals of every width."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from vacate.cli.status.layout import layout
from vacate.cli.status.order import KEYS, in_order
from vacate.cli.status.table import live_table
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.views.statusrows import Row, pod_of, row_of
from views.explanation_inputs import EXPLANATION_INPUTS

pytestmark = pytest.mark.unit

LONG = "recommendation-service-7f9c4b7d4-abcde"


def rows(pod: str, namespace: str = "default") -> list[Row]:
    found = []
    for name in ("responding", "blocked", "cancelled"):
        sim = EXPLANATION_INPUTS[name]()
        sim.spec(target={"podRef": {"name": pod, "uid": "uid-web-1"}}).metadata(namespace=namespace)
        found.append(row_of(sim.typed, sim.typed_budgets, sim.now))
    return found


@pytest.mark.parametrize("width", [20, 40, 80, 120, 200])
@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("pod", ["web-1", LONG, "x" * 253])
def test_no_width_cuts_breaks_or_drops_a_name(width: int, everywhere: bool, pod: str) -> None:
    lines = layout(rows(pod, "team-a"), namespace=everywhere, width=width)
    assert sum(pod in line for line in lines) == 3
    assert not everywhere or sum("team-a" in line for line in lines) == 3
    assert all(len(line) <= width or pod in line or width < 40 for line in lines), lines
    assert all(stage in "\n".join(lines) for stage in ("Intercepting", "Blocked", "Cancelled"))


def test_a_usual_terminal_shows_a_line_for_each_pod() -> None:
    assert layout(rows("web-6b44c9c94f-4npbk"), namespace=False, width=80) == [
        "POD                   STAGE         SINCE  DETAIL",
        "web-6b44c9c94f-4npbk  Intercepting  5m10s  backup.example.com; ETA in 9m49s; Co…",
        "web-6b44c9c94f-4npbk  Blocked       1s     blocked by pdb/web; The eviction was…",
        "web-6b44c9c94f-4npbk  Cancelled     5m     The eviction request is cancelled",
    ]


def test_evacuations_are_shown_in_their_own_words() -> None:
    waiting = [replace(row, heartbeat="none yet") for row in rows("db")[:1]]
    table = layout(waiting, namespace=False, wide=True, phrase=EVACUATION.phrase)
    assert {"PROGRESS REPORT", "INSTIGATORS", "EVACUATION"} <= {*re.split(r"  +", table[0])}
    block = " ".join(layout(waiting, namespace=False, width=40, phrase=EVACUATION.phrase))
    assert "no progress report yet" in " ".join(block.split())


def test_a_narrow_terminal_shows_a_block_for_each_pod() -> None:
    assert layout(rows(LONG)[:1], namespace=False, width=40) == [
        LONG,
        "  Intercepting for 5m10s",
        "  backup.example.com; ETA in 9m49s;",
        "    Copied 40 of 100 GiB; heartbeat 10s",
        "    ago; requested by drain.example.com",
    ]


def test_a_terminal_narrower_than_usual_loses_neither_heartbeat_nor_requesters() -> None:
    assert layout(rows("db")[:1], namespace=False, width=60) == [
        "db",
        "  Intercepting for 5m10s",
        "  backup.example.com; ETA in 9m49s; Copied 40 of 100 GiB;",
        "    heartbeat 10s ago; requested by drain.example.com",
    ]
    assert layout(rows("db")[2:], namespace=False, width=70) == [
        "POD  STAGE      SINCE  DETAIL",
        "db   Cancelled  5m     The eviction request is cancelled",
    ]


def test_without_a_terminal_nothing_is_cut() -> None:
    header, first, *_ = layout(rows(LONG), namespace=False)
    assert header.split()[-2:] == ["REQUESTERS", "MESSAGE"]
    assert first.endswith("drain.example.com   Copied 40 of 100 GiB")
    header, first, *_ = layout(rows(LONG), namespace=True, wide=True, width=40)
    assert header.startswith("NAMESPACE")
    assert "uid-web-1" in first
    assert first.endswith("Copied 40 of 100 GiB")


def test_a_low_terminal_says_what_it_cannot_show() -> None:
    shown = live_table(rows("web-1") * 20, (80, 24), note="lost").plain.split("\n")
    assert len(shown) <= 23
    assert shown[-2:] == ["… 41 more lines; a taller terminal shows them", "lost"]


@pytest.mark.parametrize("by", KEYS)
def test_every_order_takes_every_state(by: str) -> None:
    requests = [make().typed for make in EXPLANATION_INPUTS.values()]
    assert len(in_order(requests, by)) == len(requests)


def test_orders() -> None:
    names = ("responding", "later than expected", "blocked", "complete: gone")
    requests = [EXPLANATION_INPUTS[name]().metadata(name=name).typed for name in names]
    assert [one.metadata.name for one in in_order(requests, "eta")][:2] == [
        "later than expected",
        "responding",
    ]
    assert in_order(requests)[-1].metadata.name == "complete: gone"
    stages = [one.metadata.name for one in in_order(requests, "stage")]
    assert stages.index("responding") < stages.index("blocked") < stages.index("complete: gone")
    assert [pod_of(one) for one in in_order(requests, "pod")] == ["web-1"] * 4
