"""Requests under 64 KB that ask for as much work as they can, one for each way that was thought of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
from multidict import CIMultiDict, MultiDict

from vacate.api.kinds import (
    CLUSTERROLES,
    CONFIGMAPS,
    DEPLOYMENTS,
    EVICTIONREQUESTS,
    NODES,
    PODDISRUPTIONBUDGETS,
    PODS,
    ROLEBINDINGS,
    ROLES,
    Kind,
)
from vacate.wire.message import Peer, Request

MAX_BYTES = 64 * 1024
CONTAINER = {"name": "c", "image": "i"}
EMPTY: list[Any] = [{}] * 20_000
Named = tuple[str, Request]


def costly_requests(peer: Peer) -> Iterator[Named]:
    """Each with a name. ConfigMap `c` with one finalizer and pod `p` are there, in namespace `d`."""
    for name, request in (*_objects(), *_texts(), *_patches(), *_selections(), *_protobuf()):
        request.peer = peer
        assert len(request.body) + sum(len(value) for value in request.query.values()) <= MAX_BYTES, name
        yield name, request


def rules_of_a_role(values: int) -> Any:
    """A rule that stands for the cube of so many combinations."""
    lists = {key: [f"{key[0]}{n}" for n in range(values)] for key in ("verbs", "apiGroups", "resources")}
    return [lists]


def create(kind: Kind, body: Any) -> Request:
    if isinstance(body, dict):
        body.setdefault("metadata", {"name": "new"})
        body = orjson.dumps({"kind": kind.kind, "apiVersion": kind.api_version, **body})
    path = kind.collection_path("d" if kind.namespaced else "")
    return Request("POST", path, headers=CIMultiDict({"Content-Type": "application/json"}), body=body)


def _objects() -> Iterator[Named]:
    yield "role", create(ROLES, {"rules": rules_of_a_role(1_900)})
    yield "role, rules", create(ROLES, {"rules": EMPTY})
    aggregation = {"clusterRoleSelectors": [{"matchLabels": {f"a{n}": "b"}} for n in range(1_900)]}
    yield "cluster role", create(CLUSTERROLES, {"aggregationRule": aggregation})
    yield "binding", create(ROLEBINDINGS, {"subjects": EMPTY})
    yield "owners", create(CONFIGMAPS, {"metadata": {"name": "x", "ownerReferences": EMPTY}})
    yield "data", create(CONFIGMAPS, {"data": {f"k{n}": "" for n in range(5_000)}})
    yield "labels", create(CONFIGMAPS, {"metadata": {"labels": {f"k{n}$": "$" for n in range(1_999)}}})
    yield "unknown", create(CONFIGMAPS, {f"k{n}": 1 for n in range(6_000)})
    yield "taints", create(NODES, {"spec": {"taints": EMPTY}})
    expressions = [{"key": "a", "operator": "In", "values": list("abcdefgh")}] * 700
    yield "budget", create(PODDISRUPTIONBUDGETS, {"spec": {"selector": {"matchExpressions": expressions}}})
    yield "requesters", create(EVICTIONREQUESTS, {"spec": {"requesters": EMPTY}})
    yield "deployment", create(DEPLOYMENTS, {"spec": {"template": {"spec": {"containers": EMPTY}}}})
    for key in ("containers", "volumes", "tolerations", "topologySpreadConstraints", "hostAliases"):
        yield f"{key}, too many", create(PODS, {"spec": {"containers": [CONTAINER], key: EMPTY}})
        yield f"{key}, empty", create(PODS, {"spec": {"containers": [CONTAINER], key: EMPTY[:1_999]}})
    mounts = [{"name": f"v{n}", "mountPath": f"/{n}"} for n in range(900)]
    volumes = [{"name": f"v{n}", "emptyDir": {}} for n in range(900)]
    yield (
        "mounts",
        create(PODS, {"spec": {"containers": [{**CONTAINER, "volumeMounts": mounts}], "volumes": volumes}}),
    )
    ports = [{"containerPort": n, "hostPort": n} for n in range(1, 1_500)]
    yield "ports", create(PODS, {"spec": {"containers": [{**CONTAINER, "ports": ports}]}})


def _texts() -> Iterator[Named]:
    yield "depth, lists", create(CONFIGMAPS, b"[" * 60_000)
    yield "depth, maps", create(CONFIGMAPS, b'{"a":' * 10_000 + b"1" + b"}" * 10_000)
    yield "not UTF-8", create(CONFIGMAPS, b'{"data":{"a":"' + b"\xff" * 60_000 + b'"}}')
    yield "surrogates", create(CONFIGMAPS, b'{"data":{"a":"' + b"\\ud800" * 10_000 + b'"}}')
    yield "no end", create(CONFIGMAPS, b'{"data":{' + b'"a":"b",' * 7_000)
    yield "name", create(CONFIGMAPS, {"metadata": {"name": "a-" * 30_000 + "$"}})
    yield "finalizer", create(CONFIGMAPS, {"metadata": {"name": "a", "finalizers": ["a." * 30_000]}})
    for text in ("1" * 60_000, f"0.{'1' * 60_000}e99", "1e999999999"):
        requests = {"requests": {"cpu": text}}
        yield (
            f"quantity {text[:4]}",
            create(PODS, {"spec": {"containers": [{**CONTAINER, "resources": requests}]}}),
        )
    yield "number", create(PODS, b'{"spec":{"priority":' + b"1" * 60_000 + b"}}")
    yield "percentage", create(PODDISRUPTIONBUDGETS, {"spec": {"minAvailable": "9" * 60_000 + "%"}})
    mount = {"name": "v", "mountPath": "/" + "../" * 20_000}
    yield "path", create(PODS, {"spec": {"containers": [{**CONTAINER, "volumeMounts": [mount]}]}})


def _patches() -> Iterator[Named]:
    first = {"op": "add", "path": "/metadata/finalizers/0", "value": "a"}
    yield "patch, index 0", _patch(CONFIGMAPS, "c", "json", [first] * 1_100)
    long = {"op": "add", "path": "/x", "value": [1] * 15_000}
    yield "patch, long list", _patch(CONFIGMAPS, "c", "json", [long, *[{**first, "path": "/x/0"}] * 600])
    turn = {"op": "move", "from": "/x/0", "path": "/x/0"}
    yield "patch, moves", _patch(CONFIGMAPS, "c", "json", [long, *[turn] * 700])
    twice = {"op": "copy", "from": "/x", "path": "/x/0"}
    yield "patch, doubling", _patch(CONFIGMAPS, "c", "json", [{**long, "value": [1, 1]}, *[twice] * 1_400])
    deep = {"op": "test", "path": "/a" * 250, "value": 1}
    yield "patch, paths", _patch(CONFIGMAPS, "c", "json", [deep] * 110)
    finalizers = [f"x/{n}" for n in range(1_999)]
    metadata = {"finalizers": finalizers, "$setElementOrder/finalizers": finalizers}
    yield "merge, scalars", _patch(CONFIGMAPS, "c", "strategic-merge", {"metadata": metadata})
    containers = [{"name": f"c{n}", "image": "i"} for n in range(1_800)]
    yield "merge, maps", _patch(PODS, "p", "strategic-merge", {"spec": {"containers": containers}})
    tolerations = [{"key": f"k{n}", "operator": "Exists"} for n in range(1_500)]
    yield "merge, pod", _patch(PODS, "p", "strategic-merge", {"spec": {"tolerations": tolerations}})


def _patch(kind: Kind, name: str, form: str, document: Any) -> Request:
    headers = CIMultiDict({"Content-Type": f"application/{form}-patch+json"})
    path = f"{kind.collection_path('d')}/{name}"
    return Request("PATCH", path, headers=headers, body=orjson.dumps(document))


def _selections() -> Iterator[Named]:
    for text in ("(" * 60_000, ",".join(f"k{n} in (a,b)" for n in range(3_000)), "!k," * 10_000 + "k"):
        query = MultiDict(labelSelector=text)
        yield f"labels {text[:4]}", Request("GET", CONFIGMAPS.collection_path("d"), query)
    text = ",".join(f"metadata.name!=k{n}" for n in range(3_000))
    yield "fields", Request("GET", CONFIGMAPS.collection_path("d"), MultiDict(fieldSelector=text))


def _protobuf() -> Iterator[Named]:
    for name, kind, raw in (
        ("metadata", CONFIGMAPS, _field(1, b"") * 30_000),
        ("data", CONFIGMAPS, _field(2, b"") * 30_000),
        ("groups", CONFIGMAPS, b"\x7b" * 30_000),
        ("containers", PODS, _field(2, _field(2, b"") * 30_000)),
        ("specs", PODS, _field(2, b"") * 30_000),
    ):
        what = _field(1, _field(1, b"v1") + _field(2, kind.kind.encode()))
        headers = CIMultiDict({"Content-Type": "application/vnd.kubernetes.protobuf"})
        body = b"k8s\0" + what + _field(2, raw)
        yield f"protobuf, {name}", Request("POST", kind.collection_path("d"), headers=headers, body=body)


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    low = bytes([number & 127 | (128 if number > 127 else 0)])
    return low + _varint(number >> 7) if number > 127 else low
