"""Requests as values: what to send for each verb, without sending it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from multidict import CIMultiDict, MultiDict

from vacate.api.kinds import PODS, Kind
from vacate.api.objects import Obj, encode, name_of, namespace_of
from vacate.api.options import DeleteOptions, ListOptions, WatchOptions
from vacate.errors import ConfigError
from vacate.wire import mediatypes
from vacate.wire.message import Request

MERGE_PATCH, STRATEGIC_PATCH = mediatypes.MERGE_PATCH, mediatypes.STRATEGIC_PATCH

JSON_PATCH = "application/json-patch+json"
JSON = "application/json"


def get(kind: Kind, name: str, namespace: str = "", *, subresource: str = "") -> Request:
    """Read one object."""
    return _request("GET", _object_path(kind, name, namespace, subresource))


def list_page(kind: Kind, namespace: str = "", options: ListOptions = ListOptions()) -> Request:
    """Read a collection, or a page of it."""
    return _request("GET", _collection_path(kind, namespace), _list_query(options))


def watch(kind: Kind, namespace: str = "", options: WatchOptions = WatchOptions()) -> Request:
    """Follow a collection; optionally with its present state first."""
    query = _query(
        watch="true",
        allowWatchBookmarks=_true_if(options.allow_bookmarks),
        resourceVersion=options.resource_version,
        labelSelector=options.label_selector,
        fieldSelector=options.field_selector,
        timeoutSeconds=options.timeout_seconds,
    )
    if options.send_initial_events is not None:
        query["sendInitialEvents"] = _true_if(options.send_initial_events) or "false"
        query["resourceVersionMatch"] = "NotOlderThan"
    return _request("GET", _collection_path(kind, namespace), query)


def create(kind: Kind, obj: Obj, namespace: str = "", *, dry_run: bool = False) -> Request:
    """Make an object. The kind and apiVersion are filled in where the object has none."""
    body = {"apiVersion": kind.api_version, "kind": kind.kind, **obj}
    where = namespace or namespace_of(obj)
    if kind.namespaced and not where:
        raise ConfigError(f"{kind.singular}: a namespace is needed to create one; set metadata.namespace")
    return _request("POST", _collection_path(kind, where), _query(dryRun=_all_if(dry_run)), encode(body))


def update(kind: Kind, obj: Obj, *, subresource: str = "", dry_run: bool = False) -> Request:
    """Replace an object by a whole one; its resourceVersion, where set, must be the newest."""
    body = obj if subresource == "scale" else {"apiVersion": kind.api_version, "kind": kind.kind, **obj}
    path = _object_path(kind, name_of(obj), namespace_of(obj), subresource)
    return _request("PUT", path, _query(dryRun=_all_if(dry_run)), encode(body))


def patch(
    kind: Kind,
    name: str,
    change: Any,
    namespace: str = "",
    *,
    patch_type: str = MERGE_PATCH,
    subresource: str = "",
    dry_run: bool = False,
) -> Request:
    """Change part of an object. The change is a dict, a list of operations, or bytes ready to send."""
    body = change if isinstance(change, bytes) else msgspec.json.encode(change)
    path = _object_path(kind, name, namespace, subresource)
    return _request("PATCH", path, _query(dryRun=_all_if(dry_run)), body, content_type=patch_type)


def delete(kind: Kind, name: str, namespace: str = "", options: DeleteOptions = DeleteOptions()) -> Request:
    """Delete one object."""
    return _request("DELETE", _object_path(kind, name, namespace, ""), body=_options_body(options))


def delete_collection(
    kind: Kind,
    namespace: str = "",
    options: DeleteOptions = DeleteOptions(),
    listed: ListOptions = ListOptions(),
) -> Request:
    """Delete all objects that a list with the options `listed` shows."""
    return _request("DELETE", _collection_path(kind, namespace), _list_query(listed), _options_body(options))


def evict(
    name: str,
    namespace: str,
    options: DeleteOptions = DeleteOptions(),
    annotations: Mapping[str, str] | None = None,
) -> Request:
    """Ask for a pod's eviction; annotations are for webhooks that look at it."""
    body: Obj = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace},
    }
    if annotations:
        body["metadata"]["annotations"] = dict(annotations)
    given = given_options(options)
    if given:
        body["deleteOptions"] = given
    return _request("POST", _object_path(PODS, name, namespace, "eviction"), body=encode(body))


def evict_again(name: str, namespace: str, eviction: Obj) -> Request:
    """A dry run of an eviction that someone has sent."""
    body = {**eviction, "apiVersion": "policy/v1", "kind": "Eviction"}
    query = _query(dryRun=_all_if(True))
    return _request("POST", _object_path(PODS, name, namespace, "eviction"), query, encode(body))


def bind(name: str, namespace: str, node: str, *, uid: str = "") -> Request:
    """Put a pod on a node."""
    metadata = {"name": name, "namespace": namespace}
    if uid:
        metadata["uid"] = uid
    body: Obj = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": metadata,
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    return _request("POST", _object_path(PODS, name, namespace, "binding"), body=encode(body))


def _request(
    method: str,
    path: str,
    query: MultiDict[str] | None = None,
    body: bytes = b"",
    *,
    content_type: str = JSON,
) -> Request:
    headers = CIMultiDict({"Accept": JSON})
    if body:
        headers["Content-Type"] = content_type
    return Request(method, path, query if query is not None else MultiDict(), headers, body)


def _query(**parameters: str | int) -> MultiDict[str]:
    return MultiDict((name, str(value)) for name, value in parameters.items() if value)


def _list_query(options: ListOptions) -> MultiDict[str]:
    return _query(
        labelSelector=options.label_selector,
        fieldSelector=options.field_selector,
        limit=options.limit,
        resourceVersion=options.resource_version,
        resourceVersionMatch=options.resource_version_match,
        **{"continue": options.continue_token},
    )


def _all_if(dry_run: bool) -> str:
    return "All" if dry_run else ""


def _true_if(flag: bool) -> str:
    return "true" if flag else ""


def _options_body(options: DeleteOptions) -> bytes:
    given = given_options(options)
    return encode({"apiVersion": "v1", "kind": "DeleteOptions", **given}) if given else b""


def given_options(options: DeleteOptions) -> Obj:
    """DeleteOptions as JSON, with only what was asked for; empty where nothing was."""
    preconditions = {"uid": options.uid, "resourceVersion": options.resource_version}
    fields: Obj = {
        "gracePeriodSeconds": options.grace_period_seconds,
        "preconditions": {key: value for key, value in preconditions.items() if value} or None,
        "orphanDependents": options.orphan_dependents,
        "propagationPolicy": options.propagation_policy or None,
        "dryRun": list(options.dry_run) or None,
        "ignoreStoreReadErrorWithClusterBreakingPotential": options.unsafe,
        "reason": options.reason or None,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _collection_path(kind: Kind, namespace: str) -> str:
    return kind.collection_path(_segment("namespace", namespace) if namespace and kind.namespaced else None)


def _object_path(kind: Kind, name: str, namespace: str, subresource: str) -> str:
    """An empty name would turn a delete into one of the whole collection, so it never gets this far."""
    if not name:
        raise ConfigError(f"{kind.singular}: a name is needed")
    if kind.namespaced and not namespace:
        raise ConfigError(f'{kind.singular} "{name}": a namespace is needed')
    where = _segment("namespace", namespace) if kind.namespaced else None
    return kind.object_path(_segment(kind.singular, name), where, subresource)


def _segment(what: str, text: str) -> str:
    if text in (".", "..") or "/" in text or "%" in text:
        raise ConfigError(f"{what} {text!r}: a name may not be '.' or '..' nor contain '/' or '%'")
    return text
