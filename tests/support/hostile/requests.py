"""Requests near the valid ones, for fuzzing: a grammar of methods, addresses, queries, headers and bodies."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import orjson
from hypothesis import strategies as st
from multidict import CIMultiDict, MultiDict

from support.embedded import ADMIN
from support.hostile.samples import DELETE_OPTIONS, sample_of
from vacate.api.kinds import Kind
from vacate.embedded.registry.kinds import SERVED_KINDS
from vacate.wire.message import Peer, Request

T = TypeVar("T")
STRANGER = Peer("mallory")
JSON = "application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
PATCHES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)

_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_numbers = st.sampled_from(
    [0, 1, -1, 3, 2**31 - 1, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63), 2**64 - 1, 10**15]
)
_scalars = st.one_of(
    st.none(),
    st.booleans(),
    _numbers,
    st.floats(allow_nan=False, allow_infinity=False),
    _text,
    st.sampled_from(
        ["", "d", "p", "10%", "1Gi", "x" * 300, "2026-03-01T11:00:00Z", "9999-12-31T23:59:59-23:59"]
    ),
)
_FIELDS = (
    "",
    *"""
    metadata name namespace generateName labels annotations finalizers uid resourceVersion
    ownerReferences deletionTimestamp creationTimestamp managedFields deletionGracePeriodSeconds
    generation spec status replicas selector matchLabels matchExpressions key operator values
    template containers image resources limits requests cpu memory nodeName tolerations taints
    effect phase conditions type minAvailable maxUnavailable disruptedPods
    unhealthyPodEvictionPolicy rules verbs roleRef subjects apiGroups aggregationRule
    clusterRoleSelectors strategy rollingUpdate maxSurge deleteOptions gracePeriodSeconds
    preconditions dryRun propagationPolicy target kind apiVersion data binaryData immutable value
    globalDefault preemptionPolicy holderIdentity renewTime acquireTime leaseDurationSeconds
    evictionInterceptors terminationGracePeriodSeconds involvedObject lastTimestamp eventTime series
    resourceAttributes nonResourceAttributes user groups extra capacity allocatable addresses
    unschedulable $patch $retainKeys x priority priorityClassName activeDeadlineSeconds
    initContainers ports affinity env
    """.split(),  # noqa: SIM905
)
_names = st.sampled_from(_FIELDS)
_json: st.SearchStrategy[Any] = st.recursive(
    _scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_names | _text, inner, max_size=4)),
    max_leaves=12,
)


@dataclass(frozen=True)
class Damage:
    """One thing done to an object: a value replaced, a member added or taken away."""

    place: int  # among all places of the object, modulo their number
    name: str  # of the member to add; empty replaces the place itself
    value: Any  # GONE takes it away


GONE = object()
_damages = st.builds(
    Damage,
    st.integers(0, 200),
    st.sampled_from(["", "", *_FIELDS]),
    st.one_of(_json, _numbers, _text, st.just(GONE)),
)


def _damaged(sample: Any, damages: list[Damage]) -> Any:
    root = {"": deepcopy(sample)}
    for damage in damages:
        places = list(_places(root))
        parent, key = places[damage.place % len(places)]
        child = parent[key]
        if damage.name and isinstance(child, dict):
            parent, key = child, damage.name
        if damage.value is not GONE:
            parent[key] = damage.value
        elif key in parent if isinstance(parent, dict) else True:
            del parent[key]
        root.setdefault("", None)
    return root[""]


def _encode(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in steps:
        yield value, key
        if isinstance(child, dict | list):
            yield from _places(child)


def _holey(sample: Any) -> st.SearchStrategy[Any]:
    """The sample, mostly with something wrong in it."""
    return st.lists(_damages, max_size=3).map(lambda damages: _damaged(sample, damages))


_POINTERS = st.lists(st.one_of(_names, st.sampled_from(["0", "-", "-1", "9", "~1", "a~0b"])), max_size=5).map(
    lambda steps: "".join(f"/{step}" for step in steps)
)
_OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x"]), "path": _POINTERS},
        optional={"value": _json, "from": _POINTERS},
    ),
    max_size=4,
)
_SEGMENTS = st.one_of(
    st.sampled_from(
        [
            "api",
            "apis",
            "v1",
            "apps",
            "policy",
            "namespaces",
            "d",
            "pods",
            "p",
            "watch",
            "status",
            "..",
            ".",
            "",
            "eviction",
            "scale",
            "binding",
            "x" * 300,
            "p/q",
            "a\0b",
            "ü",
            "livez",
            "readyz",
            "version",
            "metrics",
            "openapi",
            "%2e%2e",
        ]
    ),
    _text,
)
_QUERIES = {
    "watch": st.sampled_from(["1", "true", "false", "", "x"]),
    "labelSelector": st.one_of(
        _text,
        st.sampled_from(
            ["a=b", "a in (b,c)", "!a", "a!=b", "a in (", "a>1", "x/y/z=1", ",", "a in ()", "a=b,,"]
        ),
    ),
    "fieldSelector": st.one_of(
        _text,
        st.sampled_from(["metadata.name=p", "spec.nodeName!=n", "a=b", "metadata.name=a\\,b", "=", "\\"]),
    ),
    "resourceVersion": st.one_of(
        _text, st.sampled_from(["0", "1", "2", "-1", "x", "99999999999999999999", "184467440737095516", "²"])
    ),
    "resourceVersionMatch": st.sampled_from(["Exact", "NotOlderThan", "", "x"]),
    "limit": st.one_of(
        _text, st.sampled_from(["0", "1", "-1", "99999999999999999999", "²", "1e3", "9" * 5000])
    ),
    "continue": st.one_of(
        _text,
        st.sampled_from(
            ["eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJwXHUwMDAwIn0", "AAAA", "bnVsbA", "W10"]
        ),
    ),
    "timeoutSeconds": st.sampled_from(["0", "1", "-1", "99999999999999999999", "x", "1_0"]),
    "sendInitialEvents": st.sampled_from(["true", "false", "x", ""]),
    "allowWatchBookmarks": st.sampled_from(["true", "false", "x", ""]),
    "dryRun": st.sampled_from(["All", "", "x"]),
    "gracePeriodSeconds": st.sampled_from(
        ["0", "1", "-1", "99999999999999999999", "x", "1_0", "999999999999999"]
    ),
    "propagationPolicy": st.sampled_from(["Foreground", "Orphan", "x", ""]),
    "orphanDependents": st.sampled_from(["true", "x", ""]),
    "includeObject": st.sampled_from(["None", "Object", "x", ""]),
    "fieldManager": _text,
    "fieldValidation": st.sampled_from(["Strict", "Ignore", "x", ""]),
    "pretty": _text,
}
_ACCEPTS = (
    "",
    "*/*",
    JSON,
    PROTOBUF,
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/yaml",
    ";;;",
    ",",
    "é",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/json;as=x",
    "application/json;as",
)
_CONTENT_TYPES = (
    JSON,
    PROTOBUF,
    *PATCHES,
    "application/apply-patch+yaml",
    "text/plain",
    "",
    ";",
    "application/json;x",
)


_METHODS = {
    "create": "POST",
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}
_INTENTS = st.sampled_from(
    [(kind, "", verb) for kind in SERVED_KINDS for verb in kind.verbs]
    + [(kind, sub.name, verb) for kind in SERVED_KINDS for sub in kind.subresources for verb in sub.verbs] * 2
)
# What is common stands at both ends of a list: there Hypothesis looks more often.
_ODD_METHODS = st.sampled_from(
    [*[""] * 60, "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "TRACE", "x", *[""] * 60]
)
_ACCEPTED = st.sampled_from([*[JSON] * 40, *_ACCEPTS, *[JSON] * 40])
_PARAMETERS: st.SearchStrategy[list[tuple[str, str]]] = st.just([]) | st.lists(
    st.one_of([st.tuples(st.just(name), values) for name, values in sorted(_QUERIES.items())]), max_size=3
)


@st.composite
def hostile_requests(draw: st.DrawFn, peer: Peer = ADMIN) -> Request:
    """One request that may be valid, nearly valid or nonsense."""
    kind, subresource, verb = draw(_INTENTS)
    method = draw(_ODD_METHODS) or _METHODS[verb]
    path = draw(_addresses(kind, subresource, verb))
    headers = CIMultiDict({"Content-Type": draw(_content_types(method)), "Accept": draw(_ACCEPTED)})
    headers.extend(draw(_HEADERS))
    name = "new" if verb == "create" and not subresource else "p"
    body = draw(_bodies(method, headers["Content-Type"], kind, subresource, name))
    return Request(method, path, MultiDict(draw(_PARAMETERS)), headers, body, peer)


_WILD_PATHS = st.lists(_SEGMENTS, max_size=7).map(lambda parts: "/" + "/".join(parts))
_TAILS = st.sampled_from(["", "", "", "", "/", "/x", "", "", "", ""])
_NAMES = ("p", "p", "p", "missing", "P!", "x" * 300, "p", "p")


def _mostly(common: st.SearchStrategy[T], *rare: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    """One of them; equal branches of `one_of` would be thrown together."""
    return st.sampled_from([*[common] * 6, *rare, *[common] * 6]).flatmap(lambda chosen: chosen)


@cache
def _addresses(kind: Kind, subresource: str, verb: str) -> st.SearchStrategy[str]:
    scopes = ["d", "d", "d", "", "missing", "d", "d"] if kind.namespaced else [""]
    collections = st.sampled_from([kind.collection_path(scope) for scope in scopes])
    near = st.builds("{}{}".format, collections, _TAILS)
    if subresource or verb not in ("create", "list", "watch", "deletecollection"):
        below = f"/{subresource}" if subresource else ""
        near = st.builds("{}/{}{}{}".format, collections, st.sampled_from(_NAMES), st.just(below), _TAILS)
    return _mostly(near, _WILD_PATHS)


@cache
def _content_types(method: str) -> st.SearchStrategy[str]:
    fitting = PATCHES if method == "PATCH" else (JSON,) * 3
    return st.sampled_from([*fitting * 8, *_CONTENT_TYPES, *fitting * 8])


_HEADERS: st.SearchStrategy[list[tuple[str, str]]] = st.just([]) | st.lists(
    st.tuples(
        st.sampled_from(
            [
                "Authorization",
                "Impersonate-User",
                "Impersonate-Group",
                "Impersonate-Uid",
                "Impersonate-Extra-a%zz",
                "Impersonate-Extra-",
                "Content-Encoding",
                "If-Match",
            ]
        ),
        st.one_of(
            _text, st.sampled_from(["Bearer x", "Bearer ", "Basic eDp5", "\udcff", "gzip", "system:masters"])
        ),
    ),
    max_size=1,
)
_NOISE = st.one_of(st.binary(max_size=20), _json.map(_encode), st.just(b""))
_PROTOBUF = st.binary(max_size=60).map(lambda tail: b"k8s\0" + tail)


def _bodies(
    method: str, content_type: str, kind: Kind, subresource: str, name: str
) -> st.SearchStrategy[bytes]:
    if content_type == PROTOBUF:
        return _PROTOBUF
    if content_type == PATCHES[0]:
        return _JSON_PATCHES
    return _objects(kind, subresource, name) if method != "DELETE" else _DELETIONS


@cache
def _objects(kind: Kind, subresource: str, name: str) -> st.SearchStrategy[bytes]:
    sample = sample_of(kind, subresource)
    return _encoded(_holey({**sample, "metadata": {**sample["metadata"], "name": name}}))


def _encoded(values: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    """The values as JSON, at times cut off, at times something else."""
    encoded = values.map(_encode)
    cut = st.builds(lambda body, part: body[: len(body) * part // 100], encoded, st.integers(0, 99))
    return _mostly(encoded, cut, _NOISE)


_JSON_PATCHES = _encoded(_OPERATIONS)
_DELETIONS = _encoded(_holey(DELETE_OPTIONS))
