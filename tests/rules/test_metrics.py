"""The series of open requests: their names, labels and values, and that they go with the request."""

from __future__ import annotations

import pytest

from eviction.dialects.given import FIRST, LAST, NOW, UID, condition, read, request, when
from vacate.api.kinds import EVACUATIONS
from vacate.api.objects import Obj
from vacate.api.types.evacuation import Evacuation
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cache.reader import Reader
from vacate.cache.store import ObjectTable
from vacate.client.codec import codec_for
from vacate.controllers.eviction.metrics import OpenRequests
from vacate.controllers.eviction.summarymetrics import MAX_NAMES, OTHERS, RequestTotals
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.metrics import Metrics, exposition

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
    table: ObjectTable[EvictionRequest] = ObjectTable({})
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


def test_the_four_families_of_an_open_evacuation() -> None:
    meta = {"name": f"{UID}-web", "namespace": "shop", "uid": "e", "resourceVersion": "1"}
    drain = f"{EVACUATIONS.group}/instigator_drain.example.com"
    stored = {
        "metadata": {**meta, "finalizers": [drain, "example.com/other"]},
        "spec": {
            "podRef": {"name": "web", "uid": UID},
            "evacuators": [{"evacuatorClass": name, "priority": 1} for name in (FIRST, LAST)],
        },
        "status": {**AT_WORK["status"], "activeEvacuatorClass": FIRST, "failedEvictionCounter": 3},
    }
    table: ObjectTable[EvictionRequest] = ObjectTable({})
    table.replace([EVACUATION.read(codec_for(Evacuation).convert(stored))], "1")
    shown = OpenRequests(Reader(table), lambda _: 1, EVACUATION.terms)
    found = {one.name: [(point.labels, point.value) for point in one.samples] for one in shown.collect()}
    known = {"namespace": "shop", "evacuation": f"{UID}-web", "pod": "web"}
    assert found == {
        "evacuation_controller_evictions": [
            ({**known, "result": "accepted"}, 1.0),
            ({**known, "result": "refused"}, 3.0),
        ],
        "evacuation_controller_active_evacuator": [({**known, "evacuator": FIRST}, NOW.timestamp())],
        "evacuation_controller_active_instigator": [({**known, "instigator": "drain.example.com"}, 1.0)],
        "evacuation_controller_pod_evacuators": [(known, 2.0)],
    }


def test_a_finished_request_has_no_series() -> None:
    over = request(FIRST, conditions=[condition("Complete", "True", "PodDeleted", when())])
    assert all(points == [] for points in series(over).values())


def totals(*stored: Obj) -> dict[str, list[tuple[dict[str, str], float]]]:
    table: ObjectTable[EvictionRequest] = ObjectTable({})
    table.replace([read(obj) for obj in stored], "1")
    shown = RequestTotals(Reader(table)).collect()
    return {one.name: [(point.labels, point.value) for point in one.samples] for one in shown}


def named(uid: str, obj: Obj) -> Obj:
    return {**obj, "metadata": {**obj["metadata"], "name": uid, "uid": uid}}


def test_totals_name_no_pod_no_request_and_no_namespace() -> None:
    over = request(FIRST, conditions=[condition("Complete", "True", "PodDeleted", when())])
    done = request(
        FIRST,
        activeInterceptorName=FIRST,
        activeInterceptorCompleted=True,
        conditions=[condition("InterceptorAssigned", "True", "FirstInterceptor", when(minutes=-9))],
    )
    assert totals(AT_WORK, named("over", over), named("done", done)) == {
        "vacate_open_requests": [({}, 2.0)],
        "vacate_refused_requests": [({}, 1.0)],
        "vacate_most_refusals": [({}, 3.0)],
        "vacate_requester_requests": [({"requester": "drain.example.com"}, 2.0)],
        "vacate_interceptor_turns": [({"interceptor": FIRST}, 1.0)],
        "vacate_interceptor_oldest_turn_seconds": [({"interceptor": FIRST}, NOW.timestamp())],
    }


def test_many_names_share_a_series() -> None:
    """Requesters choose names: they must not make every scrape endless."""
    obj = request(FIRST)
    many = [{"name": f"r{number}.example.com"} for number in range(MAX_NAMES + 20)]
    flood = {**obj, "spec": {**obj["spec"], "requesters": many}}
    found = totals(flood, named("plain", obj))["vacate_requester_requests"]
    assert len(found) == MAX_NAMES + 1
    assert ({"requester": OTHERS}, 21.0) in found


def test_others_have_a_turn_while_much_is_counted() -> None:
    table: ObjectTable[EvictionRequest] = ObjectTable({})
    table.replace([read(named(f"u{number}", AT_WORK)) for number in range(1200)], "1")
    metrics = Metrics()
    metrics.show("totals", RequestTotals(Reader(table)))
    pieces = list(exposition(metrics.registry))
    assert pieces.count(b"") >= 2
    assert b"\nvacate_open_requests 1200.0\n" in b"".join(pieces)
