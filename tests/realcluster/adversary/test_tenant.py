"""A tenant: the role `edit` in a namespace, and with it the right to request evictions there."""

from __future__ import annotations

import pytest

from support.https import Obj
from support.realcluster.adversary import (
    APPLY,
    JSON_PATCH,
    MERGE,
    PENDING,
    PREPARE,
    ROWS,
    Site,
    refused,
    request_for,
)
from vacate.api.kinds import CONFIGMAPS, EVICTIONREQUESTS, NODES, PODS
from vacate.api.types.evictionrequest import ADMITTED_STAMP
from vacate.eviction.callers import CALLERS

pytestmark = ROWS
FORGED = {CALLERS: '{"admin.bridge.vacate.dev":{"until":"2099-01-01T00:00:00Z"}}'}
PIN = "example.com/pin"
ENCODINGS = (MERGE, APPLY, "PUT")


def _version(text: str, encoding: str) -> str:
    """The same version written in another way that kube-apiserver takes for it."""
    return {"as read": text, "leading zero": f"0{text}", "leading zeros": f"000{text}"}[encoding]


class TestTenant:
    @PENDING
    @pytest.mark.parametrize("version", ["as read", "leading zero", "leading zeros"])
    @pytest.mark.parametrize("how", ENCODINGS)
    def test_forges_no_record_of_callers(self, site: Site, how: str, version: str) -> None:
        """By the record a drain learns that a pod is gone."""
        name = site.active(PREPARE)["metadata"]["name"]
        read = site.tenant.get(EVICTIONREQUESTS, name).ok()
        version = _version(read["metadata"]["resourceVersion"], version)
        meta: Obj = {"resourceVersion": version, "annotations": FORGED}
        if how == "PUT":
            read["metadata"] |= {
                "resourceVersion": version,
                "annotations": {**read["metadata"]["annotations"], **FORGED},
            }
            site.tenant.replace(EVICTIONREQUESTS, read)
        else:
            site.tenant.change(EVICTIONREQUESTS, name, {"metadata": meta}, how=how)
        kept = site.tenant.get(EVICTIONREQUESTS, name).ok()
        assert CALLERS not in kept["metadata"]["annotations"]

    @pytest.mark.parametrize("version", ["as read", "leading zero"])
    def test_lets_no_interceptor_in_or_out(self, site: Site, version: str) -> None:
        request = site.active(PREPARE)
        name, before = request["metadata"]["name"], request["spec"]["interceptors"]
        meta = {"resourceVersion": _version(request["metadata"]["resourceVersion"], version)}
        change = {"metadata": meta, "spec": {"interceptors": [{"name": "mine.example.com"}]}}
        site.tenant.change(EVICTIONREQUESTS, name, change)
        assert site.tenant.get(EVICTIONREQUESTS, name).ok()["spec"]["interceptors"] == before

    def test_brings_no_interceptor_with_a_new_request(self, site: Site) -> None:
        pod = site.pod(PREPARE)
        body = request_for(pod, annotations={ADMITTED_STAMP: "true"})
        body["spec"]["interceptors"] = [{"name": "mine.example.com"}]
        site.tenant.create(EVICTIONREQUESTS, body)
        found = site.requested(pod)
        names = [] if found is None else [one["name"] for one in found["spec"]["interceptors"]]
        assert "mine.example.com" not in names

    @PENDING
    @pytest.mark.parametrize("how", ["create", MERGE, JSON_PATCH, APPLY])
    def test_pins_no_request_with_a_finalizer(self, site: Site, how: str) -> None:
        """Its name is the UID of the pod: while it is there, no other can be made."""
        pod = site.pod(PREPARE)
        if how == "create":
            refused(site.tenant.request(pod, finalizers=[PIN]), "finalizers")
            return
        site.tenant.request(pod).ok()
        name = pod["metadata"]["uid"]
        change: object = {"metadata": {"finalizers": [PIN]}}
        if how == JSON_PATCH:
            change = [{"op": "add", "path": "/metadata/finalizers", "value": [PIN]}]
        refused(site.tenant.change(EVICTIONREQUESTS, name, change, how=how), "finalizers")

    @PENDING
    @pytest.mark.parametrize("options", [{"propagationPolicy": "Foreground"}, {"orphanDependents": True}])
    def test_pins_no_request_by_the_way_it_is_deleted(self, site: Site, options: Obj) -> None:
        """A dependent with a finalizer of hers would hold what is deleted in the foreground."""
        request = site.active(PREPARE)
        owner = {
            "apiVersion": EVICTIONREQUESTS.api_version,
            "kind": EVICTIONREQUESTS.kind,
            "name": request["metadata"]["name"],
            "uid": request["metadata"]["uid"],
            "blockOwnerDeletion": True,
        }
        name = request["metadata"]["name"]
        dependent = {"metadata": {"name": name, "ownerReferences": [owner], "finalizers": [PIN]}}
        site.tenant.create(CONFIGMAPS, dependent)
        refused(site.tenant.delete(EVICTIONREQUESTS, name, **options))
        site.tenant.delete(EVICTIONREQUESTS, name).ok()  # as it is deleted by default

    def test_approves_no_fence(self, site: Site) -> None:
        for one in ("vacate.dev/fencing-approved", "vacate.dev/fence-requested"):
            refused(site.tenant.change(NODES, "node-1", {"metadata": {"annotations": {one: "now"}}}))

    def test_has_no_pod_of_others_evicted(self, site: Site) -> None:
        body = {"metadata": {"name": "of-others"}, "spec": {"containers": [{"name": "a", "image": "a:1"}]}}
        pod = site.admin.create(PODS, body, "default").ok()
        refused(site.tenant.request(pod), "evictionrequests")
        refused(site.tenant.evict("of-others", "default"))
        site.admin.delete(PODS, "of-others", "default", gracePeriodSeconds=0)
