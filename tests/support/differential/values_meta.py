"""Good and bad values for what all objects have."""

from __future__ import annotations

from typing import Any

Place = tuple[str | int, ...]
Table = list[tuple[Place, list[Any]]]

LABELS = [{}, {"app": "web"}, {"a/b/c": "x"}, {"x": "no spaces"}, {"x": 1}, "text", {"-x": ""}, None]
WHOLE = [0, 1, 30, -1, 2147483648, "3", 1.5, True, None]

META: Table = [
    (("metadata", "labels"), LABELS),
    (("metadata", "annotations"), [{}, {"a": "b"}, {"a b": "c"}, {"a": 1}, None]),
    (("metadata", "finalizers"), [[], ["example.com/keep"], ["keep"], ["kubernetes"], ["a b"], "x", None]),
    (("metadata", "generation"), [0, 7, -1]),
    (("metadata", "namespace"), ["other", ""]),
    (("metadata", "creationTimestamp"), ["2020-01-01T00:00:00Z", None, "yesterday"]),
    (("metadata", "deletionTimestamp"), ["2020-01-01T00:00:00Z"]),
    (("metadata", "deletionGracePeriodSeconds"), [5]),
    (
        ("metadata", "ownerReferences"),
        [
            [],
            [{"apiVersion": "v1", "kind": "Pod", "name": "o", "uid": "u"}],
            [{"apiVersion": "v1"}],
            [{"apiVersion": "v1", "kind": "Event", "name": "o", "uid": "u"}],
            [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": n, "uid": n, "controller": True}
                for n in "op"
            ],
        ],
    ),
    (("metadata", "name"), ["", "UPPER", "x.y", "a_b", "a" * 254, 5]),
    (("apiVersion",), ["v1", "apps/v1", "policy/v1", "v9"]),
    (("kind",), ["Pod", "Deployment", "Nothing"]),
]
"""The fields of all objects."""
