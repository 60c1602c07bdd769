from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from vacate.api import kinds
from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.embedded.apiserver.printers import table_of
from vacate.embedded.apiserver.printers.registry import PRINTERS
from vacate.embedded.registry.kinds import SERVED_KINDS

pytestmark = pytest.mark.unit

NOW = dt.datetime(2024, 1, 3, tzinfo=dt.UTC)
META = {"name": "x", "creationTimestamp": "2024-01-01T00:00:00Z"}
STORED = [kind for kind in SERVED_KINDS if kind.stored]

# Name, type, format and priority of each column, as `kubectl get -o wide` shows them.
COLUMNS = {
    kinds.PODS: "Name:name Ready Status Restarts Age IP* Node* Nominated_Node* Readiness_Gates*",
    kinds.NODES: "Name:name Status Roles Age Version Internal-IP* External-IP* OS-Image* Kernel-Version* "
    "Container-Runtime*",
    kinds.EVENTS: "Last_Seen Type Reason Object Subobject* Source* Message First_Seen* Count* Name:name*",
    kinds.NAMESPACES: "Name:name Status Age",
    kinds.CONFIGMAPS: "Name:name Data Age",
    kinds.SECRETS: "Name:name Type Data Age",
    kinds.SERVICEACCOUNTS: "Name:name Age",
    kinds.LEASES: "Name:name Holder Age",
    kinds.DEPLOYMENTS: "Name:name Ready Up-to-date Available Age Containers* Images* Selector*",
    kinds.REPLICASETS: "Name:name Desired=integer Current=integer Ready=integer Age Containers* Images* "
    "Selector*",
    kinds.VALIDATINGADMISSIONPOLICIES: "Name:name Validations=integer ParamKind Age",
    kinds.VALIDATINGADMISSIONPOLICYBINDINGS: "Name:name PolicyName ParamRef Age",
    kinds.STATEFULSETS: "Name:name Ready Age Containers* Images*",
    kinds.DAEMONSETS: "Name:name Desired=integer Current=integer Ready=integer Up-to-date=integer "
    "Available=integer Node_Selector Age Containers* Images* Selector*",
    kinds.CONTROLLERREVISIONS: "Name:name Controller Revision=integer Age",
    kinds.JOBS: "Name:name Status Completions Duration Age Containers* Images* Selector*",
    kinds.CRONJOBS: "Name:name Schedule Timezone Suspend Active=integer Last_Schedule Age Containers* "
    "Images* Selector*",
    kinds.PODTEMPLATES: "Name:name Containers Images Pod_Labels",
    kinds.HORIZONTALPODAUTOSCALERS: "Name:name Reference Targets MinPods MaxPods Replicas Age",
    kinds.PODDISRUPTIONBUDGETS: "Name:name Min_Available Max_Unavailable Allowed_Disruptions=integer Age",
    kinds.PERSISTENTVOLUMES: "Name:name Capacity Access_Modes Reclaim_Policy Status Claim StorageClass "
    "VolumeAttributesClass Reason Age VolumeMode*",
    kinds.PERSISTENTVOLUMECLAIMS: "Name:name Status Volume Capacity Access_Modes StorageClass "
    "VolumeAttributesClass Age VolumeMode*",
    kinds.STORAGECLASSES: "Name:name Provisioner ReclaimPolicy VolumeBindingMode AllowVolumeExpansion Age",
    kinds.PRIORITYCLASSES: "Name:name Value=integer Global-Default=boolean Age PreemptionPolicy",
    kinds.ROLES: "Name:name Created_At=date",
    kinds.CLUSTERROLES: "Name:name Created_At=date",
    kinds.ROLEBINDINGS: "Name:name Role Age Users* Groups* ServiceAccounts*",
    kinds.CLUSTERROLEBINDINGS: "Name:name Role Age Users* Groups* ServiceAccounts*",
    kinds.DESCHEDULINGPOLICIES: (
        "Name:name Mode Violations=integer Requested=integer Waiting=integer Nowhere=integer Message* "
        "Age=date"
    ),
    kinds.NODEMAINTENANCES: (
        "Name:name Phase Nodes=integer Drained=integer Percent=integer Blockers=integer Expected_Finish "
        "Reason* Age=date"
    ),
    kinds.FENCINGPOLICIES: (
        "Name:name Unreachable=integer Fenced=integer Failing Approval Message* Age=date"
    ),
    kinds.LIFECYCLE_REQUESTS: "Name:name Target Target_Type Status Requester Intent Age",
    kinds.LIFECYCLE_EVICTIONS: (
        "Name:name Target Target_Type Status Active_Responder Responder_Status Responder_Expected_Finish "
        "Requesters Age Responder_Heartbeat* Responder_Status_Message*"
    ),
    kinds.EVACUATIONS: "Name:name Pod Stage Evacuator Expected_Finish Failed_Evictions=integer Age=date",
    kinds.EVICTIONREQUESTS: (
        "Name:name Pod Stage Interceptor Expected_Finish Failed_Evictions=integer Age=date"
    ),
}


def shown(column: Obj) -> str:
    text = str(column["name"]).replace(" ", "_")
    text += f":{column['format']}" if column["format"] else ""
    text += f"={column['type']}" if column["type"] != "string" else ""
    return text + ("*" if column["priority"] else "")


@pytest.mark.parametrize("kind", STORED, ids=lambda kind: kind.plural)
def test_columns(kind: Kind) -> None:
    assert kind.resource in PRINTERS
    definitions = table_of(kind, [], NOW)["columnDefinitions"]
    assert " ".join(map(shown, definitions)) == COLUMNS[kind]
    assert all(column["description"].endswith(".") for column in definitions)
    assert all(column["priority"] in (0, 1) for column in definitions)


@pytest.mark.parametrize("kind", STORED, ids=lambda kind: kind.plural)
def test_every_row_has_a_cell_for_each_column_even_of_a_bare_object(kind: Kind) -> None:
    table = table_of(kind, [{"metadata": dict(META)}], NOW)
    assert len(table["rows"][0]["cells"]) == len(table["columnDefinitions"])


TEMPLATE = {"spec": {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:2"}]}}
SELECTOR = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "t", "operator": "Exists"}]}
BAD_SELECTOR = {"matchExpressions": [{"key": "t", "operator": "Near"}]}
SUBJECTS = [
    {"kind": "User", "name": "u1"},
    {"kind": "User", "name": "u2"},
    {"kind": "Group", "name": "g"},
    {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
]
INFO = {
    "kubeletVersion": "v1.36.0", "osImage": "Linux", "kernelVersion": "6.1", "architecture": "amd64",
    "containerRuntimeVersion": "containerd://2",
}  # fmt: skip
ADDRESSES = [{"type": "Hostname", "address": "h"}, {"type": "InternalIP", "address": "10.0.0.1"}]
UNKNOWN_NODE = ["", "<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"]


def ready(status: str) -> Obj:
    return {
        "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": status}]
    }


def roles(**more: str) -> Obj:
    labels = {f"node-role.kubernetes.io/{name}": "" for name in ("worker", "control-plane", "")}
    return {**META, "labels": labels | {"kubernetes.io/role": "edge"} | more}


ROWS: list[tuple[Kind, Obj, list[Any]]] = [
    (kinds.NODES, {"status": {**ready("True"), "nodeInfo": INFO, "addresses": ADDRESSES}},
     ["x", "Ready", "<none>", "2d", "v1.36.0", "10.0.0.1", "<none>", "Linux", "6.1 (amd64)",
      "containerd://2"]),
    (kinds.NODES, {"status": ready("Unknown"), "spec": {"unschedulable": True}, "metadata": roles()},
     ["x", "NotReady,SchedulingDisabled", "control-plane,edge,worker", "2d", *UNKNOWN_NODE]),
    (kinds.NODES, {"metadata": {"name": "x"}}, ["x", "Unknown", "<none>", "<unknown>", *UNKNOWN_NODE]),
    (kinds.NAMESPACES, {"status": {"phase": "Active"}}, ["x", "Active", "2d"]),
    (kinds.CONFIGMAPS, {"data": {"a": "b"}, "binaryData": {"c": ""}}, ["x", 2, "2d"]),
    (kinds.SECRETS, {"type": "Opaque", "data": {"a": ""}}, ["x", "Opaque", 1, "2d"]),
    (kinds.SERVICEACCOUNTS, {}, ["x", "2d"]),
    (kinds.LEASES, {"spec": {"holderIdentity": "me"}}, ["x", "me", "2d"]),
    (kinds.DEPLOYMENTS,
     {"spec": {"replicas": 3, "selector": SELECTOR, "template": TEMPLATE},
      "status": {"readyReplicas": 2, "updatedReplicas": 1, "availableReplicas": 2}},
     ["x", "2/3", 1, 2, "2d", "a,b", "a:1,b:2", "app=web,t"]),
    (kinds.DEPLOYMENTS, {"spec": {"replicas": 0, "selector": BAD_SELECTOR}},
     ["x", "0/0", 0, 0, "2d", "", "", "<invalid>"]),
    (kinds.REPLICASETS,
     {"spec": {"replicas": 3, "selector": SELECTOR, "template": TEMPLATE},
      "status": {"replicas": 2, "readyReplicas": 1}},
     ["x", 3, 2, 1, "2d", "a,b", "a:1,b:2", "app=web,t"]),
    (kinds.REPLICASETS, {"spec": {"replicas": 0, "selector": {}}}, ["x", 0, 0, 0, "2d", "", "", "<none>"]),
    (kinds.REPLICASETS, {"spec": {"replicas": 0, "selector": BAD_SELECTOR}},
     ["x", 0, 0, 0, "2d", "", "", "<error>"]),
    (kinds.STATEFULSETS, {"spec": {"replicas": 3, "template": TEMPLATE}, "status": {"readyReplicas": 2}},
     ["x", "2/3", "2d", "a,b", "a:1,b:2"]),
    (kinds.DAEMONSETS,
     {"spec": {"selector": SELECTOR, "template": {"spec": {"nodeSelector": {"b": "c", "a": "b"}}}},
      "status": {"desiredNumberScheduled": 5, "currentNumberScheduled": 4, "numberReady": 3,
                 "updatedNumberScheduled": 2, "numberAvailable": 1}},
     ["x", 5, 4, 3, 2, 1, "a=b,b=c", "2d", "", "", "app=web,t"]),
    (kinds.JOBS,
     {"spec": {"completions": 3, "selector": SELECTOR, "template": TEMPLATE},
      "status": {"succeeded": 1, "startTime": "2024-01-02T23:59:00Z"}},
     ["x", "Running", "1/3", "60s", "2d", "a,b", "a:1,b:2", "app=web,t"]),
    (kinds.JOBS,
     {"spec": {"parallelism": 2},
      "status": {"succeeded": 1, "startTime": "2024-01-01T00:00:00Z",
                 "completionTime": "2024-01-01T00:00:05Z",
                 "conditions": [{"type": "SuccessCriteriaMet", "status": "True"},
                                {"type": "Complete", "status": "True"}]}},
     ["x", "Complete", "1/1 of 2", "5s", "2d", "", "", ""]),
    (kinds.CRONJOBS,
     {"spec": {"schedule": "0 3 * * *", "suspend": True, "jobTemplate": {"spec": {"template": TEMPLATE}}}},
     ["x", "0 3 * * *", "<none>", "True", 0, "<none>", "2d", "a,b", "a:1,b:2", "<none>"]),
    (kinds.PODTEMPLATES, {"template": {**TEMPLATE, "metadata": {"labels": {"b": "c", "a": "b"}}}},
     ["x", "a,b", "a:1,b:2", "a=b,b=c"]),
    (kinds.CONTROLLERREVISIONS, {"revision": 3}, ["x", "<none>", 3, "2d"]),
    (kinds.CONTROLLERREVISIONS,
     {"revision": 3, "metadata": {**META, "ownerReferences": [
         {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "controller": True}]}},
     ["x", "statefulset.apps/db", 3, "2d"]),
    (kinds.HORIZONTALPODAUTOSCALERS,
     {"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "minReplicas": 2, "maxReplicas": 9,
               "metrics": [{"type": "Resource", "resource": {
                   "name": "cpu", "target": {"averageUtilization": 80}}}]},
      "status": {"currentReplicas": 3}},
     ["x", "Deployment/web", "cpu: <unknown>/80%", "2", 9, 3, "2d"]),
    (kinds.HORIZONTALPODAUTOSCALERS,
     {"spec": {"metrics": [{"type": "External", "external": {"target": {"averageValue": "10"}}},
                           {"type": "External", "external": {"target": {"value": "7"}}},
                           {"type": "Pods", "pods": {"target": {"averageValue": "1"}}}]},
      "status": {"currentMetrics": [{"external": {"current": {"averageValue": "1500m"}}},
                                    {"external": {"current": {"value": "5"}}}]}},
     ["x", "/", "1500m/10 (avg), 5/7 + 1 more...", "<unset>", 0, 0, "2d"]),
    (kinds.PODDISRUPTIONBUDGETS, {"spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 1}},
     ["x", "50%", "N/A", 1, "2d"]),
    (kinds.PODDISRUPTIONBUDGETS, {"spec": {"maxUnavailable": 0}}, ["x", "N/A", "0", 0, "2d"]),
    (kinds.PRIORITYCLASSES, {"value": 1000, "globalDefault": True, "preemptionPolicy": "Never"},
     ["x", 1000, True, "2d", "Never"]),
    (kinds.PRIORITYCLASSES, {"value": -5}, ["x", -5, False, "2d", ""]),
    (kinds.ROLES, {}, ["x", "2024-01-01T00:00:00Z"]),
    (kinds.ROLEBINDINGS, {"roleRef": {"kind": "Role", "name": "r"}, "subjects": SUBJECTS},
     ["x", "Role/r", "2d", "u1, u2", "g", "n/s"]),
    (kinds.CLUSTERROLEBINDINGS, {"roleRef": {"kind": "ClusterRole", "name": "r"}},
     ["x", "ClusterRole/r", "2d", "", "", ""]),
    (kinds.EVENTS,
     {"type": "Normal", "reason": "Killing", "message": " Stopping \n", "count": 3,
      "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec.containers{c}"},
      "source": {"component": "kubelet", "host": "n1"},
      "firstTimestamp": "2024-01-02T00:00:00Z", "lastTimestamp": "2024-01-02T23:59:00Z"},
     ["60s", "Normal", "Killing", "pod/p", "spec.containers{c}", "kubelet, n1", "Stopping", "24h", 3, "x"]),
    (kinds.EVENTS,
     {"type": "Warning", "eventTime": "2024-01-02T23:00:00.000000Z", "involvedObject": {"kind": "Node"},
      "reportingComponent": "vacate"},
     ["60m", "Warning", "", "node", "", "vacate", "", "60m", 1, "x"]),
    (kinds.EVENTS,
     {"eventTime": "2024-01-02T23:00:00.000000Z",
      "series": {"count": 7, "lastObservedTime": "2024-01-02T23:59:30.000000Z"}},
     ["30s", "", "", "", "", "", "", "60m", 7, "x"]),
    (kinds.EVENTS, {}, ["<unknown>", "", "", "", "", "", "", "<unknown>", 1, "x"]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "fields", "cells"), ROWS)
def test_cells(kind: Kind, fields: Obj, cells: list[Any]) -> None:
    assert table_of(kind, [{"metadata": META, **fields}], NOW)["rows"][0]["cells"] == cells


def test_rows_carry_what_was_asked_for_of_their_objects() -> None:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": META, "data": {"a": "b"}}
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": META}
    for include, expected in {"None": None, "Metadata": partial, "Object": obj}.items():
        row = table_of(kinds.CONFIGMAPS, [obj], NOW, include=include)["rows"][0]
        assert row["object"] == expected
    beta = table_of(kinds.CONFIGMAPS, [obj], NOW, version="v1beta1")
    assert beta["apiVersion"] == beta["rows"][0]["object"]["apiVersion"] == "meta.k8s.io/v1beta1"


def test_the_envelope() -> None:
    meta = {"resourceVersion": "7", "continue": "x", "remainingItemCount": 3}
    table = table_of(kinds.CONFIGMAPS, [], NOW, include="None", list_meta=meta)
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert table["metadata"] == meta
    assert table["rows"] == []
    assert table_of(kinds.CONFIGMAPS, [], NOW, headers=False)["columnDefinitions"] is None


def test_a_kind_without_a_printer_shows_its_name_and_when_it_was_made() -> None:
    kind = Kind("example.com", "v1", "Thing", "things", "thing", namespaced=True)
    table = table_of(kind, [{"metadata": META}], NOW)
    assert table["rows"][0]["cells"] == ["x", "2024-01-01T00:00:00Z"]
