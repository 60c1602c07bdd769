"""POST serviceaccounts/NAME/token: a token of the account, bound to a pod where the request names one."""

from __future__ import annotations

import datetime as dt

from vacate.api import status
from vacate.api.fielderrors import FieldError, invalid
from vacate.api.identity import NODES as NODES_GROUP
from vacate.api.identity import node_user
from vacate.api.kinds import NODES, PODS, SERVICEACCOUNTS, Kind
from vacate.api.objects import Obj, dig
from vacate.api.times import format_time
from vacate.api.untyped import mapping, text
from vacate.embedded.apiserver.auth.accounttokens import ISSUER
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.response import objects as respond
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.apiserver.subresources.body import field, read_posted
from vacate.errors import BadRequest, Forbidden
from vacate.wire.message import Response

_TOKEN_REQUEST = Kind(
    "authentication.k8s.io", "v1", "TokenRequest", "tokenrequests", "tokenrequest", namespaced=True
)
_DEFAULT_SECONDS, _MIN_SECONDS, _MAX_SECONDS = 3600, 600, 1 << 32


async def issue_token(storage: Storage, call: Call) -> Response:
    """Check the account, its pod and who asks; nothing is stored."""
    body = read_posted(storage, call, "TokenRequest", ("authentication.k8s.io/v1",))
    storage.policies.admit(call, body, None)
    spec = field("TokenRequest", body, "spec", "map") or {}
    audiences = [text(one) for one in spec.get("audiences") or ()] or [ISSUER]
    seconds = field("TokenRequest", spec, "expirationSeconds", "int64", at="spec.")
    seconds = _DEFAULT_SECONDS if seconds is None else seconds
    if errors := _duration_errors(seconds):
        raise status.invalid(_TOKEN_REQUEST, "", errors)
    _, account = storage.current(SERVICEACCOUNTS, call.namespace, call.name)
    reference = mapping(spec.get("boundObjectRef"))
    bound = _bound(storage, call, reference) if reference else {}
    _check_node(call, bound)
    expires = call.now + dt.timedelta(seconds=seconds)
    token = storage.account_tokens.issue(account, audiences, seconds, bound, storage.entropy.uid())
    answer = {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": call.name,
            "namespace": call.namespace,
            "creationTimestamp": format_time(call.now),
        },
        "spec": {**spec, "audiences": audiences, "expirationSeconds": seconds},
        "status": {"token": token, "expirationTimestamp": format_time(expires)},
    }
    return respond.unstored(call, answer, 201)


def _duration_errors(seconds: int) -> list[FieldError]:
    path = "spec.expirationSeconds"
    if seconds < _MIN_SECONDS:
        return [invalid(path, seconds, "may not specify a duration less than 10 minutes")]
    if seconds > _MAX_SECONDS:
        return [invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")]
    return []


def _bound(storage: Storage, call: Call, reference: Obj) -> dict[str, Obj]:
    """The pod that the request names, with its node; only the account's own pods."""
    if (reference.get("apiVersion"), reference.get("kind")) != ("v1", "Pod"):
        kind = f"{reference.get('apiVersion', '')}, Kind={reference.get('kind', '')}"
        raise BadRequest(f"cannot bind token to object of type {kind}")
    _, pod = storage.current(PODS, call.namespace, text(reference.get("name")))
    uid, name = pod["metadata"]["uid"], pod["metadata"]["name"]
    if reference.get("uid") and reference["uid"] != uid:
        why = (
            f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
        raise status.conflict(PODS, name, why)
    if (dig(pod, "spec", "serviceAccountName") or "default") != call.name:
        raise BadRequest(
            f'cannot bind token for serviceaccount "{call.name}" to pod running with different '
            "serviceaccount name."
        )
    node = storage.lookup(NODES, "", text(dig(pod, "spec", "nodeName")))
    return {"pod": pod} if node is None else {"pod": pod, "node": node}


def _check_node(call: Call, bound: dict[str, Obj]) -> None:
    """A node gets tokens for its own pods only, or one node could act for every account of the cluster."""
    if NODES_GROUP not in call.user.groups:
        return
    why = ""
    if "pod" not in bound:
        why = "node requested token not bound to a pod"
    elif call.user.name != node_user(text(dig(bound["pod"], "spec", "nodeName"))):
        why = "node requested token bound to a pod scheduled on a different node"
    if why:
        raise Forbidden(f'{SERVICEACCOUNTS.resource} "{call.name}" is forbidden: {why}')
