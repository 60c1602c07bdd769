"""Cases of namespaces, nodes, events, config maps, accounts, leases and priority classes."""

# ruff: noqa: E501 - the rows of a table are as long as their messages
from __future__ import annotations

from typing import Any

from embedded.registry.case_types import Broken, BrokenStep, Cases, Done, DoneByStep, Refused
from embedded.registry.cases_metadata import KEY, SUBDOMAIN, VALUE
from embedded.registry.given import CLASSES, context
from vacate.api.kinds import (
    CONFIGMAPS,
    EVENTS,
    LEASES,
    NAMESPACES,
    NODES,
    PRIORITYCLASSES,
    SECRETS,
    SERVICEACCOUNTS,
)

_CONFIG_KEY = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or"
    " 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_NEITHER = "name is neither a standard finalizer name nor is it fully qualified"
_LABEL = "metadata.labels[kubernetes.io/metadata.name]"
_FROZEN = "Forbidden: field is immutable when `immutable` is set"
_TIMED: dict[str, Any] = {
    "eventTime": "2026-08-20T12:00:00.000000Z", "reportingComponent": "a.b/c", "reportingInstance": "i",
    "action": "Kill", "reason": "Because",
}  # fmt: skip
_TAINT = {"key": "a", "value": "b", "effect": "NoSchedule"}
_ADDRESS = {"type": "InternalIP", "address": "10.0.0.1"}

NAMESPACE_CASES: Cases = (
    Done("Namespace/metadata.labels.kubernetes.io/metadata.name/default", NAMESPACES, {}, _LABEL, "shop"),
    DoneByStep("Namespace/status.phase/default", NAMESPACES, {"status": {}}, "status.phase", "Active",
               subresource="status"),
    Done("Namespace/spec.finalizers/set", NAMESPACES, {"spec.finalizers": ["a.b/c"]}, "spec.finalizers",
         ["a.b/c", "kubernetes"]),
    Done("Namespace/status/set", NAMESPACES, {"status": {"phase": "Terminating", "conditions": []}}, "status",
         {"phase": "Active"}),
    DoneByStep("Namespace/spec.finalizers/kept", NAMESPACES, {"spec.finalizers": []}, "spec.finalizers",
               ["kubernetes"]),
    DoneByStep("Namespace/status/kept", NAMESPACES, {"status.phase": "Terminating"}, "status.phase", "Active"),
    DoneByStep("Namespace/spec/kept", NAMESPACES, {"spec.finalizers": []}, "spec.finalizers", ["kubernetes"],
               subresource="status"),
    Broken("Namespace/spec.finalizers/invalid", NAMESPACES, {"spec.finalizers": ["mine"]},
           f'spec.finalizers: Invalid value: "mine": {_NEITHER}'),
    BrokenStep("Namespace/spec.finalizers[]/invalid", NAMESPACES, {"spec.finalizers": ["mine"]},
               f'spec.finalizers[0]: Invalid value: "mine": {_NEITHER}', subresource="finalize"),
)  # fmt: skip

NODE_CASES: Cases = (
    Done("Node/status.allocatable/default", NODES, {}, "status.allocatable", {"cpu": "4"}),
    Done("Node/status.capacity.{}/default", NODES, {"status.capacity.cpu": "0.5"}, "status.capacity.cpu", "500m"),
    Done("Node/spec.configSource/set", NODES, {"spec.configSource": {}}, "spec.configSource", None),
    Done("Node/spec.taints/set", NODES, {}, "spec.taints",
         [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]),
    DoneByStep("Node/status/kept", NODES, {"status.capacity": {}}, "status.capacity", {"cpu": "4"}),
    DoneByStep("Node/spec/kept", NODES, {"spec.unschedulable": True}, "spec.unschedulable", None,
               subresource="status"),
    Broken("Node/metadata.taints[].key/invalid", NODES, {"spec.taints": [{**_TAINT, "key": "-"}]},
           f'metadata.taints[0].key: Invalid value: "-": {KEY}'),
    Broken("Node/metadata.taints[].value/invalid", NODES, {"spec.taints": [{**_TAINT, "value": "!"}]},
           f'metadata.taints[0].value: Invalid value: "!": {VALUE}'),
    Broken("Node/metadata.taints[].effect/required", NODES, {"spec.taints": [{"key": "a"}]},
           "metadata.taints[0].effect: Required value"),
    Broken("Node/metadata.taints[]/duplicate", NODES, {"spec.taints": [_TAINT, {**_TAINT, "value": "c"}]},
           'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"c","Effect":"NoSchedule","TimeAdded":null}:'
           " taints must be unique by key and effect pair"),
    Broken("Node/status.capacity.{}/invalid/sign", NODES,
           {"status.capacity.cpu": "-1", "status.allocatable": {}},
           'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0'),
    Broken("Node/status.capacity.{}/invalid/whole", NODES,
           {"status.capacity.pods": "1500m", "status.allocatable": {}},
           'status.capacity.pods: Invalid value: "1500m": must be an integer'),
    Broken("Node/status.allocatable.{}/invalid", NODES, {"status.allocatable": {"cpu": "-1"}},
           'status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0'),
    BrokenStep("Node/status.addresses[]/duplicate", NODES, {"status.addresses": [_ADDRESS, _ADDRESS]},
               'status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"10.0.0.1"}',
               subresource="status"),
)  # fmt: skip

EVENT_CASES: Cases = (
    Broken("Event/reportingComponent/required", EVENTS, {**_TIMED, "reportingComponent": ""},
           "reportingComponent: Required value"),
    Broken("Event/reportingComponent/invalid", EVENTS, {**_TIMED, "reportingComponent": "-"},
           f'reportingComponent: Invalid value: "-": {KEY}'),
    Broken("Event/reportingInstance/required", EVENTS, {**_TIMED, "reportingInstance": ""},
           "reportingInstance: Required value"),
    Broken("Event/reportingInstance/invalid", EVENTS, {**_TIMED, "reportingInstance": "x" * 129},
           'reportingInstance: Invalid value: "": can have at most 128 characters'),
    Broken("Event/action/required", EVENTS, {**_TIMED, "action": ""}, "action: Required value"),
    Broken("Event/action/invalid", EVENTS, {**_TIMED, "action": "x" * 129},
           'action: Invalid value: "": can have at most 128 characters'),
    Broken("Event/reason/required", EVENTS, {**_TIMED, "reason": ""}, "reason: Required value"),
    Broken("Event/reason/invalid", EVENTS, {**_TIMED, "reason": "x" * 129},
           'reason: Invalid value: "": can have at most 128 characters'),
    Broken("Event/message/invalid", EVENTS, {**_TIMED, "message": "x" * 1025},
           'message: Invalid value: "": can have at most 1024 characters'),
    Broken("Event/namespace/invalid", EVENTS,
           {"metadata.namespace": "Shop", "involvedObject.namespace": "Shop"},
           f'namespace: Invalid value: "Shop": {SUBDOMAIN}'),
)  # fmt: skip

CONFIGMAP_CASES: Cases = (
    Broken("ConfigMap/binaryData[]/invalid", CONFIGMAPS, {"binaryData": {"..": ""}},
           "binaryData[..]: Invalid value: \"..\": must not be '..'"),
    Broken("ConfigMap/too-long/size", CONFIGMAPS, {"data.a": "x" * (1024 * 1024 + 1)},
           ": Too long: may not be more than 1048576 bytes"),
    BrokenStep("ConfigMap/immutable/forbidden", CONFIGMAPS, {"immutable": False}, f"immutable: {_FROZEN}",
               {"immutable": True}),
    BrokenStep("ConfigMap/binaryData/forbidden", CONFIGMAPS, {"binaryData": {"b": "AA=="}},
               f"binaryData: {_FROZEN}", {"immutable": True}),
    Done("Secret/type/set", SECRETS, {}, "type", "Opaque"),
    Done("Secret/stringData/set", SECRETS, {"stringData": {"b": "2"}}, "data", {"a": "MQ==", "b": "Mg=="}),
    Done("Secret/stringData/dropped", SECRETS, {"stringData": {"b": "2"}}, "stringData", None),
    Broken("Secret/data[]/invalid", SECRETS, {"data": {"a/b": ""}},
           f'data[a/b]: Invalid value: "a/b": {_CONFIG_KEY}'),
    Broken("Secret/too-long/size", SECRETS, {"stringData.b": "x" * (1024 * 1024 + 1)},
           "data: Too long: may not be more than 1048576 bytes"),
    BrokenStep("Secret/type/immutable", SECRETS, {"type": "x/y"},
               'type: Invalid value: "x/y": field is immutable', {}),
    BrokenStep("Secret/immutable/forbidden", SECRETS, {"immutable": False}, f"immutable: {_FROZEN}",
               {"immutable": True}),
    BrokenStep("Secret/data/forbidden", SECRETS, {"data.a": "Mg=="}, f"data: {_FROZEN}",
               {"immutable": True}),
    Done("ServiceAccount/secrets[]/set", SERVICEACCOUNTS, {"secrets": [{"name": "s", "namespace": "x"}]},
         "secrets", [{"name": "s"}]),
    DoneByStep("ServiceAccount/secrets[]/set", SERVICEACCOUNTS, {"secrets": [{"name": "s", "kind": "x"}]},
               "secrets", [{"name": "s"}]),
)  # fmt: skip

LEASE_CASES: Cases = (
    Done("Lease/spec.strategy/dropped", LEASES, {"spec.strategy": "x"}, "spec.strategy", None),
    Done("Lease/spec.preferredHolder/dropped", LEASES, {"spec.preferredHolder": "x"}, "spec.preferredHolder", None),
    DoneByStep("Lease/spec.strategy/dropped", LEASES, {"spec.strategy": "x"}, "spec.strategy", None),
    Broken("Lease/spec.leaseTransitions/invalid", LEASES, {"spec.leaseTransitions": -1},
           "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"),
)  # fmt: skip

_RESERVED = "priority class names with 'system-' prefix are reserved for system use only. error: "
PRIORITY_CASES: Cases = (
    Done("PriorityClass/preemptionPolicy/default", PRIORITYCLASSES, {}, "preemptionPolicy",
         "PreemptLowerPriority"),
    Refused("PriorityClass/globalDefault/refused", PRIORITYCLASSES, {"globalDefault": True}, 403,
            'priorityclasses.scheduling.k8s.io "urgent" is forbidden: PriorityClass low is already marked as'
            " default. Only one default can exist", context(default_priority_class=lambda: CLASSES["low"])),
    Broken("PriorityClass/metadata.name/forbidden", PRIORITYCLASSES, {"metadata.name": "system-x"},
           f"metadata.name: Forbidden: {_RESERVED}system-x is not a known system priority class"),
    Broken("PriorityClass/metadata.name/forbidden", PRIORITYCLASSES, {"metadata.name": "system-node-critical"},
           f"metadata.name: Forbidden: {_RESERVED}value of system-node-critical PriorityClass must be 2000001000"),
    Broken("PriorityClass/preemptionPolicy/required", PRIORITYCLASSES, {"preemptionPolicy": ""},
           "preemptionPolicy: Required value"),
    Broken("PriorityClass/preemptionPolicy/unsupported", PRIORITYCLASSES, {"preemptionPolicy": "x"},
           'preemptionPolicy: Unsupported value: "x": supported values: "PreemptLowerPriority", "Never"'),
    BrokenStep("PriorityClass/preemptionPolicy/invalid", PRIORITYCLASSES, {"preemptionPolicy": "Never"},
               'preemptionPolicy: Invalid value: "Never": field is immutable'),
)  # fmt: skip

CASES: Cases = (
    *NAMESPACE_CASES, *NODE_CASES, *EVENT_CASES, *CONFIGMAP_CASES, *LEASE_CASES, *PRIORITY_CASES,
)  # fmt: skip
