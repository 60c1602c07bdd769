"""A tenant: the role `edit` in a namespace, and with it the right to request evictions there."""

from __future__ import annotations

import contextlib
import http.client
from typing import Any

import pytest

from support.evictions.namespace import pod_body
from support.https import Obj
from support.realcluster.adversary import (
    APPLY,
    JSON_PATCH,
    MERGE,
    PREPARE,
    REVIEWS,
    ROLES,
    ROWS,
    TENANTS,
    Site,
    held_by,
    held_in_code,
    new_request,
    refused,
    request_for,
)
from vacate.api.installednames import (
    EVACUATION_RIGHT_TO_DELETE,
    EVACUATION_STEPS,
    EXCLUSIVE_GATE,
    FINALIZERS,
    FORCE_DELETION,
    FORCE_EVICTION,
    MANAGER,
    MANAGER_LEASE,
    NO_GRACE,
    RIGHT_TO_DELETE,
    STEPS,
)
from vacate.api.kinds import CONFIGMAPS, EVACUATIONS, EVICTIONREQUESTS, LEASES, NODES, PODS
from vacate.api.types.evictionrequest import ADMITTED_STAMP, PUSHED_BY, SKIP, SUPERSEDES
from vacate.eviction.callers import CALLERS
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.registry import dialect_named
from vacate.eviction.registration import PREFIXES

pytestmark = ROWS
FORGED = {CALLERS: '{"admin.bridge.vacate.dev":{"until":"2099-01-01T00:00:00Z"}}'}
PIN = "example.com/pin"
ENCODINGS = (MERGE, APPLY, "PUT")
_RECORD, _OTHER = f"/metadata/annotations/{CALLERS.replace('/', '~1')}", "/metadata/annotations/a~1b"
_FORGED_VALUE = FORGED[CALLERS]
_FORGED_META: Obj = {"metadata": {"annotations": FORGED}}
ODD_FORGERIES: dict[str, tuple[str, str, str, Any]] = {
    # The method, what follows the name, the content type, and the body: None for the object with the record.
    "a body in YAML": ("PUT", "", "application/yaml", None),
    "a body in protobuf": ("PUT", "", "application/vnd.kubernetes.protobuf", None),
    "a body in CBOR": ("PUT", "", "application/cbor", None),
    "an apply in CBOR": ("PATCH", "?fieldManager=x&force=true", "application/apply-patch+cbor", None),
    "two content types": ("PATCH", "", f"{MERGE}, {JSON_PATCH}", _FORGED_META),
    "a charset": ("PATCH", "", f"{MERGE}; charset=utf-16", _FORGED_META),
    "the manager's field manager": ("PATCH", "?fieldManager=vacate-manager", MERGE, _FORGED_META),
    "an apply by the manager's": ("PATCH", "?fieldManager=vacate-manager&force=true", APPLY, None),
    "no validation of fields": ("PATCH", "?fieldValidation=Ignore", MERGE, _FORGED_META),
    "a dry run that is none": ("PATCH", "?dryRun=all", MERGE, _FORGED_META),
    "a dry run and the write": ("PATCH", "?dryRun=&dryRun=", MERGE, _FORGED_META),
    "the status": ("PATCH", "/status", MERGE, _FORGED_META),
    "the whole status": ("PUT", "/status", "application/json", None),
    "an encoded subresource": ("PATCH", "/%73tatus", MERGE, _FORGED_META),
    "a subresource that is none": ("PATCH", "/Status", MERGE, _FORGED_META),
    "a slash too many": ("PATCH", "/", MERGE, _FORGED_META),
    "finalizers": ("PATCH", "/finalizers", MERGE, _FORGED_META),
    "all annotations": ("PATCH", "", JSON_PATCH,
                        [{"op": "replace", "path": "/metadata/annotations", "value": FORGED}]),
    "a copy": ("PATCH", "", JSON_PATCH, [
        {"op": "add", "path": _OTHER, "value": _FORGED_VALUE},
        {"op": "copy", "from": _OTHER, "path": _RECORD},
    ]),
    "a move": ("PATCH", "", JSON_PATCH, [
        {"op": "add", "path": _OTHER, "value": _FORGED_VALUE},
        {"op": "move", "from": _OTHER, "path": _RECORD},
    ]),
    "an encoded path": ("PATCH", "", JSON_PATCH, [
        {"op": "add", "path": _RECORD.replace("vacate", "%76acate"), "value": _FORGED_VALUE},
        {"op": "add", "path": f"{_RECORD}/", "value": _FORGED_VALUE},
    ]),
    "metadata in whole": ("PATCH", "", JSON_PATCH, [
        {"op": "test", "path": "/kind", "value": "EvictionRequest"},
        {"op": "add", "path": _RECORD, "value": ""},
        {"op": "replace", "path": _RECORD, "value": _FORGED_VALUE},
    ]),
}  # fmt: skip
NOW = {"gracePeriodSeconds": 0}
ODD_REMOVALS: dict[str, tuple[str, str, Any]] = {
    # What follows the path, with the name or without it; the content type, and the body.
    "by the query": ("NAME?gracePeriodSeconds=0", "application/json", None),
    "in YAML": ("NAME", "application/yaml", {"apiVersion": "v1", "kind": "DeleteOptions", **NOW}),
    "in CBOR": ("NAME", "application/cbor", NOW),
    "in protobuf": ("NAME", "application/vnd.kubernetes.protobuf", NOW),
    "by the query beside a body": (
        "NAME?gracePeriodSeconds=0", "application/json", {"gracePeriodSeconds": None},
    ),
    "of a collection": ("?fieldSelector=metadata.name%3DNAME", "application/json", NOW),
    "of a collection, by the query": (
        "?fieldSelector=metadata.name%3DNAME&gracePeriodSeconds=0", "application/json", None,
    ),
    "in the background": ("NAME", "application/json", {**NOW, "propagationPolicy": "Background"}),
    "as an orphan": ("NAME", "application/json", {**NOW, "orphanDependents": True}),
    "of less than nothing": ("NAME", "application/json", {"gracePeriodSeconds": -1}),
}  # fmt: skip


def _version(text: str, encoding: str) -> str:
    """The same version written in another way that kube-apiserver takes for it."""
    return {"as read": text, "leading zero": f"0{text}", "leading zeros": f"000{text}"}[encoding]


def _check_stamp(site: Site, request: Obj, value: str | None) -> None:
    kind = dialect_named(request["kind"].lower()).kind
    change = {"metadata": {"annotations": {ADMITTED_STAMP: value}}}
    reply = site.tenant.change(kind, request["metadata"]["name"], change)
    if reply.code == 200:  # the webhook has put it back
        assert reply.obj["metadata"].get("annotations", {}).get(ADMITTED_STAMP) == "true"
    assert site.now(request)["metadata"]["annotations"][ADMITTED_STAMP] == "true"


class TestTenant:
    @held_by(STEPS, alone=True)
    @pytest.mark.parametrize("value", ["false", None])
    def test_writes_no_stamp_of_admission(self, site: Site, value: str | None) -> None:
        _check_stamp(site, site.active(PREPARE), value)

    @held_by(EVACUATION_STEPS, alone=True)
    @pytest.mark.parametrize("value", ["false", None])
    def test_writes_none_on_an_evacuation(self, site: Site, value: str | None) -> None:
        _check_stamp(site, site.active(PREPARE, EVACUATION), value)

    @held_by(FORCE_DELETION)
    def test_removes_no_running_pod_without_a_word(self, site: Site) -> None:
        """In a namespace that guards against it."""
        refused(site.tenant.delete(PODS, site.shared["metadata"]["name"], gracePeriodSeconds=0), "confirm")

    @held_by(FORCE_DELETION)
    def test_removes_none_in_an_odd_way(self, site: Site) -> None:
        """A refusal, or a deletion that lets the pod end."""
        pod, removed = site.pod(), []
        for how, (after, content_type, body) in ODD_REMOVALS.items():
            pod = pod if site.there(pod) else site.pod()
            path = after.replace("NAME", f"/{pod['metadata']['name']}").replace("%3D/", "%3D")
            reply = site.tenant.call("DELETE", PODS.collection_path(TENANTS) + path, body, content_type)
            deleted = [] if reply.code >= 400 else reply.obj.get("items", [reply.obj])
            graces = [one["metadata"].get("deletionGracePeriodSeconds", 0) for one in deleted]
            removed += [how] if 0 in graces else []
        assert removed == []

    @held_by(FORCE_EVICTION)
    def test_evicts_no_running_pod_without_a_word(self, site: Site) -> None:
        options = {"gracePeriodSeconds": 0}
        refused(site.tenant.evict(site.shared["metadata"]["name"], deleteOptions=options), "confirm")

    @held_by(NO_GRACE)
    def test_makes_no_member_that_every_deletion_removes_at_once(self, site: Site) -> None:
        owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "u", "controller": True}
        member = pod_body("db-0", terminationGracePeriodSeconds=0)
        member["metadata"]["ownerReferences"] = [owner]
        refused(site.tenant.create(PODS, member, query="?dryRun=All"), "terminationGracePeriodSeconds")
        member["metadata"]["name"] = site.pod(terminationGracePeriodSeconds=0)["metadata"]["name"]
        change = {"metadata": {"ownerReferences": [owner]}}
        adopted = site.tenant.change(PODS, member["metadata"]["name"], change, query="?dryRun=All")
        refused(adopted, "terminationGracePeriodSeconds")

    @held_by(EXCLUSIVE_GATE)
    def test_makes_no_pod_with_a_claim_that_does_not_wait_for_its_volume(self, site: Site) -> None:
        """In a namespace that requires the gate of exclusive volumes."""
        claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
        user = pod_body("user", volumes=[claim])
        refused(site.tenant.create(PODS, user, query="?dryRun=All"), "vacate.dev/exclusive-volumes")

    @held_by(REVIEWS)
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

    @held_by(REVIEWS)
    def test_forges_none_in_an_odd_way(self, site: Site) -> None:
        """By other verbs, encodings, paths and options; whatever is answered, nothing is recorded."""
        name = site.active(PREPARE)["metadata"]["name"]
        forged = []
        for how, (method, after, content_type, body) in ODD_FORGERIES.items():
            read = site.tenant.get(EVICTIONREQUESTS, name).ok()
            if body is None:
                read["metadata"]["annotations"] |= FORGED
                for field in ("managedFields", "resourceVersion") if method == "PATCH" else ():
                    read["metadata"].pop(field)
            path = EVICTIONREQUESTS.object_path(name, TENANTS) + after
            with contextlib.suppress(http.client.RemoteDisconnected):  # as 1.36.4 answers what is no protobuf
                site.tenant.call(method, path, body or read, content_type)
            kept = site.tenant.get(EVICTIONREQUESTS, name).ok()["metadata"]["annotations"]
            forged += [how] if CALLERS in kept else []
        assert forged == []

    @held_by(REVIEWS)
    def test_forges_no_record_with_an_object_that_is_oversized(self, site: Site) -> None:
        """The mutating webhook, which would take the record away, is not asked about such an object."""
        name = site.active(PREPARE)["metadata"]["name"]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p"}
        owners = [{**owner, "uid": f"{number}"} for number in range(101)]
        meta = {"annotations": FORGED, "ownerReferences": owners}
        refused(site.tenant.change(EVICTIONREQUESTS, name, {"metadata": meta}), "Too many: 101")

    @held_by(REVIEWS)
    def test_forges_nothing_on_its_way_out(self, site: Site) -> None:
        """An Evacuation that is deleted stays for as long as it has instigators."""
        pod = site.pod(PREPARE, prefix=PREFIXES[1])
        name = site.admin.create(EVACUATIONS, new_request(pod, EVACUATION)).ok()["metadata"]["name"]
        site.tenant.delete(EVACUATIONS, name).ok()
        forged = {**FORGED, SUPERSEDES: "no-such-uid", PUSHED_BY: "admin"}
        site.tenant.change(EVACUATIONS, name, {"metadata": {"annotations": forged}})
        kept = site.tenant.get(EVACUATIONS, name).ok()["metadata"]
        assert kept["deletionTimestamp"]
        assert not forged.keys() & kept.get("annotations", {}).keys()

    @held_in_code("interceptors-never-change")
    @pytest.mark.parametrize("version", ["as read", "leading zero"])
    def test_lets_no_interceptor_in_or_out(self, site: Site, version: str) -> None:
        request = site.active(PREPARE)
        name, before = request["metadata"]["name"], request["spec"]["interceptors"]
        meta = {"resourceVersion": _version(request["metadata"]["resourceVersion"], version)}
        change = {"metadata": meta, "spec": {"interceptors": [{"name": "mine.example.com"}]}}
        site.tenant.change(EVICTIONREQUESTS, name, change)
        assert site.tenant.get(EVICTIONREQUESTS, name).ok()["spec"]["interceptors"] == before

    @held_in_code("who-pushes-is-recorded-by-admission")
    @pytest.mark.parametrize("version", ["as read", "leading zero"])
    def test_skips_none_in_the_name_of_another(self, site: Site, version: str) -> None:
        """Who may delete the pod may skip its interceptors, and is recorded."""
        request = site.active(PREPARE)
        meta = {
            "resourceVersion": _version(request["metadata"]["resourceVersion"], version),
            "annotations": {SKIP: "other.example.com", PUSHED_BY: "admin"},
        }
        reply = site.tenant.change(EVICTIONREQUESTS, request["metadata"]["name"], {"metadata": meta})
        kept = reply.obj if reply.code == 200 else site.now(request)
        assert kept["metadata"]["annotations"].get(PUSHED_BY) != "admin"

    @held_by(REVIEWS)
    def test_brings_no_interceptor_with_a_new_request(self, site: Site) -> None:
        pod = site.pod(PREPARE)
        body = request_for(pod, annotations={ADMITTED_STAMP: "true"})
        body["spec"]["interceptors"] = [{"name": "mine.example.com"}]
        site.tenant.create(EVICTIONREQUESTS, body)
        found = site.requested(pod)
        names = [] if found is None else [one["name"] for one in found["spec"]["interceptors"]]
        assert "mine.example.com" not in names

    @held_by(FINALIZERS)
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

    @held_by(FINALIZERS)
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

    @held_by(MANAGER_LEASE)
    @pytest.mark.parametrize("how", ["create", APPLY])
    def test_poses_as_no_manager(self, site: Site, how: str) -> None:
        """By its Lease, in whichever namespace, commands and the bridge learn whether a manager works."""
        lease: Obj = {"spec": {"holderIdentity": "", "renewTime": "2099-01-01T00:00:00.000000Z"}}
        if how == "create":
            lease["metadata"] = {"name": MANAGER}
            refused(site.tenant.create(LEASES, lease, query="?dryRun=All"), MANAGER_LEASE)
        else:
            refused(site.tenant.change(LEASES, MANAGER, lease, how=how, query="?dryRun=All"), MANAGER_LEASE)

    @held_by(ROLES)
    def test_approves_no_fence(self, site: Site) -> None:
        for one in ("vacate.dev/fencing-approved", "vacate.dev/fence-requested"):
            refused(site.tenant.change(NODES, "node-1", {"metadata": {"annotations": {one: "now"}}}))

    @held_by(ROLES)
    def test_has_no_pod_of_others_evicted(self, site: Site) -> None:
        # Without the roles this row fails, and is run again with them.
        meta = {"generateName": "of-others-"}
        body = {"metadata": meta, "spec": {"containers": [{"name": "a", "image": "a:1"}]}}
        pod = site.admin.create(PODS, body, "default").ok()
        refused(site.tenant.request(pod), "evictionrequests")
        refused(site.tenant.evict(pod["metadata"]["name"], "default"))


class TestRequester:
    """Who has the role of a requester, and no right to delete pods."""

    @held_by(RIGHT_TO_DELETE, alone=True)
    def test_has_no_pod_evicted_that_they_may_not_delete(self, site: Site) -> None:
        request = site.active(PREPARE)
        name = request["metadata"]["name"]
        message = 'cannot delete resource \\"pods\\"'
        refused(site.requester.request(site.shared), message)
        refused(site.requester.change(EVICTIONREQUESTS, name, {"spec": {"requesters": []}}), message)
        refused(site.requester.delete(EVICTIONREQUESTS, name), message)

    @held_by(EVACUATION_RIGHT_TO_DELETE, alone=True)
    def test_has_none_evacuated_either(self, site: Site) -> None:
        body = new_request(site.shared, EVACUATION)
        refused(site.requester.create(EVACUATIONS, body), "cannot delete resource")
