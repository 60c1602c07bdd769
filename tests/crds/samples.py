"""NodeMaintenance specs that are taken and refused, for the embedded and the real server alike."""

from __future__ import annotations

from typing import Any

ZONE = {"matchLabels": {"zone": "a"}}
VALID: dict[str, Any] = {
    "by-name": {"nodes": ["a", "b"]},
    "by-label": {"nodeSelector": ZONE, "maxNodes": "25%", "topologyKey": "topology.kubernetes.io/zone"},
    "by-expression": {"nodeSelector": {"matchExpressions": [{"key": "spot", "operator": "Exists"}]}},
    "all": {
        "nodes": ["a"],
        "stage": "Cordon",
        "reason": "kernel update",
        "pods": {
            "selector": {"matchLabels": {"app": "web"}},
            "daemonSetPods": "Evict",
            "unmanagedPods": "Ignore",
            "localDataPods": "Evict",
        },
        "order": "Parallel",
        "cordon": "InTurn",
        "maxNodes": 3,
        "deadlineSeconds": 600,
        "onDeadline": "Delete",
        "requestKind": "Evacuation",
        "heartbeatDeadlineSeconds": 21_600,
    },
}
REFUSED: dict[str, tuple[Any, set[str]]] = {
    "neither": ({}, {"spec.nodes"}),
    "both": ({"nodes": ["a"], "nodeSelector": ZONE}, {"spec.nodes"}),
    "no-node": ({"nodes": []}, {"spec.nodes"}),
    "twice": ({"nodes": ["a", "a"]}, {"spec.nodes[1]"}),
    "not-a-name": ({"nodes": ["No Node"]}, {"spec.nodes[0]"}),
    "empty-selector": ({"nodeSelector": {}}, {"spec.nodeSelector"}),
    "label-key": ({"nodeSelector": {"matchLabels": {"no label": "a"}}}, {"spec.nodeSelector.matchLabels"}),
    "label-value": (
        {"nodeSelector": {"matchLabels": {"zone": "a b"}}},
        {"spec.nodeSelector.matchLabels.zone"},
    ),
    "operator": (
        {"nodeSelector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}},
        {"spec.nodeSelector.matchExpressions[0].operator"},
    ),
    "values": (
        {"nodeSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
        {"spec.nodeSelector.matchExpressions[0].values"},
    ),
    "stage": ({"nodes": ["a"], "stage": "Reboot"}, {"spec.stage"}),
    "none-at-once": ({"nodes": ["a"], "maxNodes": 0}, {"spec.maxNodes"}),
    "negative": ({"nodes": ["a"], "maxNodes": -1}, {"spec.maxNodes"}),
    "absurd": ({"nodes": ["a"], "maxNodes": 10**9}, {"spec.maxNodes"}),
    "percent": ({"nodes": ["a"], "maxNodes": "150%"}, {"spec.maxNodes"}),
    "no-percent": ({"nodes": ["a"], "maxNodes": "ten"}, {"spec.maxNodes"}),
    "deadline": ({"nodes": ["a"], "deadlineSeconds": -5}, {"spec.deadlineSeconds"}),
    "no-deadline": ({"nodes": ["a"], "onDeadline": "Delete"}, {"spec.deadlineSeconds"}),
    "heartbeat": ({"nodes": ["a"], "heartbeatDeadlineSeconds": 5}, {"spec.heartbeatDeadlineSeconds"}),
    "request-kind": ({"nodes": ["a"], "requestKind": "Eviction"}, {"spec.requestKind"}),
    "evacuation": (
        {"nodes": ["a"], "requestKind": "Evacuation", "heartbeatDeadlineSeconds": 21_601},
        {"spec.heartbeatDeadlineSeconds"},
    ),
    "pods": ({"nodes": ["a"], "pods": {"daemonSetPods": "Maybe"}}, {"spec.pods.daemonSetPods"}),
}
LONG_NAME = "n" * 201
