"""The demo with real processes: what it reads in the logs of its service, and how that fits a terminal."""

from __future__ import annotations

import logging

import pytest

from vacate.cli.demo.processes import PodLog, fitted, log_line, report
from vacate.cli.demo.service import log_the_end

pytestmark = pytest.mark.unit

STAMP = "2026-11-16T23:59:58Z"


@pytest.mark.parametrize(
    ("reason", "cause", "after"),
    [
        ("Eviction", "an eviction", "a replacement comes: data stays"),
        ("IntolerableTaint", "a taint", "a replacement comes: data stays"),
        ("Update", "a rollout", "a replacement comes: data stays"),
        ("Decommissioned", "a scale-down", "not coming back: data is handed over"),
        ("see http://x: later", "a user", "a replacement comes: data stays"),
    ],
)
def test_the_service_logs_its_end_and_the_report_reads_it(
    caplog: pytest.LogCaptureFixture, reason: str, cause: str, after: str
) -> None:
    with caplog.at_level(logging.INFO):
        log_the_end(reason)
    ended, then = caplog.messages
    assert then == after
    assert PodLog("web-1", [f"{STAMP} serving version 1", f"{STAMP} {ended}"]).termination == (
        STAMP,
        cause,
        reason,
    )


def test_it_fits() -> None:
    later = STAMP.replace("16T23:59:58", "17T00:00:01")
    logs = [
        PodLog("web-79d55c88d9-zzzzz", [f"{later} terminated by a taint: IntolerableTaint"]),
        *(PodLog(f"web-79d55c88d9-4kvk{n}", [f"{STAMP} terminated by a rollout: Update"]) for n in range(7)),
    ]
    shown = report(logs)
    assert len(shown) <= 23
    assert max(map(len, shown)) <= 80
    assert [line.split()[0] for line in shown[2:10]] == [f"web-4kvk{n}" for n in range(7)] + ["web-zzzzz"]
    assert shown[9].split() == ["web-zzzzz", "00:00:01", "a", "taint", "IntolerableTaint"]
    line = log_line("web-79d55c88d9-4kvkp", f"{STAMP} terminated by a taint: IntolerableTaint")
    assert len(line) <= 80
    for width in (80, 40, 20, 1):
        assert all(len(part) <= max(width, 20) for one in [*shown, line] for part in fitted(one, width))
    assert "".join(fitted(line, 30)).replace(" ", "") == line.replace(" ", "")
