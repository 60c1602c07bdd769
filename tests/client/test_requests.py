"""Requests are values: every verb, without an event loop."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from vacate.api.kinds import DEPLOYMENTS, NODES, PODS
from vacate.api.options import DRY_RUN_ALL, DeleteOptions, ListOptions, WatchOptions
from vacate.client import requests
from vacate.errors import ConfigError
from vacate.wire.message import Request

pytestmark = pytest.mark.unit

POD = "/api/v1/namespaces/shop/pods/web-1"


@pytest.mark.parametrize(
    ("request_", "method", "path", "query", "body"),
    [
        (requests.get(PODS, "web-1", "shop"), "GET", POD, {}, None),
        (requests.get(PODS, "web-1", "shop", subresource="status"), "GET", f"{POD}/status", {}, None),
        (requests.get(NODES, "n1"), "GET", "/api/v1/nodes/n1", {}, None),
        (requests.get(NODES, "n1", "ignored"), "GET", "/api/v1/nodes/n1", {}, None),
        (requests.list_page(PODS), "GET", "/api/v1/pods", {}, None),
        (
            requests.list_page(
                DEPLOYMENTS,
                "shop",
                ListOptions(
                    label_selector="app=web,!old",
                    field_selector="metadata.name=a",
                    limit=500,
                    continue_token="abc",
                    resource_version="7",
                    resource_version_match="Exact",
                ),
            ),
            "GET",
            "/apis/apps/v1/namespaces/shop/deployments",
            {
                "labelSelector": "app=web,!old",
                "fieldSelector": "metadata.name=a",
                "limit": "500",
                "continue": "abc",
                "resourceVersion": "7",
                "resourceVersionMatch": "Exact",
            },
            None,
        ),
        (
            requests.watch(PODS, options=WatchOptions(resource_version="7", timeout_seconds=300)),
            "GET",
            "/api/v1/pods",
            {"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": "7", "timeoutSeconds": "300"},
            None,
        ),
        (
            requests.watch(PODS, options=WatchOptions(send_initial_events=True)),
            "GET",
            "/api/v1/pods",
            {
                "watch": "true",
                "allowWatchBookmarks": "true",
                "sendInitialEvents": "true",
                "resourceVersionMatch": "NotOlderThan",
            },
            None,
        ),
        (
            requests.watch(PODS, "shop", WatchOptions(send_initial_events=False, allow_bookmarks=False)),
            "GET",
            "/api/v1/namespaces/shop/pods",
            {"watch": "true", "sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan"},
            None,
        ),
        (
            requests.create(PODS, {"metadata": {"name": "web-1"}}, "shop", dry_run=True),
            "POST",
            "/api/v1/namespaces/shop/pods",
            {"dryRun": "All"},
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1"}},
        ),
        (
            requests.update(PODS, {"metadata": {"name": "web-1", "namespace": "shop"}}, subresource="status"),
            "PUT",
            f"{POD}/status",
            {},
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1", "namespace": "shop"}},
        ),
        (
            requests.patch(PODS, "web-1", {"spec": None}, "shop"),
            "PATCH",
            POD,
            {},
            {"spec": None},
        ),
        (requests.delete(PODS, "web-1", "shop"), "DELETE", POD, {}, None),
        (
            requests.delete(
                PODS,
                "web-1",
                "shop",
                DeleteOptions(
                    grace_period_seconds=0,
                    uid="u",
                    resource_version="9",
                    propagation_policy="Orphan",
                    dry_run=DRY_RUN_ALL,
                ),
            ),
            "DELETE",
            POD,
            {},
            {
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "gracePeriodSeconds": 0,
                "preconditions": {"uid": "u", "resourceVersion": "9"},
                "propagationPolicy": "Orphan",
                "dryRun": ["All"],
            },
        ),
        (
            requests.delete_collection(PODS, "shop", listed=ListOptions(label_selector="app=web")),
            "DELETE",
            "/api/v1/namespaces/shop/pods",
            {"labelSelector": "app=web"},
            None,
        ),
        (
            requests.delete(PODS, "web-1", "shop", DeleteOptions(uid="", resource_version="", reason="")),
            "DELETE",
            POD,
            {},
            None,
        ),
        (
            requests.evict("web-1", "shop", DeleteOptions(uid="u")),
            "POST",
            f"{POD}/eviction",
            {},
            {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"name": "web-1", "namespace": "shop"},
                "deleteOptions": {"preconditions": {"uid": "u"}},
            },
        ),
        (
            requests.bind("web-1", "shop", "n1", uid="u"),
            "POST",
            f"{POD}/binding",
            {},
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": "web-1", "namespace": "shop", "uid": "u"},
                "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
            },
        ),
    ],
)
def test_what_is_sent(request_: Request, method: str, path: str, query: dict[str, str], body: Any) -> None:
    assert (request_.method, request_.path, dict(request_.query)) == (method, path, query)
    assert (orjson.loads(request_.body) if request_.body else None) == body
    assert request_.headers["Accept"] == "application/json"


@pytest.mark.parametrize(
    ("change", "patch_type", "body"),
    [
        ({"a": 1}, requests.MERGE_PATCH, b'{"a":1}'),
        ([{"op": "remove", "path": "/a"}], requests.JSON_PATCH, b'[{"op":"remove","path":"/a"}]'),
        (b'{"raw":true}', requests.STRATEGIC_PATCH, b'{"raw":true}'),
    ],
)
def test_a_patch_names_its_type(change: Any, patch_type: str, body: bytes) -> None:
    request = requests.patch(PODS, "web-1", change, "shop", patch_type=patch_type)
    assert request.headers["Content-Type"] == patch_type
    assert request.body == body


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2fb"])
def test_a_name_that_would_change_the_path_is_refused(name: str) -> None:
    with pytest.raises(ConfigError):
        requests.delete(PODS, name, "shop")


def test_a_namespaced_object_needs_its_namespace() -> None:
    with pytest.raises(ConfigError, match="namespace is needed"):
        requests.get(PODS, "web-1")
    with pytest.raises(ConfigError, match="namespace is needed"):
        requests.create(PODS, {"metadata": {"name": "web-1"}})
