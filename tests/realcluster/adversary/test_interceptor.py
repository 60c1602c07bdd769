"""An interceptor's account: it may write the status of requests, and evict pods."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from support.https import Obj, Reply
from support.realcluster.adversary import (
    APPLY,
    BOUND,
    MERGE,
    PREPARE,
    ROLES,
    ROWS,
    STRATEGIC,
    TENANTS,
    Account,
    Site,
    held_by,
    held_in_code,
    permitted,
    refused,
    request_for,
)
from vacate.api.installednames import EVACUATION_STATUS_AUTHORITY, RESPONDER_AUTHORITY, STATUS_AUTHORITY
from vacate.api.kinds import EVICTIONREQUESTS, LIFECYCLE_EVICTIONS, PODS
from vacate.api.times import format_time
from vacate.api.types.lifecycle import EVICTOR
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.registry import OWN_DIALECTS, dialect_named
from vacate.eviction.dialects.turn_conditions import declined_type, failed_type
from vacate.eviction.requesternames import keyed

pytestmark = ROWS
SINCE = "2026-01-01T00:00:00Z"
COMPLETE = {
    "type": "Complete", "status": "True", "reason": "PodDeleted", "message": "",
    "lastTransitionTime": SINCE,
}  # fmt: skip
FORGERIES: dict[str, Obj] = {
    "completion": {"conditions": [COMPLETE]},
    "another turn": {"activeInterceptorName": "mine.example.com"},
    "heartbeat of 2030": {"heartbeatTime": "2030-01-01T00:00:00.000000Z"},
    "counter": {"podEvictionStatus": {"failedAPIEvictionCounter": 7}},
}
RESPONDER = keyed(BOUND)
WAYS = (MERGE, APPLY)
VERSIONS = ("none", "as read", "leading zero")


def report(who: Account, request: Obj, status: Any, how: str = MERGE, version: str = "none") -> Reply:
    """Write status in the name of whoever it is, with the version in one of its spellings."""
    meta: Obj = {}
    name, dialect = request["metadata"]["name"], dialect_named(request["kind"].lower())
    if version != "none":
        read: str = who.get(dialect.kind, name).ok()["metadata"]["resourceVersion"]
        meta = {"resourceVersion": read if version == "as read" else f"0{read}"}
    change = {"metadata": meta, **dialect.status_patch({"status": status})}
    return who.change(dialect.kind, name, change, sub="status", how=how)


def _now() -> str:
    return format_time(dt.datetime.now(dt.UTC))


def _result(kind: str) -> Obj:
    return {"conditions": [{**COMPLETE, "type": kind, "reason": "HandedOver"}]}


REPORTS: dict[str, Callable[[], Obj]] = {
    "heartbeat": lambda: {"responders": [{"name": RESPONDER, "heartbeatTime": _now()}]},
    "failure": lambda: _result(failed_type(RESPONDER)),
    "nothing to do": lambda: _result(declined_type(RESPONDER)),
}


def _eviction(site: Site) -> str:
    """An Eviction of Kubernetes' own API in which the bound responder has the turn; one for all rows."""
    named = ((RESPONDER, 20_000, "Active"), (EVICTOR, 100, "Inactive"))
    begun: Obj = {
        "observedGeneration": 1,
        "targetResponders": [
            {"name": name, "priority": priority, "state": state} for name, priority, state in named
        ],
        "responders": [{"name": RESPONDER, "startTime": _now()}, {"name": EVICTOR}],
    }
    target = {"pod": {"name": "web", "uid": "7f3d9c52-8f6e-4b0f-9d35-0c1f0f6f2a11"}}
    body = {"metadata": {"name": "bound"}, "spec": {"target": target}}
    name = site.given(LIFECYCLE_EVICTIONS, body, TENANTS)
    if not site.admin.get(LIFECYCLE_EVICTIONS, name).ok().get("status", {}).get("responders"):
        kept = "?fieldManager=manager"  # also where rows are only tried
        status = {"status": begun}
        site.manager.change(LIFECYCLE_EVICTIONS, name, status, sub="status", how=STRATEGIC, query=kept).ok()
    return name


class TestInterceptor:
    @held_by(STATUS_AUTHORITY, alone=True)
    @pytest.mark.parametrize("version", VERSIONS)
    @pytest.mark.parametrize("how", WAYS)
    @pytest.mark.parametrize("forgery", FORGERIES)
    def test_forges_no_progress(self, site: Site, forgery: str, how: str, version: str) -> None:
        request = site.active(PREPARE)
        refused(report(site.interceptor, request, FORGERIES[forgery], how, version))
        status = site.now(request)["status"]
        assert status["activeInterceptorName"] == PREPARE
        assert not any(one["type"] == "Complete" for one in status.get("conditions", []))
        assert not status.get("heartbeatTime", "").startswith("2030")

    @held_in_code("server-no-heartbeat-of-the-future")
    @pytest.mark.parametrize("dialect", OWN_DIALECTS, ids=lambda one: one.kind.plural)
    def test_forges_no_heartbeat_in_a_review_that_is_oversized(self, site: Site, dialect: Dialect) -> None:
        """The server drops metadata from what is written of a status, after mutating webhooks have seen it.

        Each of these characters takes six in a review, which is then larger than any that the webhook reads.
        """
        request = site.active(PREPARE, dialect)
        name, status = request["metadata"]["name"], FORGERIES["heartbeat of 2030"]
        change = {
            "metadata": {"annotations": {"example.com/large": "<" * 1_000_000}},
            **dialect.status_patch({"status": status}),
        }
        refused(site.interceptor.change(dialect.kind, name, change, sub="status"), "in the future")

    @held_by(EVACUATION_STATUS_AUTHORITY, alone=True)
    @pytest.mark.parametrize("forgery", ["completion", "another turn", "counter"])
    def test_forges_no_progress_of_an_evacuation(self, site: Site, forgery: str) -> None:
        request = site.active(PREPARE, EVACUATION)
        refused(report(site.interceptor, request, FORGERIES[forgery]))

    @held_by(STATUS_AUTHORITY, alone=True)
    @pytest.mark.parametrize("version", VERSIONS)
    def test_reports_not_for_one_that_is_bound_to_another_account(self, site: Site, version: str) -> None:
        request = site.active(BOUND)
        refused(
            report(site.interceptor, request, {"activeInterceptorCompleted": True}, version=version), "bound"
        )
        report(site.bound, request, {"activeInterceptorCompleted": True}).ok()

    @held_by(RESPONDER_AUTHORITY)
    @pytest.mark.parametrize("report", REPORTS)
    def test_reports_not_for_a_responder_that_is_bound_to_another_account(
        self, site: Site, report: str
    ) -> None:
        """Though it has the right to write the status, as responders of Kubernetes' own API need it."""
        change = {"status": REPORTS[report]()}
        name = _eviction(site)
        refused(site.responder.change(LIFECYCLE_EVICTIONS, name, change, sub="status", how=STRATEGIC))
        query = "?dryRun=All"  # for the other rows the turn stays as it is
        site.bound.change(LIFECYCLE_EVICTIONS, name, change, sub="status", how=STRATEGIC, query=query).ok()

    @permitted
    def test_the_administrator_is_shown_for_whom_anyone_may_report(self, site: Site) -> None:
        for name in (PREPARE, BOUND):
            site.active(name)
        shown = site.vacate("interceptors", "-n", TENANTS)
        rows = {line.split()[0]: line.split()[-1] for line in shown.stdout.splitlines()}
        assert (rows[BOUND], rows[PREPARE]) == (f"{TENANTS}/bound", "-"), shown
        (warning,) = shown.stderr.splitlines()
        assert PREPARE in warning
        assert BOUND not in warning

    @held_by(ROLES)
    def test_requests_no_eviction_and_withdraws_none(self, site: Site) -> None:
        request, pod = site.active(PREPARE), site.pod(PREPARE)
        name = request["metadata"]["name"]
        refused(site.interceptor.create(EVICTIONREQUESTS, request_for(pod)))
        refused(site.interceptor.change(EVICTIONREQUESTS, name, {"spec": {"requesters": []}}))
        refused(site.interceptor.delete(EVICTIONREQUESTS, name))

    @held_by(ROLES)
    def test_deletes_no_pod(self, site: Site) -> None:
        pod = site.pod(PREPARE)
        refused(site.interceptor.delete(PODS, pod["metadata"]["name"]))
        assert site.there(pod)
