"""An interceptor that never answered, one that fell silent, and one that failed hold a pod, and are named."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest

from vacate.api.types import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.nodemaintenance import MANUAL
from vacate.eviction.dialects.turn_conditions import FailureReason, failed_type
from vacate.maintenance.blockers import blocking, next_report

pytestmark = pytest.mark.unit

BEGAN = dt.datetime(2026, 11, 17, 2, 0, tzinfo=dt.UTC)
MINUTE = dt.timedelta(minutes=1)
POD = msgspec.convert({"metadata": {"name": "db-0", "namespace": "shop"}, "spec": {"nodeName": "n1"}}, Pod)


def _request(heartbeat: dt.datetime, *conditions: dict[str, Any], **status: Any) -> EvictionRequest:
    assigned = {"type": "InterceptorAssigned", "status": "True", "lastTransitionTime": BEGAN.isoformat()}
    stage = {"type": "Progressing", "status": "True", "reason": "Intercepting"}
    made = {
        "metadata": {"name": "u", "namespace": "shop"},
        "spec": {"interceptors": [{"name": "later.example.com"}, {"name": "backup.example.com"}]},
        "status": {
            "activeInterceptorName": "backup.example.com",
            "heartbeatTime": heartbeat.isoformat(),
            "conditions": [assigned, stage, *conditions],
            **status,
        },
    }
    return msgspec.convert(made, EvictionRequest)


@pytest.mark.parametrize(
    ("heartbeat", "reported", "ends", "text"),
    [
        pytest.param(0, 1, 30, "has not responded; it times out at 02:30:00 UTC", id="never answered"),
        pytest.param(
            5, 23, 35, "has sent no heartbeat since 02:05:00 UTC; it times out at 02:35:00 UTC",
            id="answered once and fell silent",
        ),
    ],
)  # fmt: skip
def test_a_silent_interceptor_is_reported(heartbeat: int, reported: int, ends: int, text: str) -> None:
    request = _request(BEGAN + heartbeat * MINUTE)
    due = BEGAN + reported * MINUTE
    assert next_report(POD, request) == due
    assert blocking(POD, request, [], due - dt.timedelta(seconds=1)) is None
    held = blocking(POD, request, [], due)
    assert held is not None
    assert (held.kind, held.name, held.resolution) == ("Interceptor", "backup.example.com", MANUAL)
    assert held.message == f"interceptor backup.example.com {text}"
    assert held.since == BEGAN + heartbeat * MINUTE, "since when it is silent, not since it is reported"
    assert held.end_time == BEGAN + ends * MINUTE
    assert held.consequence.endswith(
        "it times out, and interceptor later.example.com is assigned without the preparation by "
        "backup.example.com"
    )
    assert [one.command for one in held.remedies] == [
        "vacate interceptors -A",
        "vacate explain db-0 -n shop",
        "vacate skip db-0 backup.example.com -n shop",
    ]
    assert blocking(POD, _request(due), [], due) is None, "it has answered again"


def test_one_that_failed_and_waits_for_an_administrator_is_reported_at_once() -> None:
    failed = {
        "type": failed_type("backup.example.com"),
        "status": "True",
        "reason": FailureReason.HELD,
        "message": "disk full",
        "lastTransitionTime": (BEGAN + 2 * MINUTE).isoformat(),
    }
    request = _request(BEGAN + 3 * MINUTE, failed)
    held = blocking(POD, request, [], BEGAN + 3 * MINUTE)
    assert held is not None
    assert held.message == (
        "interceptor backup.example.com has failed and waits for an administrator: disk full"
    )
    assert held.since == BEGAN + 2 * MINUTE
    assert held.resolution == MANUAL
