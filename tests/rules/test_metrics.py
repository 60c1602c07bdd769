"""The series of open requests: their names, labels and values, and that they go with the request."""

from __future__ import annotations

import pytest

from decide.dialects.given import FIRST, LAST, NOW, UID, condition, read, request, when
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cache.reader import Reader
from vacate.cache.table import Table
from vacate.controllers.evictionrequest.metrics import OpenRequests

pytestmark = pytest.mark.unit

KNOWN = {"namespace": "shop", "evictionrequest": UID, "pod": "web"}
AT_WORK = request(
    FIRST,
    LAST,
    activeInterceptorName=FIRST,
    conditions=[condition("InterceptorAssigned", "True", "FirstInterceptor", when())],
    podEvictionStatus={"failedAPIEvictionCounter": 3},
)


def series(*stored: Obj) -> dict[str, list[tuple[dict[str, str], float]]]:
    table: Table[EvictionRequest] = Table({})
    table.replace([read(obj) for obj in stored], "1")
    shown = OpenRequests(Reader(table), lambda _: 1)
    return {one.name: [(point.labels, point.value) for point in one.samples] for one in shown.collect()}


def test_the_four_families_of_an_open_request() -> None:
    assert series(AT_WORK) == {
        "evictionrequest_controller_evictions": [
            ({**KNOWN, "result": "accepted"}, 1.0),
            ({**KNOWN, "result": "refused"}, 3.0),
        ],
        "evictionrequest_controller_active_interceptor": [({**KNOWN, "interceptor": FIRST}, NOW.timestamp())],
        "evictionrequest_controller_active_requester": [({**KNOWN, "requester": "drain.example.com"}, 1.0)],
        "evictionrequest_controller_pod_interceptors": [(KNOWN, 2.0)],
    }


def test_a_finished_request_has_no_series() -> None:
    over = request(FIRST, conditions=[condition("Complete", "True", "PodDeleted", when())])
    assert all(points == [] for points in series(over).values())
