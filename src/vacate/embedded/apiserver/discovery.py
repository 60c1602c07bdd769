"""Discovery: which groups, versions and kinds there are, in the plain and in the aggregated form.

All of it follows from the kinds that are served and never changes while the server runs, so it is encoded
once.
"""

from __future__ import annotations

from functools import cache

from vacate.api.installednames import EMBEDDED_BUILD
from vacate.api.kinds import Kind, Subresource
from vacate.api.objects import Obj, encode
from vacate.embedded.apiserver.request.negotiation import check_plain, no_such_form, wants_discovery_document
from vacate.embedded.release import KUBERNETES
from vacate.errors import NotAcceptable, NotFound
from vacate.wire.message import Request, Response

_MAJOR, _MINOR, _ = KUBERNETES.removeprefix("v").split(".")

VERSION = {
    "major": _MAJOR,
    "minor": _MINOR,
    "gitVersion": f"{KUBERNETES}{EMBEDDED_BUILD}",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "cpython",
    "platform": "any",
}
"""What `kubectl version` shows of the server."""


Kinds = tuple[Kind, ...]


def discover(request: Request, kinds: Kinds) -> Response:
    """Answer /api, /apis, /apis/GROUP and the two forms of /…/VERSION."""
    parts = [part for part in request.path.split("/") if part]
    accept = request.headers.get("Accept", "")
    document = wants_discovery_document(accept)
    if len(parts) == 1 and document:
        content_type = f"application/json;g=apidiscovery.k8s.io;v={document};as=APIGroupDiscoveryList"
        return Response(200, _aggregated(kinds, parts[0], document), content_type)
    plain = Response(200, _plain(kinds, "/".join(parts)))
    _check_acceptable(accept, parts)
    return plain


def _check_acceptable(accept: str, parts: list[str]) -> None:
    """Groups are served by another part of Kubernetes than the rest, with refusals of its own."""
    try:
        check_plain(accept)
    except NotAcceptable:
        if parts[0] == "apis" and len(parts) < 3:
            raise no_such_form() from None
        raise


@cache
def _plain(kinds: Kinds, path: str) -> bytes:
    match path.split("/"):
        case ["api"]:
            addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}]
            return encode(
                {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}
            )
        case ["apis"]:
            groups = [_group(kinds, group) for group in _groups(kinds) if group]
            return encode({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
        case ["apis", group] if group in _groups(kinds):
            return encode({"kind": "APIGroup", "apiVersion": "v1", **_group(kinds, group)})
        case ["api", version] if version in _versions(kinds, ""):
            return _resource_list(kinds, "", version)
        case ["apis", group, version] if group and version in _versions(kinds, group):
            return _resource_list(kinds, group, version)
    raise NotFound("the server could not find the requested resource", details={})


def _groups(kinds: Kinds) -> list[str]:
    return list(dict.fromkeys(kind.group for kind in kinds))


def _versions(kinds: Kinds, group: str) -> list[str]:
    return list(dict.fromkeys(kind.version for kind in kinds if kind.group == group))


def _group(kinds: Kinds, group: str) -> Obj:
    versions = [
        {"groupVersion": f"{group}/{version}", "version": version} for version in _versions(kinds, group)
    ]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def _resource_list(kinds: Kinds, group: str, version: str) -> bytes:
    resources: list[Obj] = []
    for kind in _of_version(kinds, group, version):
        resources.append(_resource(kind))
        resources.extend(_subresource(kind, sub) for sub in kind.subresources)
    group_version = f"{group}/{version}" if group else version
    return encode(
        {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources}
    )


def _of_version(kinds: Kinds, group: str, version: str) -> list[Kind]:
    return [kind for kind in kinds if (kind.group, kind.version) == (group, version)]


def _resource(kind: Kind) -> Obj:
    resource: Obj = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        resource["shortNames"] = list(kind.short_names)
    if kind.categories:
        resource["categories"] = list(kind.categories)
    return resource


def _subresource(kind: Kind, sub: Subresource) -> Obj:
    resource: Obj = {
        "name": f"{kind.plural}/{sub.name}",
        "singularName": "",
        "namespaced": kind.namespaced,
        "kind": sub.kind or kind.kind,
        "verbs": list(sub.verbs),
    }
    if sub.kind and (sub.group, sub.version) != (kind.group, kind.version):
        resource |= {"group": sub.group, "version": sub.version}
    return resource


@cache
def _aggregated(kinds: Kinds, root: str, document: str) -> bytes:
    if root not in ("api", "apis"):
        raise NotFound("the server could not find the requested resource", details={})
    groups = [group for group in _groups(kinds) if bool(group) == (root == "apis")]
    items = [
        {
            "metadata": {"name": group, "creationTimestamp": None} if group else {"creationTimestamp": None},
            "versions": [
                {
                    "version": version,
                    "freshness": "Current",
                    "resources": [_aggregated_resource(kind) for kind in _of_version(kinds, group, version)],
                }
                for version in _versions(kinds, group)
            ],
        }
        for group in groups
    ]
    api_version = f"apidiscovery.k8s.io/{document}"
    return encode(
        {"kind": "APIGroupDiscoveryList", "apiVersion": api_version, "metadata": {}, "items": items}
    )


def _aggregated_resource(kind: Kind) -> Obj:
    resource: Obj = {
        "resource": kind.plural,
        "responseKind": _response_kind("", "", kind.kind),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        resource["shortNames"] = list(kind.short_names)
    if kind.categories:
        resource["categories"] = list(kind.categories)
    if kind.subresources:
        resource["subresources"] = [
            {
                "subresource": sub.name,
                "responseKind": _response_kind(
                    sub.group if sub.kind else "", sub.version, sub.kind or kind.kind
                ),
                "verbs": list(sub.verbs),
            }
            for sub in kind.subresources
        ]
    return resource


def _response_kind(group: str, version: str, kind: str) -> Obj:
    """Group and version are empty where they are those of the resource."""
    return {"group": group, "version": version, "kind": kind}
