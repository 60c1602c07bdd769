"""From method and path to what is asked: the same reading of URLs that Kubernetes makes.

The reading comes before authorisation and knows no kinds, so that a path that nobody serves is first a
question of rights and only then a 404.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vacate.api.identity import Access, User
from vacate.api.kinds import Kind
from vacate.api.names import path_segment
from vacate.api.selectors.fields import parse_field_selector
from vacate.api.selectors.labels import parse_selector
from vacate.embedded.apiserver.limits import MAX_SELECTOR_CHARACTERS
from vacate.embedded.apiserver.request.integers import parse_int64
from vacate.embedded.registry.kinds import SERVED_KINDS
from vacate.errors import BadRequest
from vacate.wire.message import Request

_VERBS = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_NAMESPACE_SUBRESOURCES = ("status", "finalize")

KINDS: Mapping[tuple[str, str, str], Kind] = {
    (kind.group, kind.version, kind.plural): kind for kind in SERVED_KINDS
}
"""Every kind by group, version and plural, whatever gates are open."""


@dataclass(frozen=True, slots=True)
class Route:
    """A request's address, taken apart. Without a resource only path and verb are set."""

    verb: str
    path: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    odd: bool = False  # empty segments, or more of them than any address has: nothing is served there

    @property
    def kind(self) -> Kind | None:
        """The served kind at this address, if there is one and its scope fits."""
        kind = None if self.odd else KINDS.get((self.group, self.version, self.resource))
        if kind is None or kind.namespaced or not self.namespace:
            return kind
        # A namespace is addressed as if it lay in itself; nothing else that is cluster-wide lies in one.
        return kind if kind.plural == "namespaces" and self.name == self.namespace else None

    def access(self, user: User) -> Access:
        """The question that an authoriser is asked."""
        if not self.resource:
            return Access(user, self.verb, path=self.path)
        return Access(
            user,
            self.verb,
            self.group,
            self.version,
            self.resource,
            self.subresource,
            self.namespace,
            self.name,
        )


def route(request: Request) -> Route:
    """Read the address."""
    parts = request.path.strip("/").split("/")
    if len(parts) >= 3 and parts[0] == "api":
        return _resource_route(request, "", parts[1], parts[2:])
    if len(parts) >= 4 and parts[0] == "apis":
        return _resource_route(request, parts[1], parts[2], parts[3:])
    return Route(request.method.lower(), request.path)


def _resource_route(request: Request, group: str, version: str, parts: list[str]) -> Route:
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
            parts = parts[2:]
    name = parts[1] if len(parts) > 1 else ""
    return Route(
        _verb(request, name),
        request.path,
        group,
        version,
        parts[0],
        parts[2] if len(parts) > 2 else "",
        namespace,
        name or _name_selected(request),
        len(parts) > 3 or "//" in request.path.strip("/"),
    )


def _verb(request: Request, name: str) -> str:
    verb = _VERBS.get(request.method, "")
    if verb == "get" and not name:
        watch = request.query.get("watch", "false").lower()
        return "list" if watch in ("false", "0") else "watch"
    if verb == "delete" and not name:
        return "deletecollection"
    return verb


def _name_selected(request: Request) -> str:
    """A list of one name is a question about that object: it may be allowed where the list is not.

    Options that cannot be read make it an ordinary list, whatever else is wrong with it.
    """
    query = request.query
    if request.method not in ("GET", "HEAD") or "metadata.name" not in query.get("fieldSelector", ""):
        return ""
    if max(len(query.get(name, "")) for name in ("labelSelector", "fieldSelector")) > MAX_SELECTOR_CHARACTERS:
        return ""
    try:
        for number in ("limit", "timeoutSeconds"):
            parse_int64(query.get(number, "0"))
        parse_selector(query.get("labelSelector", ""))
        name = parse_field_selector(query["fieldSelector"]).exact("metadata.name") or ""
    except (ValueError, BadRequest):
        return ""
    return "" if path_segment(name) else name
