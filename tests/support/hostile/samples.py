"""A valid object of each kind and subresource, for fuzzing to damage."""

from __future__ import annotations

from typing import Any

from vacate.api.kinds import Kind

_POD = {
    "containers": [
        {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}
    ],
    "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute"}],
    "terminationGracePeriodSeconds": 30,
    "priority": 0,
    "nodeSelector": {"a": "b"},
    "activeDeadlineSeconds": 60,
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    ],
}
_SELECTOR = {
    "matchLabels": {"app": "web"},
    "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}],
}
_TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": _POD}
_ENDING = {"metadata": {"labels": {"app": "web"}}, "spec": {**_POD, "restartPolicy": "Never"}}
_RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["endpoints"]}
_SPECS: dict[str, dict[str, Any]] = {
    "validatingadmissionpolicies": {
        "spec": {
            "matchConstraints": {"resourceRules": [_RULE]},
            "matchConditions": [{"name": "named", "expression": "has(object.metadata.name)"}],
            "variables": [{"name": "labels", "expression": "object.metadata.?labels.orValue({})"}],
            "validations": [{"expression": "variables.labels.size() < 9", "messageExpression": "'many'"}],
        }
    },
    "validatingadmissionpolicybindings": {"spec": {"policyName": "p", "validationActions": ["Deny"]}},
    "pods": {
        "spec": _POD,
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    },
    "deployments": {
        "spec": {
            "replicas": 1,
            "selector": _SELECTOR,
            "template": _TEMPLATE,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}},
        }
    },
    "replicasets": {"spec": {"replicas": 1, "selector": _SELECTOR, "template": _TEMPLATE}},
    "statefulsets": {
        "spec": {"replicas": 1, "selector": _SELECTOR, "template": _TEMPLATE, "ordinals": {"start": 1}}
    },
    "horizontalpodautoscalers": {
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 1,
            "maxReplicas": 3,
        },
        "status": {"desiredReplicas": 1, "currentMetrics": None},
    },
    "daemonsets": {"spec": {"selector": _SELECTOR, "template": _TEMPLATE}},
    "jobs": {
        "spec": {
            "parallelism": 1,
            "completions": 1,
            "backoffLimit": 2,
            "activeDeadlineSeconds": 60,
            "ttlSecondsAfterFinished": 60,
            "template": _ENDING,
        },
        "status": {
            "active": 1,
            "ready": 1,
            "startTime": "2026-03-01T11:00:00Z",
            "uncountedTerminatedPods": {"failed": ["a"]},
            "conditions": [{"type": "Suspended", "status": "False"}],
        },
    },
    "controllerrevisions": {"revision": 1, "data": {"spec": {}}},
    "poddisruptionbudgets": {
        "spec": {"minAvailable": "50%", "selector": _SELECTOR, "unhealthyPodEvictionPolicy": "AlwaysAllow"},
        "status": {"disruptionsAllowed": 1, "disruptedPods": {"p": "2026-03-01T11:00:00Z"}},
    },
    "nodes": {
        "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}], "podCIDRs": ["10.0.0.0/24"]},
        "status": {"capacity": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]},
    },
    "configmaps": {"data": {"a": "b"}, "binaryData": {"c": "ZA=="}, "immutable": True},
    "leases": {
        "spec": {
            "holderIdentity": "h",
            "leaseDurationSeconds": 15,
            "renewTime": "2026-03-01T11:00:00.000000Z",
        }
    },
    "priorityclasses": {"value": 10, "globalDefault": False, "preemptionPolicy": "Never"},
    "roles": {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
    "clusterroles": {
        "rules": [{"nonResourceURLs": ["/x"], "verbs": ["get"]}],
        "aggregationRule": {"clusterRoleSelectors": [_SELECTOR]},
    },
    "events": {
        "involvedObject": {"kind": "Pod", "namespace": "d", "name": "p"},
        "reason": "r",
        "message": "m",
        "type": "Normal",
        "lastTimestamp": "2026-03-01T11:00:00Z",
        "count": 1,
        "source": {"component": "c"},
    },
    "subjectaccessreviews": {"spec": {"user": "u", "groups": ["g"], "resourceAttributes": {"verb": "get"}}},
    "selfsubjectaccessreviews": {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}},
    "namespaces": {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}},
}
_BINDING = {
    "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "u"}],
    "roleRef": {"kind": "Role", "apiGroup": "rbac.authorization.k8s.io", "name": "r"},
}


def sample_of(kind: Kind, subresource: str = "") -> dict[str, Any]:
    if subresource == "eviction":
        options = {"gracePeriodSeconds": 5, "preconditions": {"uid": "u"}, "dryRun": ["All"]}
        return {
            "kind": "Eviction",
            "apiVersion": "policy/v1",
            "metadata": {"name": "p"},
            "deleteOptions": options,
        }
    if subresource == "binding":
        return {"kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}
    if subresource == "scale":
        return {"kind": "Scale", "metadata": {"name": "p", "namespace": "d"}, "spec": {"replicas": 3}}
    parts = _SPECS.get(kind.plural) or (_BINDING if kind.plural.endswith("bindings") else {})
    return {
        "kind": kind.kind,
        "apiVersion": kind.api_version,
        "metadata": {"name": "p", "labels": {"app": "web"}, "annotations": {"a": "b"}},
        **parts,
    }


DELETE_OPTIONS = {
    "kind": "DeleteOptions",
    "apiVersion": "v1",
    "gracePeriodSeconds": 5,
    "dryRun": ["All"],
    "preconditions": {"uid": "u", "resourceVersion": "1"},
    "propagationPolicy": "Foreground",
}
