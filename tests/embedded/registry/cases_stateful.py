"""Cases of StatefulSets, DaemonSets and ControllerRevisions. The messages are those of a real server."""

# ruff: noqa: E501 - the rows of a table are as long as their messages
from __future__ import annotations

from embedded.registry.case_types import Broken, BrokenStep, Cases, Done, DoneByStep
from embedded.registry.cases_workloads import NEGATIVE
from embedded.registry.given import GONE
from vacate.api.kinds import CONTROLLERREVISIONS, DAEMONSETS, STATEFULSETS

_S, _D, _C = "StatefulSet/", "DaemonSet/", "ControllerRevision/"
_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end"
    " with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_ROLLING = "spec.updateStrategy.rollingUpdate"
_POLICY = "spec.persistentVolumeClaimRetentionPolicy"
_CLAIM = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}

STATEFULSET_CASES: Cases = (
    Done(f"{_S}spec.replicas/default", STATEFULSETS, {}, "spec.replicas", 1),
    Done(f"{_S}spec.podManagementPolicy/default", STATEFULSETS, {}, "spec.podManagementPolicy", "OrderedReady"),
    Done(f"{_S}spec.updateStrategy/default", STATEFULSETS, {}, "spec.updateStrategy",
         {"type": "RollingUpdate", "rollingUpdate": {"partition": 0, "maxUnavailable": 1}}),
    Done(f"{_S}spec.updateStrategy/default", STATEFULSETS, {"spec.updateStrategy.type": "OnDelete"},
         "spec.updateStrategy", {"type": "OnDelete"}),
    Done(f"{_S}spec.revisionHistoryLimit/default", STATEFULSETS, {}, "spec.revisionHistoryLimit", 10),
    Done(f"{_S}{_POLICY}/default", STATEFULSETS, {}, _POLICY, {"whenDeleted": "Retain", "whenScaled": "Retain"}),
    Done(f"{_S}spec.volumeClaimTemplates/default", STATEFULSETS, {"spec.volumeClaimTemplates": [_CLAIM]},
         "spec.volumeClaimTemplates[0]",
         {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
          "spec": {"accessModes": ["ReadWriteOnce"], "resources": {}, "volumeMode": "Filesystem"},
          "status": {"phase": "Pending"}}),
    Done(f"{_S}spec.volumeClaimTemplates/default", STATEFULSETS,
         {"spec.volumeClaimTemplates": [_CLAIM],
          "spec.template.spec.containers[0].volumeMounts": [{"name": "data", "mountPath": "/data"}]},
         "spec.template.spec.containers[0].volumeMounts", [{"name": "data", "mountPath": "/data"}]),
    Done(f"{_S}{_ROLLING}.maxUnavailable/kept", STATEFULSETS, {_ROLLING: {"maxUnavailable": "20%"}}, _ROLLING,
         {"partition": 0, "maxUnavailable": "20%"}),
    Broken(f"{_S}{_ROLLING}.maxUnavailable/invalid", STATEFULSETS, {f"{_ROLLING}.maxUnavailable": -1},
           f"{_ROLLING}.maxUnavailable: Invalid value: -1: {NEGATIVE}"),
    Broken(f"{_S}{_ROLLING}.maxUnavailable/invalid/zero", STATEFULSETS, {f"{_ROLLING}.maxUnavailable": 0},
           f"{_ROLLING}.maxUnavailable: Invalid value: 0: cannot be 0"),
    Broken(f"{_S}{_ROLLING}.maxUnavailable/invalid/hundred", STATEFULSETS, {f"{_ROLLING}.maxUnavailable": "101%"},
           f'{_ROLLING}.maxUnavailable: Invalid value: "101%": must not be greater than 100%'),
    Done(f"{_S}status/dropped", STATEFULSETS, {"status": {"replicas": 3}}, "status",
         {"replicas": 0, "availableReplicas": 0}),
    DoneByStep(f"{_S}metadata.generation/set", STATEFULSETS, {"spec.replicas": 2}, "metadata.generation", 2),
    DoneByStep(f"{_S}metadata.generation/set", STATEFULSETS, {"metadata.annotations": {"a": "b"}},
               "metadata.generation", 1),
    DoneByStep(f"{_S}status/kept", STATEFULSETS, {"status.replicas": 3}, "status.replicas", 0),
    DoneByStep(f"{_S}spec/kept", STATEFULSETS, {"spec.replicas": 3}, "spec.replicas", 1, subresource="status"),
    Broken(f"{_S}metadata.name/invalid", STATEFULSETS, {"metadata.name": "w.x"},
           'metadata.name: Invalid value: "w.x": must not contain dots'),
    Broken(f"{_S}metadata.name/invalid", STATEFULSETS, {"metadata.name": "A"},
           f'metadata.name: Invalid value: "A": {_LABEL}'),
    Broken(f"{_S}spec.podManagementPolicy/invalid", STATEFULSETS, {"spec.podManagementPolicy": "x"},
           "spec.podManagementPolicy: Invalid value: \"x\": must be 'OrderedReady' or 'Parallel'"),
    Broken(f"{_S}spec.updateStrategy/invalid", STATEFULSETS, {"spec.updateStrategy.type": "x"},
           'spec.updateStrategy: Invalid value: {"Type":"x","RollingUpdate":null}:'
           " must be 'RollingUpdate' or 'OnDelete'"),
    Broken(f"{_S}{_ROLLING}/invalid", STATEFULSETS,
           {"spec.updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}},
           f'{_ROLLING}: Invalid value: {{"Partition":1,"MaxUnavailable":null}}:'
           " only allowed for updateStrategy 'RollingUpdate'"),
    Broken(f"{_S}{_ROLLING}.partition/invalid", STATEFULSETS, {f"{_ROLLING}.partition": -1},
           f"{_ROLLING}.partition: Invalid value: -1: {NEGATIVE}"),
    *(Broken(f"{_S}{_POLICY}.{key}/unsupported", STATEFULSETS, {f"{_POLICY}.{key}": "x"},
             f'{_POLICY}.{key}: Unsupported value: "x": supported values: "Retain", "Delete"')
      for key in ("whenDeleted", "whenScaled")),
    *(Broken(f"{_S}{path}/invalid", STATEFULSETS, {path: -1}, f"{path}: Invalid value: -1: {NEGATIVE}")
      for path in ("spec.replicas", "spec.minReadySeconds", "spec.ordinals.start")),
    Broken(f"{_S}spec.serviceName/invalid", STATEFULSETS, {"spec.serviceName": "_x"},
           f'spec.serviceName: Invalid value: "_x": {_LABEL}'),
    Broken(f"{_S}spec.selector/required", STATEFULSETS, {"spec.selector": GONE}, "spec.selector: Required value"),
    Broken(f"{_S}spec.selector/invalid/empty", STATEFULSETS, {"spec.selector": {}},
           "spec.selector: Invalid value: {}: empty selector is invalid for statefulset"),
    Broken(f"{_S}spec.selector/invalid/unreadable", STATEFULSETS,
           {"spec.selector": {"matchExpressions": [{"key": "a", "operator": "?"}]}},
           'spec.selector: Invalid value: {"matchExpressions":[{"key":"a","operator":"?"}]}'),
    Broken(f"{_S}spec.template.spec.activeDeadlineSeconds/forbidden", STATEFULSETS,
           {"spec.template.spec.activeDeadlineSeconds": 5},
           "spec.template.spec.activeDeadlineSeconds: Forbidden:"
           " activeDeadlineSeconds in StatefulSet is not Supported"),
    BrokenStep(f"{_S}spec.serviceName/immutable", STATEFULSETS, {"spec.serviceName": "x"},
               'spec.serviceName: Invalid value: "x": field is immutable'),
    BrokenStep(f"{_S}spec.podManagementPolicy/immutable", STATEFULSETS, {"spec.podManagementPolicy": "Parallel"},
               'spec.podManagementPolicy: Invalid value: "Parallel": field is immutable'),
    BrokenStep(f"{_S}status.replicas/invalid", STATEFULSETS, {"status.replicas": -1},
               f"status.replicas: Invalid value: -1: {NEGATIVE}", subresource="status"),
    BrokenStep(f"{_S}status.readyReplicas/invalid", STATEFULSETS, {"status.readyReplicas": 1},
               "status.readyReplicas: Invalid value: 1: cannot be greater than status.replicas", subresource="status"),
    BrokenStep(f"{_S}status.availableReplicas/invalid", STATEFULSETS, {"status.availableReplicas": 1},
               "status.availableReplicas: Invalid value: 1: cannot be greater than readyReplicas",
               {"status.replicas": 2}, "status"),
    BrokenStep(f"{_S}status.collisionCount/invalid", STATEFULSETS, {"status.collisionCount": 1},
               "status.collisionCount: Invalid value: 1: cannot be decremented", {"status.collisionCount": 2},
               "status"),
)  # fmt: skip

DAEMONSET_CASES: Cases = (
    Done(f"{_D}spec.updateStrategy/default", DAEMONSETS, {}, "spec.updateStrategy",
         {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}),
    Done(f"{_D}spec.revisionHistoryLimit/default", DAEMONSETS, {}, "spec.revisionHistoryLimit", 10),
    Done(f"{_D}status/dropped", DAEMONSETS, {"status": {"numberReady": 3}}, "status.numberReady", 0),
    Done(f"{_D}metadata.annotations/set", DAEMONSETS, {}, "metadata.annotations",
         {"deprecated.daemonset.template.generation": "1"}),
    DoneByStep(f"{_D}metadata.annotations/set", DAEMONSETS, {"spec.template.metadata.annotations": {"a": "b"}},
               "metadata.annotations", {"deprecated.daemonset.template.generation": "2"}),
    DoneByStep(f"{_D}metadata.annotations/set", DAEMONSETS, {"spec.minReadySeconds": 4},
               "metadata.annotations", {"deprecated.daemonset.template.generation": "1"}),
    DoneByStep(f"{_D}metadata.generation/set", DAEMONSETS, {"spec.minReadySeconds": 4}, "metadata.generation", 2),
    DoneByStep(f"{_D}metadata.generation/set", DAEMONSETS, {"metadata.labels": {"a": "b"}},
               "metadata.generation", 1),
    DoneByStep(f"{_D}status/kept", DAEMONSETS, {"status.numberReady": 3}, "status.numberReady", 0),
    DoneByStep(f"{_D}spec/kept", DAEMONSETS, {"spec.minReadySeconds": 3}, "spec.minReadySeconds", None,
               subresource="status"),
    Broken(f"{_D}spec.updateStrategy/unsupported", DAEMONSETS, {"spec.updateStrategy.type": "x"},
           'spec.updateStrategy: Unsupported value: {"Type":"x","RollingUpdate":null}:'
           ' supported values: "RollingUpdate", "OnDelete"'),
    Broken(f"{_D}{_ROLLING}.maxUnavailable/invalid", DAEMONSETS, {f"{_ROLLING}.maxUnavailable": -1},
           f"{_ROLLING}.maxUnavailable: Invalid value: -1: {NEGATIVE}"),
    Broken(f"{_D}{_ROLLING}.maxUnavailable/invalid/hundred", DAEMONSETS, {f"{_ROLLING}.maxUnavailable": "101%"},
           f'{_ROLLING}.maxUnavailable: Invalid value: "101%": must not be greater than 100%'),
    Broken(f"{_D}{_ROLLING}.maxUnavailable/required", DAEMONSETS, {f"{_ROLLING}.maxUnavailable": 0},
           f"{_ROLLING}.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"),
    Broken(f"{_D}{_ROLLING}.maxSurge/invalid", DAEMONSETS, {_ROLLING: {"maxSurge": -1, "maxUnavailable": 0}},
           f"{_ROLLING}.maxSurge: Invalid value: -1: {NEGATIVE}"),
    Broken(f"{_D}{_ROLLING}.maxSurge/invalid/both", DAEMONSETS, {f"{_ROLLING}.maxSurge": 1},
           f"{_ROLLING}.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero"),
    *(Broken(f"{_D}{path}/invalid", DAEMONSETS, {path: -1}, f"{path}: Invalid value: -1: {NEGATIVE}")
      for path in ("spec.minReadySeconds", "spec.revisionHistoryLimit")),
    Broken(f"{_D}spec.selector/invalid/empty", DAEMONSETS, {"spec.selector": {}},
           "spec.selector: Invalid value: {}: empty selector is invalid for daemonset"),
    BrokenStep(f"{_D}spec.selector/invalid/fixed", DAEMONSETS,
               {"spec.selector.matchLabels.b": "c", "spec.template.metadata.labels.b": "c"},
               'spec.selector: Invalid value: {"matchLabels":{"app":"web","b":"c"}}: field is immutable'),
    Broken(f"{_D}spec.template.spec.activeDeadlineSeconds/forbidden", DAEMONSETS,
           {"spec.template.spec.activeDeadlineSeconds": 5},
           "spec.template.spec.activeDeadlineSeconds: Forbidden:"
           " activeDeadlineSeconds in DaemonSet is not Supported"),
    BrokenStep(f"{_D}status.numberReady/invalid", DAEMONSETS, {"status.numberReady": -1},
               f"status.numberReady: Invalid value: -1: {NEGATIVE}", subresource="status"),
    BrokenStep(f"{_D}status.collisionCount/invalid", DAEMONSETS, {"status.collisionCount": 1},
               "status.collisionCount: Invalid value: 1: cannot be decremented", {"status.collisionCount": 2},
               "status"),
)  # fmt: skip

REVISION_CASES: Cases = (
    Broken(f"{_C}revision/invalid", CONTROLLERREVISIONS, {"revision": -1},
           f"revision: Invalid value: -1: {NEGATIVE}"),
    Broken(f"{_C}data/required", CONTROLLERREVISIONS, {"data": GONE}, "data: Required value: data is mandatory"),
    Broken(f"{_C}data/required", CONTROLLERREVISIONS, {"data": [1]},
           "data: Required value: data must be a valid JSON object"),
    BrokenStep(f"{_C}data/invalid", CONTROLLERREVISIONS, {"data": {"a": 2}},
               'data: Invalid value: {"a":2}: field is immutable'),
)  # fmt: skip

CASES: Cases = (*STATEFULSET_CASES, *DAEMONSET_CASES, *REVISION_CASES)
