"""An interceptor's account: it may write the status of requests, and evict pods."""

from __future__ import annotations

from typing import Any

import pytest

from support.https import Obj, Reply
from support.realcluster.adversary import (
    APPLY,
    BOUND,
    MERGE,
    PENDING,
    PREPARE,
    ROWS,
    Account,
    Site,
    refused,
    request_for,
)
from vacate.api.kinds import EVICTIONREQUESTS, PODS

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
WAYS = (MERGE, APPLY)
VERSIONS = ("none", "as read", "leading zero")


def report(who: Account, request: Obj, status: Any, how: str = MERGE, version: str = "none") -> Reply:
    """Write status in the name of whoever it is, with the version in one of its spellings."""
    meta: Obj = {}
    name = request["metadata"]["name"]
    if version != "none":
        read: str = who.get(EVICTIONREQUESTS, name).ok()["metadata"]["resourceVersion"]
        meta = {"resourceVersion": read if version == "as read" else f"0{read}"}
    change = {"metadata": meta, "status": status}
    return who.change(EVICTIONREQUESTS, name, change, sub="status", how=how)


class TestInterceptor:
    @PENDING
    @pytest.mark.parametrize("version", VERSIONS)
    @pytest.mark.parametrize("how", WAYS)
    @pytest.mark.parametrize("forgery", FORGERIES)
    def test_forges_no_progress(self, site: Site, forgery: str, how: str, version: str) -> None:
        request = site.active(PREPARE)
        refused(report(site.interceptor, request, FORGERIES[forgery], how, version))
        status = site.requested_by_name(request)["status"]
        assert status["activeInterceptorName"] == PREPARE
        assert not any(one["type"] == "Complete" for one in status.get("conditions", []))
        assert not status.get("heartbeatTime", "").startswith("2030")

    @pytest.mark.parametrize("version", VERSIONS)
    def test_reports_not_for_one_that_is_bound_to_another_account(self, site: Site, version: str) -> None:
        request = site.active(BOUND)
        refused(
            report(site.interceptor, request, {"activeInterceptorCompleted": True}, version=version), "bound"
        )
        report(site.bound, request, {"activeInterceptorCompleted": True}).ok()

    def test_requests_no_eviction_and_withdraws_none(self, site: Site) -> None:
        request, pod = site.active(PREPARE), site.pod(PREPARE)
        name = request["metadata"]["name"]
        refused(site.interceptor.create(EVICTIONREQUESTS, request_for(pod)))
        refused(site.interceptor.change(EVICTIONREQUESTS, name, {"spec": {"requesters": []}}))
        refused(site.interceptor.delete(EVICTIONREQUESTS, name))

    def test_deletes_no_pod(self, site: Site) -> None:
        pod = site.pod(PREPARE)
        refused(site.interceptor.delete(PODS, pod["metadata"]["name"]))
        assert site.there(pod)
