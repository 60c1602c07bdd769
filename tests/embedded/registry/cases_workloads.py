"""Cases of Deployments, ReplicaSets, their templates, and disruption budgets."""

# ruff: noqa: E501 - the rows of a table are as long as their messages
from __future__ import annotations

from typing import Any

from embedded.registry.case_types import Broken, BrokenStep, Cases, Done, DoneByStep
from embedded.registry.cases_metadata import KEY, VALUE
from embedded.registry.given import GONE
from vacate.api.kinds import DEPLOYMENTS, PODDISRUPTIONBUDGETS, REPLICASETS

_D, _R, _T, _P = "Deployment/", "ReplicaSet/", "Deployment-and-ReplicaSet/", "PodDisruptionBudget/"
NEGATIVE = "must be greater than or equal to 0"
_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex"
    " used for validation is '[0-9]+%')"
)
_ROLLING = "spec.strategy.rollingUpdate"
_TOO_MANY = "cannot be greater than status.replicas"
_CONDITION: dict[str, Any] = {
    "type": "DisruptionAllowed", "status": "True", "reason": "SufficientPods",
    "lastTransitionTime": "2026-08-20T12:00:00Z",
}  # fmt: skip
_REASON = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric"
    " characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',"
    "  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is"
    " '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"
)

DEPLOYMENT_CASES: Cases = (
    Done(f"{_D}spec.replicas/default", DEPLOYMENTS, {}, "spec.replicas", 1),
    Done(f"{_D}spec.strategy/default", DEPLOYMENTS, {}, "spec.strategy",
         {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}),
    Done(f"{_D}spec.revisionHistoryLimit/default", DEPLOYMENTS, {}, "spec.revisionHistoryLimit", 10),
    Done(f"{_D}spec.progressDeadlineSeconds/default", DEPLOYMENTS, {}, "spec.progressDeadlineSeconds", 600),
    Done(f"{_D}status/dropped", DEPLOYMENTS, {"status": {"replicas": 3}}, "status", {}),
    DoneByStep(f"{_D}metadata.generation/set", DEPLOYMENTS, {"spec.replicas": 2}, "metadata.generation", 2),
    DoneByStep(f"{_D}metadata.generation/set", DEPLOYMENTS, {"metadata.annotations": {"a": "b"}},
               "metadata.generation", 2),
    DoneByStep(f"{_D}metadata.generation/set", DEPLOYMENTS, {"metadata.labels": {"a": "b"}},
               "metadata.generation", 1),
    DoneByStep(f"{_D}status/kept", DEPLOYMENTS, {"status.replicas": 3}, "status", {}),
    DoneByStep(f"{_D}spec/kept", DEPLOYMENTS, {"spec.replicas": 3}, "spec.replicas", 1, subresource="status"),
    DoneByStep(f"{_D}metadata.labels/kept", DEPLOYMENTS, {"metadata.labels": {"a": "b"}}, "metadata.labels",
               None, subresource="status"),
    Broken(f"{_D}spec.strategy/unsupported", DEPLOYMENTS, {"spec.strategy.type": "x"},
           'spec.strategy: Unsupported value: {"Type":"x","RollingUpdate":null}:'
           ' supported values: "Recreate", "RollingUpdate"'),
    Broken(f"{_D}{_ROLLING}/forbidden", DEPLOYMENTS, {"spec.strategy": {"type": "Recreate", "rollingUpdate": {}}},
           f"{_ROLLING}: Forbidden: may not be specified when strategy `type` is 'Recreate'"),
    Broken(f"{_D}{_ROLLING}.maxUnavailable/invalid", DEPLOYMENTS, {f"{_ROLLING}.maxUnavailable": "x"},
           f'{_ROLLING}.maxUnavailable: Invalid value: "x": {_PERCENT}'),
    Broken(f"{_D}{_ROLLING}.maxSurge/invalid", DEPLOYMENTS, {f"{_ROLLING}.maxSurge": -1},
           f"{_ROLLING}.maxSurge: Invalid value: -1: {NEGATIVE}"),
    Broken(f"{_D}{_ROLLING}.maxUnavailable/invalid/both", DEPLOYMENTS,
           {f"{_ROLLING}.maxSurge": 0, f"{_ROLLING}.maxUnavailable": "0%"},
           f'{_ROLLING}.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0'),
    Broken(f"{_D}{_ROLLING}.maxUnavailable/invalid/hundred", DEPLOYMENTS, {f"{_ROLLING}.maxUnavailable": "101%"},
           f'{_ROLLING}.maxUnavailable: Invalid value: "101%": must not be greater than 100%'),
    Broken(f"{_D}spec.minReadySeconds/invalid", DEPLOYMENTS, {"spec.minReadySeconds": -1},
           f"spec.minReadySeconds: Invalid value: -1: {NEGATIVE}"),
    Broken(f"{_D}spec.revisionHistoryLimit/invalid", DEPLOYMENTS, {"spec.revisionHistoryLimit": -1},
           f"spec.revisionHistoryLimit: Invalid value: -1: {NEGATIVE}"),
    Broken(f"{_D}spec.progressDeadlineSeconds/invalid", DEPLOYMENTS, {"spec.progressDeadlineSeconds": -1},
           f"spec.progressDeadlineSeconds: Invalid value: -1: {NEGATIVE}"),
    Broken(f"{_D}spec.progressDeadlineSeconds/invalid/ready", DEPLOYMENTS, {"spec.minReadySeconds": 600},
           "spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"),
    BrokenStep(f"{_D}status.replicas/invalid", DEPLOYMENTS, {"status.replicas": -1},
               f"status.replicas: Invalid value: -1: {NEGATIVE}", subresource="status"),
    BrokenStep(f"{_D}status.updatedReplicas/invalid", DEPLOYMENTS, {"status.updatedReplicas": 1},
               f"status.updatedReplicas: Invalid value: 1: {_TOO_MANY}", subresource="status"),
    BrokenStep(f"{_D}status.availableReplicas/invalid", DEPLOYMENTS,
               {"status": {"replicas": 2, "availableReplicas": 1}},
               "status.availableReplicas: Invalid value: 1: cannot be greater than readyReplicas",
               subresource="status"),
    BrokenStep(f"{_D}status.collisionCount/invalid", DEPLOYMENTS, {"status.collisionCount": 1},
               "status.collisionCount: Invalid value: 1: cannot be decremented", {"status.collisionCount": 2},
               "status"),
)  # fmt: skip

TEMPLATE_CASES: Cases = (
    Broken(f"{_T}spec.selector/required", REPLICASETS, {"spec.selector": GONE}, "spec.selector: Required value"),
    Broken(f"{_T}spec.selector.matchLabels/invalid", DEPLOYMENTS, {"spec.selector.matchLabels.app": "!"},
           f'spec.selector.matchLabels: Invalid value: "!": {VALUE}'),
    Broken(f"{_T}spec.template.labels/invalid", DEPLOYMENTS, {"spec.template.metadata.labels.b": "!"},
           f'spec.template.labels: Invalid value: "!": {VALUE}'),
    Broken(f"{_T}spec.template.annotations/invalid", DEPLOYMENTS, {"spec.template.metadata.annotations": {"-": ""}},
           f'spec.template.annotations: Invalid value: "-": {KEY}'),
    Broken(f"{_T}spec.template.spec.activeDeadlineSeconds/forbidden", REPLICASETS,
           {"spec.template.spec.activeDeadlineSeconds": 5},
           "spec.template.spec.activeDeadlineSeconds: Forbidden:"
           " activeDeadlineSeconds in ReplicaSet is not Supported"),
)  # fmt: skip

REPLICASET_CASES: Cases = (
    Done(f"{_R}spec.replicas/default", REPLICASETS, {}, "spec.replicas", 1),
    Done(f"{_R}status/dropped", REPLICASETS, {"status": {"replicas": 3}}, "status", {"replicas": 0}),
    DoneByStep(f"{_R}metadata.generation/set", REPLICASETS, {"spec.replicas": 2}, "metadata.generation", 2),
    DoneByStep(f"{_R}metadata.generation/set", REPLICASETS, {"metadata.annotations": {"a": "b"}},
               "metadata.generation", 1),
    DoneByStep(f"{_R}status/kept", REPLICASETS, {"status.replicas": 3}, "status.replicas", 0),
    DoneByStep(f"{_R}spec/kept", REPLICASETS, {"spec.replicas": 3}, "spec.replicas", 1, subresource="status"),
    Broken(f"{_R}spec.replicas/invalid", REPLICASETS, {"spec.replicas": -1},
           f"spec.replicas: Invalid value: -1: {NEGATIVE}"),
    Broken(f"{_R}spec.minReadySeconds/invalid", REPLICASETS, {"spec.minReadySeconds": -1},
           f"spec.minReadySeconds: Invalid value: -1: {NEGATIVE}"),
    BrokenStep(f"{_R}status.replicas/invalid", REPLICASETS, {"status.replicas": -1},
               f"status.replicas: Invalid value: -1: {NEGATIVE}", subresource="status"),
    *(BrokenStep(f"{_R}status.{key}/invalid", REPLICASETS, {f"status.{key}": 1},
                 f"status.{key}: Invalid value: 1: {_TOO_MANY}", subresource="status")
      for key in ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")),
    BrokenStep(f"{_R}status.availableReplicas/invalid/ready", REPLICASETS, {"status.availableReplicas": 1},
               "status.availableReplicas: Invalid value: 1: cannot be greater than readyReplicas",
               {"status.replicas": 2}, "status"),
)  # fmt: skip

BUDGET_CASES: Cases = (
    Done(f"{_P}status/dropped", PODDISRUPTIONBUDGETS, {"status": {"expectedPods": 9}}, "status.expectedPods", 0),
    DoneByStep(f"{_P}metadata.generation/set", PODDISRUPTIONBUDGETS, {"spec.minAvailable": 2},
               "metadata.generation", 2),
    DoneByStep(f"{_P}metadata.generation/set", PODDISRUPTIONBUDGETS, {"metadata.annotations": {"a": "b"}},
               "metadata.generation", 1),
    DoneByStep(f"{_P}status/kept", PODDISRUPTIONBUDGETS, {"status.expectedPods": 3}, "status.expectedPods", 0),
    DoneByStep(f"{_P}spec/kept", PODDISRUPTIONBUDGETS, {"spec.minAvailable": 3}, "spec.minAvailable", 1,
               subresource="status"),
    *(case
      for key, others in (("minAvailable", {}), ("maxUnavailable", {"spec.minAvailable": GONE}))
      for case in (
          Broken(f"{_P}spec.{key}/invalid/negative", PODDISRUPTIONBUDGETS, {**others, f"spec.{key}": -1},
                 f"spec.{key}: Invalid value: -1: {NEGATIVE}"),
          Broken(f"{_P}spec.{key}/invalid/percent", PODDISRUPTIONBUDGETS, {**others, f"spec.{key}": "x"},
                 f'spec.{key}: Invalid value: "x": {_PERCENT}'),
          Broken(f"{_P}spec.{key}/invalid/hundred", PODDISRUPTIONBUDGETS, {**others, f"spec.{key}": "101%"},
                 f'spec.{key}: Invalid value: "101%": must not be greater than 100%'),
      )),
    Broken(f"{_P}spec.selector.matchLabels/invalid", PODDISRUPTIONBUDGETS, {"spec.selector.matchLabels.a": "!"},
           f'spec.selector.matchLabels: Invalid value: "!": {VALUE}'),
    *(Broken(f"{_P}spec.selector.matchExpressions[].{rule}", PODDISRUPTIONBUDGETS,
             {"spec.selector.matchExpressions": [{"key": "a", **entry}]},
             f"spec.selector.matchExpressions[0].{field_error}")
      for rule, entry, field_error in (
          ("values/required", {"operator": "In"},
           "values: Required value: must be specified when `operator` is 'In' or 'NotIn'"),
          ("values/forbidden", {"operator": "Exists", "values": ["a"]},
           "values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
          ("operator/invalid", {"operator": "?"}, 'operator: Invalid value: "?": not a valid selector operator'),
          ("key/invalid", {"key": "-", "operator": "Exists"}, f'key: Invalid value: "-": {KEY}'),
          ("values[]/invalid", {"operator": "In", "values": ["!"]},
           f'values[0]: Invalid value: "!": {VALUE}'),
      )),
    *(BrokenStep(f"{_P}status.conditions[].{rule}", PODDISRUPTIONBUDGETS,
                 {"status.conditions": [{**_CONDITION, **entry}]}, f"status.conditions[0].{field_error}",
                 subresource="status")
      for rule, entry, field_error in (
          ("type/invalid", {"type": "-"}, f'type: Invalid value: "-": {KEY}'),
          ("status/unsupported", {"status": "x"},
           'status: Unsupported value: "x": supported values: "False", "True", "Unknown"'),
          ("observedGeneration/invalid", {"observedGeneration": -1},
           "observedGeneration: Invalid value: -1: must be greater than or equal to zero"),
          ("lastTransitionTime/required", {"lastTransitionTime": None}, "lastTransitionTime: Required value"),
          ("reason/required", {"reason": ""}, "reason: Required value"),
          ("reason/invalid", {"reason": "-"}, f'reason: Invalid value: "-": {_REASON}'),
          ("message/too-long", {"message": "x" * 32769}, "message: Too long: may not be more than 32768 bytes"),
      )),
    BrokenStep(f"{_P}status.conditions[].type/duplicate", PODDISRUPTIONBUDGETS,
               {"status.conditions": [_CONDITION, _CONDITION]},
               'status.conditions[1].type: Duplicate value: "DisruptionAllowed"', subresource="status"),
    *(BrokenStep(f"{_P}status.{key}/invalid", PODDISRUPTIONBUDGETS, {f"status.{key}": -1},
                 f"status.{key}: Invalid value: -1: {NEGATIVE}", subresource="status")
      for key in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")),
)  # fmt: skip

CASES: Cases = (*DEPLOYMENT_CASES, *TEMPLATE_CASES, *REPLICASET_CASES, *BUDGET_CASES)
