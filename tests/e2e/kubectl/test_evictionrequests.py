"""EvictionRequests with kubectl: explained, applied, watched over, refused in words that help."""

from __future__ import annotations

import json

import pytest

from support.kubectl import Kubectl
from support.manifests import pod

pytestmark = [pytest.mark.kubectl, pytest.mark.thorough(beyond=2)]

GROUP = "evictionrequest.coordination.k8s.io"
NAMES = (
    "spec <Object>",
    "podRef <Object>",
    "heartbeatDeadlineSeconds <integer>",
    "failedAPIEvictionCounter <integer>",
)


def a_request(k: Kubectl, **spec: object) -> dict[str, object]:
    """A request for a pod that leaves only after an interceptor that never answers."""
    listed = [{"name": "silent.example.com"}]
    k("create --validate=false -f -", pod("web", schedulerName="nobody", evictionInterceptors=listed)).ok()
    uid = str(k("get pod web -o jsonpath={.metadata.uid}").ok())
    target = {"podRef": {"name": "web", "uid": uid}}
    whole = {"target": target, "requesters": [{"name": "me.example.com"}], **spec}
    identity = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "EvictionRequest", "metadata": {"name": uid}}
    return {**identity, "spec": whole}


def test_explain(k: Kubectl) -> None:
    output = " ".join(k("explain evictionrequests --recursive").ok().split())
    assert "Requests the eviction of a pod, and reports its progress." in output
    for name in NAMES:
        assert name in output
    output = " ".join(k("explain evreq.status.heartbeatTime").ok().split())
    assert "When the active interceptor last reported progress." in output


def test_apply(k: Kubectl) -> None:
    """Without --validate=false: the server says which fields it does not know."""
    request = a_request(k)
    k("apply -f -", request).printed("created")
    request["spec"]["requesters"] = [{"name": "you.example.com"}]  # type: ignore[index]
    k("apply -f -", request).printed("configured")
    k("apply -f -", request).printed("unchanged")
    read = json.loads(k("get evreq -o json").ok())["items"][0]
    assert read["spec"]["requesters"] == [{"name": "you.example.com"}]
    request["spec"]["colour"] = "red"  # type: ignore[index]
    k("apply -f -", request).failed('unknown field "spec.colour"')
    assert 'Warning: unknown field "spec.colour"' in k("apply --validate=warn -f -", request).err


def test_a_row(k: Kubectl) -> None:
    k("create -f -", a_request(k)).ok()
    (row,) = k.until("get evreq", lambda ran: ran.rows()[0]["STAGE"]).rows()
    assert (row["POD"], row["STAGE"]) == ("web", "Intercepting")
    assert {"NAME", "INTERCEPTOR", "EXPECTED FINISH", "FAILED EVICTIONS", "AGE"} <= row.keys()


def test_refusals(k: Kubectl) -> None:
    request = a_request(k, heartbeatDeadlineSeconds=5)
    k("create -f -", request).failed(
        "spec.heartbeatDeadlineSeconds in body should be greater than or equal to 600"
    )
    request["metadata"] = {"generateName": "leave-"}
    k("create -f -", request).failed("metadata.generateName: Forbidden")


def test_patches_are_merged(k: Kubectl) -> None:
    request = a_request(k)
    k("create -f -", request).ok()
    status = json.dumps({"status": {"message": "soon"}}, separators=(",", ":"))
    k(f"patch evreq --type=merge --subresource=status -p '{status}' {_name(request)}").ok()
    k("patch evreq -p {} " + _name(request)).failed(
        "accepted media types include: application/json-patch+json"
    )
    k(f"label evreq {_name(request)} a=b").ok()
    page = k("describe evreq " + _name(request)).ok()
    assert "soon" in page
    assert "a=b" in page
    k("delete evreq " + _name(request)).printed("deleted")


def _name(request: dict[str, object]) -> str:
    return str(request["metadata"]["name"])  # type: ignore[index]
