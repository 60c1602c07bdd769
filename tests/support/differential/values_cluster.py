"""Good and bad values for nodes, namespaces, leases, events, roles and bindings.

Fields that a server takes away again are not among them: to a real one a patch of them is a change of the
managed fields, which watchers see.
"""

from __future__ import annotations

from typing import Any

from support.differential.request import HERE, name_in
from support.differential.values_meta import META, WHOLE, Table
from vacate.api.kinds import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    EVENTS,
    LEASES,
    NAMESPACES,
    NODES,
    ROLEBINDINGS,
    ROLES,
    Kind,
)

_RBAC = "rbac.authorization.k8s.io"
_TIMES = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123456Z", "2026-01-01T01:00:00+01:00", "soon", None]
_TEXTS = ["", "word", "Two Words", "x" * 300, 5, None]


def _unique(table: Table) -> Table:
    """The same names, but unlike all others in the cluster."""
    return [
        (place, [f"{HERE}{one}" if one and isinstance(one, str) else one for one in values])
        if place == ("metadata", "name")
        else (place, values)
        for place, values in table
    ]


_LEASE: Table = [
    (("spec", "holderIdentity"), ["me", "you", "", 5, None]),
    (("spec", "leaseDurationSeconds"), WHOLE),
    (("spec", "leaseTransitions"), WHOLE),
    (("spec", "acquireTime"), _TIMES),
    (("spec", "renewTime"), _TIMES),
    (("spec",), [{}, None]),
]
_EVENT: Table = [
    (("involvedObject",), [{}, {"kind": "Pod"}, {"namespace": "other"}, {"kind": "Node", "name": "n"}, None]),
    (("involvedObject", "namespace"), ["", "default", HERE]),
    (("involvedObject", "uid"), ["u"]),
    (("reason",), _TEXTS),
    (("message",), [*_TEXTS, "x" * 1500]),
    (("type",), ["Normal", "Warning", "Other", "", None]),
    (("count",), WHOLE),
    (("firstTimestamp",), _TIMES),
    (("lastTimestamp",), _TIMES),
    (("eventTime",), _TIMES),
    (("action",), _TEXTS),
    (("reportingComponent",), ["example.com/it", "a b", ""]),
    (("reportingInstance",), _TEXTS),
    (("source",), [{"component": "c", "host": "h"}, {}, "x"]),
    (("series",), [{"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000001Z"}, {"count": -1}, {}, None]),
    (("related",), [{"kind": "Node", "name": "n"}, None]),
]
_NAMESPACE: Table = [
    (("spec", "finalizers"), [[], ["kubernetes"], ["example.com/keep"], ["keep"], ["a b"], None]),
    (("spec",), [{}, None]),
    (("status",), [{}, {"phase": "Terminating"}]),
]
_TAINTS: list[Any] = [
    [],
    [{"key": "a", "effect": "NoSchedule"}],
    [{"key": "a", "value": "b", "effect": "NoExecute"}],
    [{"key": "a", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}],
    [{"key": "a", "effect": "Whatever"}],
    [{"key": "a b", "value": "c d", "effect": "NoSchedule"}],
    [{"effect": "NoSchedule"}],
    [{"key": "a", "effect": ""}],
    [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "value": "b", "effect": "NoSchedule"}],
    [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}],
    None,
]
_NODE: Table = [
    (("spec", "taints"), _TAINTS),
    (("spec", "unschedulable"), [True, False, "x", None]),
    (("status", "capacity"), [{"cpu": "4"}, {"cpu": "many"}, {"cpu": "-1"}, {"pods": "1.5"}, None]),
    (("status", "addresses"), [[{"type": "InternalIP", "address": "10.0.0.1"}], [{"type": "x"}]]),
]
_NODE_STATUS: Table = [
    (("status", "capacity"), [{"cpu": "4", "memory": "1Gi"}, {"cpu": "-1"}, {"cpu": "x"}, {"bananas": "1"}]),
    (("status", "allocatable"), [{"cpu": "3500m"}, {"cpu": "0.1"}, {"memory": "1.5Gi"}]),
    (
        ("status", "conditions"),
        [
            [{"type": "Ready", "status": "True"}],
            [{"type": "Ready", "status": "Perhaps"}],
            [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}],
            [{"type": "Ready"}],
            [],
        ],
    ),
    (
        ("status", "addresses"),
        [
            [{"type": "InternalIP", "address": "10.0.0.1"}],
            [{"type": "InternalIP", "address": "10.0.0.1"}] * 2,
            [{"type": "Hostname", "address": ""}],
        ],
    ),
    (("status", "nodeInfo"), [{"kubeletVersion": "v1"}, {"kubeletVersion": 5}]),
    (("status", "phase"), ["Running", "x"]),
    (("status", "images"), [[{"names": ["a:1"], "sizeBytes": 5}], [{"sizeBytes": "x"}], []]),
    (("status", "daemonEndpoints"), [{"kubeletEndpoint": {"Port": 10250}}]),
    (("spec", "unschedulable"), [True]),
    (("spec", "taints"), [[{"key": "a", "effect": "NoSchedule"}]]),
    (("metadata", "labels"), [{"new": "label"}]),
]
_RULES: list[Any] = [
    [],
    None,
    [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}],
    [{"apiGroups": [""], "resources": ["pods", "configmaps"], "verbs": ["*"]}],
    [{"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]}],
    [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get"]}],
    [{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"], "verbs": ["get", "update"]}],
    [{"apiGroups": [_RBAC], "resources": ["roles", "rolebindings"], "verbs": ["create", "update", "get"]}],
    [{"apiGroups": [_RBAC], "resources": ["roles"], "verbs": ["escalate", "bind", "patch", "create"]}],
    [{"apiGroups": [_RBAC], "resources": ["clusterroles"], "resourceNames": ["view"], "verbs": ["bind"]}],
    [{"nonResourceURLs": ["/metrics", "/healthz*"], "verbs": ["get"]}],
    [{"nonResourceURLs": ["/metrics"], "apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    [{"apiGroups": [""], "resources": ["pods"]}],
    [{"resources": ["pods"], "verbs": ["get"]}],
    [{"apiGroups": [""], "verbs": ["get"]}],
    [{"apiGroups": [""], "resources": [], "verbs": []}],
    [{"apiGroups": [""], "resources": ["*/scale", "pods/*"], "verbs": ["get", "patch"]}],
    [{"apiGroups": [""], "resources": ["Pods"], "verbs": ["GET", ""]}],
    [{"apiGroups": "x"}],
]
_SELECTED = [
    {"clusterRoleSelectors": [{"matchLabels": {"tier": "front"}}]},
    {"clusterRoleSelectors": [{"matchLabels": {"a b": "c"}}]},
    {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "Is"}]}]},
    {"clusterRoleSelectors": []},
    None,
]
_SUBJECTS: list[Any] = [
    [],
    None,
    [{"kind": "User", "apiGroup": _RBAC, "name": f"{HERE}-jane"}],
    [{"kind": "User", "name": f"{HERE}-jane"}],
    [{"kind": "Group", "apiGroup": _RBAC, "name": f"{HERE}-crew"}],
    [{"kind": "ServiceAccount", "name": "robot", "namespace": HERE}],
    [{"kind": "ServiceAccount", "name": "robot"}],
    [{"kind": "ServiceAccount", "apiGroup": _RBAC, "name": "robot", "namespace": HERE}],
    [{"kind": "ServiceAccount", "name": "Robot!", "namespace": HERE}],
    [{"kind": "User", "apiGroup": "x", "name": "j"}],
    [{"kind": "Robot", "apiGroup": _RBAC, "name": "j"}],
    [{"kind": "User", "apiGroup": _RBAC, "name": ""}],
    [{"kind": "User", "apiGroup": _RBAC, "name": "j", "namespace": HERE}],
    [{}],
]
_REFERENCES: list[Any] = [
    {"apiGroup": _RBAC, "kind": "Role", "name": "a"},
    {"apiGroup": _RBAC, "kind": "Role", "name": "b"},
    {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name_in(CLUSTERROLES, "a")},
    {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "view"},
    {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "none-such"},
    {"kind": "Role", "name": "a"},
    {"apiGroup": "x", "kind": "Role", "name": "a"},
    {"apiGroup": _RBAC, "kind": "Group", "name": "a"},
    {"apiGroup": _RBAC, "kind": "Role", "name": ""},
    {"apiGroup": _RBAC, "kind": "Role", "name": "a/b"},
    {},
]
_ROLE: Table = [(("rules",), _RULES), (("rules",), _RULES)]
_BINDING: Table = [(("subjects",), _SUBJECTS), (("roleRef",), _REFERENCES)]

CLUSTER_FIELDS: dict[Kind, Table] = {
    LEASES: [*_LEASE, *META],
    EVENTS: [*_EVENT, *META],
    ROLES: [*_ROLE, *META],
    ROLEBINDINGS: [*_BINDING, *META],
    NAMESPACES: _unique([*_NAMESPACE, *META]),
    NODES: _unique([*_NODE, *META]),
    CLUSTERROLES: _unique([*_ROLE, (("aggregationRule",), _SELECTED), *META]),
    CLUSTERROLEBINDINGS: _unique([*_BINDING, *META]),
}
CLUSTER_STATUS_FIELDS: dict[Kind, Table] = {
    NODES: _NODE_STATUS,
    NAMESPACES: [
        (("status", "phase"), ["Active", "Terminating", "x"]),
        (("status", "conditions"), [[{"type": "a", "status": "True"}], [{"type": "a", "status": "x"}]]),
        (("spec", "finalizers"), [["example.com/keep"], []]),
        (("metadata", "labels"), [{"new": "label"}]),
    ],
}
