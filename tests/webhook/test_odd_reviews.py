"""Clients of the webhook may send any review: none is an internal error, and none writes elsewhere."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from support.embedded import a_pod, embedded
from support.reviews import Hook, review
from vacate.api.kinds import PODS
from vacate.api.objects import Obj
from vacate.webhook.reviewer import PATHS, WebhookConfig

pytestmark = pytest.mark.unit

_HERE: Obj = {"name": "p", "namespace": "d"}
_TARGET = {"target": {"podRef": {"name": "p", "uid": "u"}}, "podRef": {"name": "p", "uid": "u"}}
ODD: tuple[Any, ...] = (
    None,
    {},
    {"metadata": None},
    {"metadata": 5},
    {"metadata": {}},
    {"metadata": {"name": 5, "namespace": [], "uid": {}}},
    {"metadata": {**_HERE, "annotations": 5, "labels": {"a": 5}}},
    {"metadata": {**_HERE, "uid": "u", "ownerReferences": [5, {"controller": True}]}, "spec": 5, "status": 5},
    {
        "metadata": {**_HERE, "ownerReferences": 5, "finalizers": 5},
        "spec": {"target": 5, "requesters": 5, "podRef": 5, "evacuators": [5], "evictionInterceptors": 5},
        "status": {"conditions": [5], "heartbeatTime": 5},
        "deleteOptions": {"preconditions": 5, "gracePeriodSeconds": "x"},
    },
    {"metadata": _HERE, "spec": {**_TARGET, "requesters": [{"name": "a.b"}]}, "status": {}},
    {"metadata": _HERE, "deleteOptions": 5},
)
USERS = ("admin", "system:serviceaccount:kube-system:taint-eviction-controller", "")
WRITES = [
    ("CREATE", ""),
    ("CREATE", "eviction"),
    ("UPDATE", ""),
    ("UPDATE", "status"),
    ("DELETE", ""),
    ("x", ""),
]


@pytest.mark.parametrize("path", PATHS)
async def test_no_review_is_an_internal_error(path: str, caplog: pytest.LogCaptureFixture) -> None:
    async with embedded() as server:
        await server.seed(PODS, a_pod())
        before = server.stored(PODS, "p")
        hook = Hook.beside(server, WebhookConfig(bridge=True, reasons=True))
        for (operation, sub), user, new, old in itertools.product(WRITES, USERS, ODD, ODD):
            sent = review(operation, kind=PATHS[path].kind, namespace="d", user={"username": user})
            sent["request"] |= {"object": new, "oldObject": old, "subResource": sub, "options": new}
            reply = await hook.ask(path, sent)
            assert "internal error" not in str(reply.body), sent
        assert server.stored(PODS, "p") == before
    assert not [one for one in caplog.records if one.exc_info]
