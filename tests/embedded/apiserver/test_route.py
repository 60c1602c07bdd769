from __future__ import annotations

import pytest
from multidict import MultiDict

from vacate.embedded.apiserver.request.route import Route, route
from vacate.wire.message import Request

pytestmark = pytest.mark.unit


def read(method: str, path: str, **query: str) -> Route:
    return route(Request(method, path, MultiDict(query)))


@pytest.mark.parametrize(
    ("method", "path", "query", "verb", "resource", "namespace", "name", "subresource"),
    [
        ("GET", "/api/v1/pods", {}, "list", "pods", "", "", ""),
        ("GET", "/api/v1/pods", {"watch": "true"}, "watch", "pods", "", "", ""),
        ("GET", "/api/v1/pods", {"watch": "1"}, "watch", "pods", "", "", ""),
        ("GET", "/api/v1/pods", {"watch": "false"}, "list", "pods", "", "", ""),
        ("GET", "/api/v1/namespaces/a/pods", {}, "list", "pods", "a", "", ""),
        ("GET", "/api/v1/namespaces/a/pods/", {}, "list", "pods", "a", "", ""),
        ("GET", "/api/v1/namespaces/a/pods/p", {}, "get", "pods", "a", "p", ""),
        ("HEAD", "/api/v1/namespaces/a/pods/p", {}, "get", "pods", "a", "p", ""),
        ("GET", "/api/v1/namespaces/a/pods/p", {"watch": "true"}, "get", "pods", "a", "p", ""),
        ("POST", "/api/v1/namespaces/a/pods", {}, "create", "pods", "a", "", ""),
        ("PUT", "/api/v1/namespaces/a/pods/p/status", {}, "update", "pods", "a", "p", "status"),
        ("PATCH", "/api/v1/namespaces/a/pods/p", {}, "patch", "pods", "a", "p", ""),
        ("POST", "/api/v1/namespaces/a/pods/p/eviction", {}, "create", "pods", "a", "p", "eviction"),
        ("DELETE", "/api/v1/namespaces/a/pods/p", {}, "delete", "pods", "a", "p", ""),
        ("DELETE", "/api/v1/namespaces/a/pods", {}, "deletecollection", "pods", "a", "", ""),
        ("GET", "/api/v1/namespaces", {}, "list", "namespaces", "", "", ""),
        ("GET", "/api/v1/namespaces/a", {}, "get", "namespaces", "a", "a", ""),
        ("PUT", "/api/v1/namespaces/a/finalize", {}, "update", "namespaces", "a", "a", "finalize"),
        ("PUT", "/api/v1/namespaces/a/status", {}, "update", "namespaces", "a", "a", "status"),
        ("GET", "/api/v1/nodes/n", {}, "get", "nodes", "", "n", ""),
        ("BREW", "/api/v1/nodes/n", {}, "", "nodes", "", "n", ""),
    ],
)
def test_resource_addresses(
    method: str,
    path: str,
    query: dict[str, str],
    verb: str,
    resource: str,
    namespace: str,
    name: str,
    subresource: str,
) -> None:
    found = read(method, path, **query)
    assert (found.verb, found.resource, found.namespace, found.name, found.subresource) == (
        verb,
        resource,
        namespace,
        name,
        subresource,
    )


def test_group_and_version_are_read() -> None:
    found = read("GET", "/apis/apps/v1/namespaces/a/deployments/d/scale")
    assert (found.group, found.version, found.resource) == ("apps", "v1", "deployments")
    assert found.kind is not None
    assert found.kind.kind == "Deployment"


@pytest.mark.parametrize(
    "path", ["/", "/version", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/livez/ping"]
)
def test_other_paths_name_no_resource(path: str) -> None:
    found = read("GET", path)
    assert found.resource == ""
    assert (found.verb, found.path) == ("get", path)


def test_a_list_of_one_name_asks_about_that_object() -> None:
    assert read("GET", "/api/v1/pods", fieldSelector="metadata.name=p").name == "p"
    assert read("GET", "/api/v1/pods", fieldSelector="status.phase=Failed,metadata.name==p").name == "p"
    assert read("GET", "/api/v1/pods", fieldSelector="metadata.name!=p").name == ""
    assert read("GET", "/api/v1/pods", fieldSelector="metadata.name=p/q").name == ""
    assert read("GET", "/api/v1/pods", fieldSelector="metadata.name=p,x").name == ""
    assert read("GET", "/api/v1/pods", fieldSelector="metadata.name=p", limit="x").name == ""
    assert read("GET", "/api/v1/pods", fieldSelector="metadata.name=p", labelSelector="=").name == ""
    assert read("DELETE", "/api/v1/namespaces/a/pods", fieldSelector="metadata.name=p").name == ""


@pytest.mark.parametrize(
    "path",
    [
        "/api/v2/pods",
        "/apis/extensions/v1beta1/deployments",
        "/api/v1/unicorns",
        "/api/v1/namespaces/a/nodes/n",
        "/apis/apps/v1/pods",
    ],
)
def test_addresses_that_nobody_serves_have_no_kind(path: str) -> None:
    assert read("GET", path).kind is None


def test_a_node_is_not_found_inside_a_namespace_but_a_namespace_is_found_as_itself() -> None:
    assert read("GET", "/api/v1/namespaces/a").kind is not None
    assert read("GET", "/api/v1/namespaces/a/namespaces/b").kind is None
