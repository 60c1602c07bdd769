"""A neighbour: reaches the webhook's port over the network, without a certificate and without rights."""

from __future__ import annotations

import json

import pytest

from support.https import Obj
from support.realcluster.adversary import (
    PREPARE,
    ROWS,
    TENANTS,
    Site,
    held_in_code,
)
from vacate.api.installednames import MUTATE_REQUESTS, VALIDATE_EVICTIONS, VALIDATE_REQUESTS
from vacate.api.kinds import EVICTIONREQUESTS, PODS, Kind

pytestmark = ROWS
STRANGER = {"username": "stranger", "groups": ["system:authenticated"]}


def _review(of: Kind, obj: Obj, sub: str = "", **more: object) -> bytes:
    request = {
        "uid": "4b5c7b1e-5e2f-4c38-9d8a-000000000001",
        "kind": {"group": of.group, "version": of.version, "kind": of.kind},
        "resource": {"group": of.group, "version": of.version, "resource": of.plural},
        "subResource": sub,
        "operation": "CREATE",
        "namespace": TENANTS,
        "name": obj["metadata"]["name"],
        "userInfo": STRANGER,
        "object": obj,
        "dryRun": False,
        **more,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(review).encode()


def _request(requesters: int) -> Obj:
    target = {"podRef": {"name": "web", "uid": "no-such-uid"}}
    names = [{"name": -number} for number in range(requesters)]
    spec = {"target": target, "requesters": names, "type": "Soft", "heartbeatDeadlineSeconds": 1800}
    meta = {"name": "no-such-uid", "namespace": TENANTS}
    return {
        "apiVersion": EVICTIONREQUESTS.api_version,
        "kind": EVICTIONREQUESTS.kind,
        "metadata": meta,
        "spec": spec,
    }


class TestNeighbour:
    @held_in_code("row-review-limits")
    @pytest.mark.parametrize("path", [MUTATE_REQUESTS, VALIDATE_REQUESTS])
    def test_has_no_review_read_that_is_larger_than_any_of_an_api_server(self, site: Site, path: str) -> None:
        body = _review(EVICTIONREQUESTS, _request(300_000))
        assert len(body) > 4 * 1024 * 1024
        assert site.post(path, body).code == 413

    @held_in_code("an-answer-has-few-errors")
    @pytest.mark.parametrize("path", [MUTATE_REQUESTS, VALIDATE_REQUESTS])
    def test_gets_few_errors_for_many(self, site: Site, path: str) -> None:
        claimed = {"username": "admin", "groups": ["system:masters"]}
        for count, error in ((130_000, "Too many: 130000"), (100, "more errors")):
            reply = site.post(path, _review(EVICTIONREQUESTS, _request(count), userInfo=claimed))
            assert reply.code == 200
            assert not reply.obj["response"]["allowed"]
            assert error in reply.obj["response"]["status"]["message"]
            assert len(reply.body) < 20_000

    @held_in_code("bridge-checks-callers")
    def test_has_no_eviction_requested_for_a_caller_who_may_not(self, site: Site) -> None:
        """A review is a claim: only the API server knows what the named caller may do."""
        pod = site.pod(PREPARE)
        meta = {"name": pod["metadata"]["name"], "namespace": TENANTS}
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
        kind = {"group": "policy", "version": "v1", "kind": "Eviction"}
        site.post(VALIDATE_EVICTIONS, _review(PODS, eviction, "eviction", kind=kind))
        assert site.requested(pod) is None

    @held_in_code("row-no-reviews")
    @pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"[" * 100_000], ids=lambda body: body[:4])
    def test_makes_nothing_fail_with_what_is_no_review(self, site: Site, body: bytes) -> None:
        assert site.post(VALIDATE_REQUESTS, body).code == 400
