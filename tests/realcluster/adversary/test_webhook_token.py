"""The webhook's stolen token: it reads, requests evictions, and takes over nothing."""

from __future__ import annotations

import pytest

from support.https import Obj
from support.realcluster.adversary import (
    APPLY,
    MERGE,
    PREPARE,
    ROLES,
    ROWS,
    TENANTS,
    Site,
    held_by,
    new_request,
    permitted,
    refused,
)
from vacate.api.installednames import MUTATING, TLS_SECRET, VALIDATING, WEBHOOK_REQUESTS
from vacate.api.kinds import EVACUATIONS, PODS
from vacate.api.terminationreason import ANNOTATION
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.registry import OWN_DIALECTS

pytestmark = ROWS
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
CHANGES: dict[str, Obj] = {
    "labels": {"metadata": {"labels": {"app": "other"}}},
    "finalizers": {"metadata": {"finalizers": ["example.com/pin"]}},
    "interceptors": {
        "metadata": {"annotations": {"interceptor.evictionrequest.coordination.k8s.io/priority_a.b": "1"}}
    },
    "image": {"spec": {"containers": [{"name": "main", "image": "mine:1"}]}},
}


class TestWebhooksToken:
    @held_by(WEBHOOK_REQUESTS)
    def test_deletes_no_pod(self, site: Site) -> None:
        """It has the right, which admission of its requests asks for, and cannot use it."""
        pod = site.pod(PREPARE)
        refused(site.webhook.delete(PODS, pod["metadata"]["name"]))
        refused(site.webhook.delete(PODS, pod["metadata"]["name"], gracePeriodSeconds=0))
        refused(site.webhook.call("DELETE", PODS.collection_path(TENANTS)))
        assert site.there(pod)

    @held_by("vacate-confine-webhook-pods")
    @pytest.mark.parametrize("how", [MERGE, APPLY])
    @pytest.mark.parametrize("what", CHANGES)
    def test_changes_nothing_of_a_pod_but_its_reason(self, site: Site, what: str, how: str) -> None:
        refused(site.webhook.change(PODS, site.shared["metadata"]["name"], CHANGES[what], how=how))

    @permitted
    def test_annotates_a_reason_where_others_change_pods_too(self, site: Site) -> None:
        change = {"metadata": {"annotations": {ANNOTATION: "Evicted"}}}
        site.webhook.change(PODS, site.pod()["metadata"]["name"], change).ok()

    @held_by(ROLES)
    def test_takes_over_no_admission(self, site: Site) -> None:
        for kind, name in (("mutating", MUTATING), ("validating", VALIDATING)):
            path = f"{ADMISSION}/{kind}webhookconfigurations/{name}"
            refused(site.webhook.call("PATCH", path, {"webhooks": []}, MERGE))
            refused(site.webhook.call("DELETE", path))
        path = f"{ADMISSION}/validatingadmissionpolicybindings"
        refused(site.webhook.call("DELETE", path))

    @held_by(ROLES)
    def test_reads_no_secret_and_gets_no_token(self, site: Site) -> None:
        home = "/api/v1/namespaces/vacate-system"
        refused(site.webhook.call("GET", f"{home}/secrets/{TLS_SECRET}"))
        refused(site.webhook.call("POST", f"{home}/serviceaccounts/vacate-manager/token", {"spec": {}}))

    @held_by("vacate-confine-webhook-ev*")
    @pytest.mark.parametrize("dialect", OWN_DIALECTS, ids=[one.name for one in OWN_DIALECTS])
    def test_takes_no_name_but_those_of_callers(self, site: Site, dialect: Dialect) -> None:
        request = site.active(PREPARE, dialect)
        kind, meta = dialect.kind, request["metadata"]
        mine = new_request(site.shared, dialect, "mine.example.com")
        joined: Obj = {"spec": {"requesters": mine["spec"].get("requesters")}}
        if kind == EVACUATIONS:
            joined = {"metadata": {"finalizers": [*meta["finalizers"], *mine["metadata"]["finalizers"]]}}
        refused(site.webhook.change(kind, meta["name"], joined))
        refused(site.webhook.create(kind, mine))
        refused(site.webhook.delete(kind, meta["name"]))

    @held_by(ROLES)
    def test_writes_no_progress(self, site: Site) -> None:
        request = site.active(PREPARE)
        path = f"/apis/evictionrequest.coordination.k8s.io/v1alpha1/namespaces/{TENANTS}/evictionrequests"
        change = {"status": {"activeInterceptorCompleted": True}}
        refused(site.webhook.call("PATCH", f"{path}/{request['metadata']['name']}/status", change, MERGE))
