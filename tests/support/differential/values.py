"""Fields of the served kinds with good and bad values: what random requests are made of.

Fields that no schema knows are not among them: the embedded server keeps what it does not know, and a real
one forgets it.
"""

from __future__ import annotations

from support.differential.values_cluster import CLUSTER_FIELDS, CLUSTER_STATUS_FIELDS
from support.differential.values_meta import LABELS, META, WHOLE, Table
from vacate.api.kinds import (
    CONFIGMAPS,
    CONTROLLERREVISIONS,
    DAEMONSETS,
    DEPLOYMENTS,
    HORIZONTALPODAUTOSCALERS,
    PODDISRUPTIONBUDGETS,
    PODS,
    REPLICASETS,
    STATEFULSETS,
    Kind,
)

_CONTAINER: Table = [
    (("name",), ["", "UPPER", "main", "a.b", 5]),
    (("image",), ["", " x", "other:2", None]),
    (("imagePullPolicy",), ["Always", "Never", ""]),
    (
        ("ports",),
        [
            [{"containerPort": 80}],
            [{"containerPort": 0}],
            [{"containerPort": 80, "protocol": "ICMP"}],
            [{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}],
            [{"name": "UP"}],
        ],
    ),
    (
        ("env",),
        [[{"name": "A", "value": "b"}], [{"name": ""}], [{"name": "1=2"}], [{"name": "A"}, {"name": "A"}]],
    ),
    (
        ("resources",),
        [
            {"requests": {"cpu": "1"}},
            {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
            {"limits": {"memory": "1Gi"}},
            {"requests": {"cpu": "-1"}},
            {"requests": {"cpu": "lots"}},
            {"limits": {"cpu": 0.5, "memory": "1.5Mi"}},
            {"requests": {"bananas": "1"}},
        ],
    ),
    (
        ("lifecycle",),
        [
            {"preStop": {"sleep": {"seconds": 5}}},
            {"preStop": {}},
            {"preStop": {"exec": {"command": ["x"]}}},
            {"preStop": {"sleep": {"seconds": 100}}},
        ],
    ),
    (
        ("readinessProbe",),
        [
            {"exec": {"command": ["x"]}},
            {},
            {"httpGet": {"port": 80}},
            {"httpGet": {"path": "/"}},
            {"exec": {"command": ["x"]}, "periodSeconds": -1},
        ],
    ),
    (("terminationMessagePolicy",), ["File", "FallbackToLogsOnError"]),
]

_POD_SPEC: Table = [
    (
        ("containers",),
        [
            [],
            None,
            "x",
            [{}],
            [{"name": "c"}],
            [{"name": "c", "image": "i"}] * 2,
            [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}],
        ],
    ),
    (
        ("initContainers",),
        [
            [{"name": "i", "image": "i"}],
            [{"name": "c", "image": "i"}],
            [{"name": "i", "image": "i", "restartPolicy": "Always"}],
        ],
    ),
    (("terminationGracePeriodSeconds",), WHOLE),
    (("activeDeadlineSeconds",), WHOLE),
    (("restartPolicy",), ["Always", "Never", "OnFailure", "Maybe", ""]),
    (("dnsPolicy",), ["Default"]),
    (("nodeName",), ["n1", "", "UPPER"]),
    (("nodeSelector",), [{"zone": "a"}, {"a b": "c"}, {}]),
    (("schedulerName",), ["default-scheduler", "", "a b"]),
    (("priority",), [0, 5]),
    (("priorityClassName",), ["nothing-such", "system-node-critical"]),
    (("serviceAccountName",), ["default", "UPPER"]),
    (("hostNetwork",), [True, False, "x"]),
    (("hostname",), ["h", "H_"]),
    (("enableServiceLinks",), [False]),
    (("automountServiceAccountToken",), [False, None]),
    (("securityContext",), [{}, {"runAsUser": 5}]),
    (("preemptionPolicy",), ["Never", "PreemptLowerPriority", "Perhaps"]),
    (
        ("tolerations",),
        [
            [],
            [{"operator": "Exists"}],
            [{"key": "a", "operator": "Exists", "value": "b"}],
            [{"key": "a", "value": "b", "effect": "NoExecute", "tolerationSeconds": 5}],
            [{"key": "a", "effect": "Whatever"}],
            [{"operator": "Perhaps", "key": "a"}],
            [{"key": "a", "value": "b", "effect": "NoSchedule", "tolerationSeconds": 5}],
        ],
    ),
    (
        ("topologySpreadConstraints",),
        [
            [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
            [{"maxSkew": 0}],
            [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "Perhaps"}],
        ],
    ),
    (("schedulingGates",), [[{"name": "example.com/gate"}], [{"name": ""}], [{"name": "a"}, {"name": "a"}]]),
    (
        ("affinity",),
        [
            {},
            {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}},
            {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
                        ]
                    }
                }
            },
        ],
    ),
    (
        ("volumes",),
        [
            [{"name": "v", "emptyDir": {}}],
            [{"name": "v"}],
            [{"name": "V"}],
            [{"name": "v", "configMap": {"name": "x"}}],
        ],
    ),
    *[(("containers", 0, *place), values) for place, values in _CONTAINER],
]

_SELECTOR = [
    {"matchLabels": {"app": "web"}},
    {"matchLabels": {"app": "other"}},
    {},
    None,
    {"matchLabels": {"a b": "c"}},
    {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]},
    {"matchExpressions": [{"key": "app", "operator": "In"}]},
    {"matchExpressions": [{"key": "app", "operator": "Is"}]},
    {"matchExpressions": [{"key": "app", "operator": "Exists", "values": ["web"]}]},
]
_BOUND = [0, 1, 3, -1, "50%", "150%", "x", "-5%", "5", None, 1.5]

_WORKLOAD: Table = [
    (("spec", "replicas"), WHOLE),
    (("spec", "minReadySeconds"), WHOLE),
    (("spec", "selector"), _SELECTOR),
    (("spec", "template", "metadata", "labels"), LABELS),
    (("spec", "template", "metadata", "annotations"), [{"again": "yes"}]),
    *[(("spec", "template", "spec", *place), values) for place, values in _POD_SPEC],
]
_DEPLOYMENT: Table = [
    *_WORKLOAD,
    (("spec", "paused"), [True, False, "x"]),
    (("spec", "progressDeadlineSeconds"), WHOLE),
    (("spec", "revisionHistoryLimit"), WHOLE),
    (
        ("spec", "strategy"),
        [
            {"type": "Recreate"},
            {"type": "Recreate", "rollingUpdate": {}},
            {"type": "Perhaps"},
            {"type": "RollingUpdate"},
            {},
            {"rollingUpdate": {"maxSurge": 1}},
        ],
    ),
    (
        ("spec", "strategy", "rollingUpdate"),
        [{"maxUnavailable": bound} for bound in _BOUND]
        + [{"maxSurge": bound} for bound in _BOUND]
        + [{"maxSurge": 0, "maxUnavailable": "0%"}],
    ),
]
_STATEFUL_SET: Table = [
    *_WORKLOAD,
    (("spec", "podManagementPolicy"), ["Parallel", "OrderedReady", "Perhaps", "", None]),
    (("spec", "serviceName"), ["db", "", "_x", 5]),
    (("spec", "ordinals"), [{"start": 2}, {"start": -1}, {}, None]),
    (("spec", "revisionHistoryLimit"), WHOLE),
    (
        ("spec", "updateStrategy"),
        [
            {"type": "OnDelete"},
            {"type": "OnDelete", "rollingUpdate": {"partition": 1}},
            {"type": "Perhaps"},
            {"rollingUpdate": {"partition": 2}},
            {"rollingUpdate": {"partition": -1, "maxUnavailable": 2}},
            {},
        ],
    ),
    (
        ("spec", "persistentVolumeClaimRetentionPolicy"),
        [{"whenScaled": "Delete"}, {"whenDeleted": "Perhaps"}, {}, None],
    ),
]
_DAEMON_SET: Table = [
    *(one for one in _WORKLOAD if one[0] != ("spec", "replicas")),
    (("spec", "revisionHistoryLimit"), WHOLE),
    (("spec", "updateStrategy"), [{"type": "OnDelete"}, {"type": "Perhaps"}, {}, {"type": "RollingUpdate"}]),
    (
        ("spec", "updateStrategy", "rollingUpdate"),
        [{"maxUnavailable": bound} for bound in _BOUND]
        + [{"maxSurge": bound} for bound in _BOUND]
        + [{"maxSurge": 1, "maxUnavailable": "0%"}],
    ),
]
_REVISION: Table = [
    (("revision",), [0, 2, -1, "x", None]),
    (("data",), [{"a": 1}, {}, None, [1], "x"]),
]
_EXTERNAL = {
    "type": "External",
    "external": {"metric": {"name": "q"}, "target": {"type": "Value", "value": "5"}},
}
_AUTOSCALER: Table = [
    (("spec", "minReplicas"), [1, 2, 4, 0, -1, None, "x"]),
    (("spec", "maxReplicas"), [1, 5, 0, -1, None]),
    (("spec", "scaleTargetRef"), [{}, {"kind": "ReplicaSet", "name": "a", "apiVersion": "apps/v1"}]),
    (("spec", "scaleTargetRef", "apiVersion"), ["v1", "", "a/b/c", None]),
    (("spec", "scaleTargetRef", "name"), ["..", "", "other"]),
    (("spec", "metrics"), [[_EXTERNAL], [{"type": "x"}], [], None]),
]
_BUDGET: Table = [
    (("spec", "minAvailable"), _BOUND),
    (("spec", "maxUnavailable"), _BOUND),
    (("spec", "selector"), _SELECTOR),
    (("spec", "unhealthyPodEvictionPolicy"), ["AlwaysAllow", "IfHealthyBudget", "Perhaps", None]),
]
_CONFIG: Table = [
    (("data",), [{"k": "w"}, {"a b": "c"}, {"k": 1}, None, {"..": "x"}]),
    (("binaryData",), [{"b": "aGk="}, {"b": "?"}, {"k": "aGk="}]),
    (("immutable",), [True, False, "x", None]),
]

FIELDS: dict[Kind, Table] = {
    PODS: [*((("spec", *place), values) for place, values in _POD_SPEC), *META],
    DEPLOYMENTS: [*_DEPLOYMENT, *META],
    REPLICASETS: [*_WORKLOAD, *META],
    STATEFULSETS: [*_STATEFUL_SET, *META],
    DAEMONSETS: [*_DAEMON_SET, *META],
    CONTROLLERREVISIONS: [*_REVISION, *META],
    HORIZONTALPODAUTOSCALERS: [*_AUTOSCALER, *META],
    PODDISRUPTIONBUDGETS: [*_BUDGET, *META],
    CONFIGMAPS: [*_CONFIG, *META],
    **CLUSTER_FIELDS,
}
"""By kind: places, and values for each."""

_CONDITIONS = [
    [],
    [{"type": "Ready", "status": "True"}],
    [{"type": "Ready", "status": "Perhaps"}],
    [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    [{"type": "a b", "status": "True"}],
]
_COUNTS: Table = [
    (("status", name), [0, 1, 2, -1, "x"])
    for name in ("replicas", "readyReplicas", "availableReplicas", "observedGeneration")
]
STATUS_FIELDS: dict[Kind, Table] = {
    PODS: [
        (("status", "phase"), ["Running", "Succeeded", "Failed", "Sleeping", ""]),
        (("status", "conditions"), _CONDITIONS),
        (("status", "podIP"), ["10.0.0.1", "x"]),
        (("status", "reason"), ["Because"]),
        (("status", "nominatedNodeName"), ["n1"]),
        (("metadata", "labels"), [{"new": "label"}]),
        (("spec", "nodeName"), ["n2"]),
    ],
    DEPLOYMENTS: [*_COUNTS, (("spec", "replicas"), [5])],
    REPLICASETS: [*_COUNTS, (("metadata", "annotations"), [{"new": "one"}])],
    STATEFULSETS: [*_COUNTS, (("status", "currentReplicas"), [0, 2, -1]), (("spec", "replicas"), [5])],
    DAEMONSETS: [(("status", "numberReady"), [0, 1, -1, "x"]), (("spec", "minReadySeconds"), [5])],
    HORIZONTALPODAUTOSCALERS: [
        (("status", "currentReplicas"), [0, 2, -1, "x"]),
        (("status", "desiredReplicas"), [0, 2, -1]),
        (("spec", "maxReplicas"), [5]),
    ],
    PODDISRUPTIONBUDGETS: [
        (("status", "disruptionsAllowed"), [0, 1, -1, "x"]),
        (("status", "disruptedPods"), [{}, {"a": "2026-01-01T00:00:00Z"}, {"a": "x"}]),
        (("status", "conditions"), _CONDITIONS),
        (("spec", "minAvailable"), [2]),
    ],
    **CLUSTER_STATUS_FIELDS,
}
"""What may be patched into a status, and what must be ignored there."""
