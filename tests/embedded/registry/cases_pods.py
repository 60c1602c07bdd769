"""Cases of pods: what is done to them, and the errors of their specs."""

# ruff: noqa: E501 - the rows of a table are as long as their messages
from __future__ import annotations

from typing import Any

from embedded.registry import cases_pod_steps
from embedded.registry.case_types import Broken, BrokenStep, Cases, Done, DoneByStep, Refused
from embedded.registry.cases_metadata import DNS_LABEL, KEY, SUBDOMAIN, VALUE
from embedded.registry.given import CLASSES, GONE, context
from vacate.api.kinds import PODS

_P, _C = "Pod/spec.", "spec.containers[0]."
_CS = "Pod/spec.containers[]."
NEGATIVE = "must be greater than or equal to 0"
_MIRROR = "metadata.annotations[kubernetes.io/config.mirror]"
_COST = "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]"
_HTTP = {"httpGet": {"port": 80}}
_FREE: dict[str, Any] = {"operator": "Exists"}


def _lost(key: str) -> dict[str, Any]:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}


def _bad(rule: str, changes: dict[str, Any], field_error: str) -> Broken:
    return Broken(rule, PODS, changes, field_error)


def _in_container(rule: str, key: str, value: Any, field_error: str) -> Broken:
    return Broken(f"{_CS}{rule}", PODS, {f"{_C}{key}": value}, f"{_C}{field_error}")


DEFAULTS: Cases = (
    Done(f"{_P}restartPolicy/default", PODS, {}, "spec.restartPolicy", "Always"),
    Done(f"{_P}dnsPolicy/default", PODS, {}, "spec.dnsPolicy", "ClusterFirst"),
    Done(f"{_P}schedulerName/default", PODS, {}, "spec.schedulerName", "default-scheduler"),
    Done(f"{_P}terminationGracePeriodSeconds/default", PODS, {}, "spec.terminationGracePeriodSeconds", 30),
    Done(f"{_P}terminationGracePeriodSeconds/set", PODS, {"spec.terminationGracePeriodSeconds": -5},
         "spec.terminationGracePeriodSeconds", 1),
    Done(f"{_P}securityContext/default", PODS, {}, "spec.securityContext", {}),
    Done(f"{_P}serviceAccount/set", PODS, {"spec.serviceAccount": "robot"}, "spec.serviceAccountName", "robot"),
    Done(f"{_P}serviceAccount/set", PODS, {"spec.serviceAccountName": "robot"}, "spec.serviceAccount", "robot"),
    Done(f"{_P}enableServiceLinks/default", PODS, {}, "spec.enableServiceLinks", True),
    Done(f"{_CS}ports[].hostPort/default", PODS, {"spec.hostNetwork": True, f"{_C}ports": [{"containerPort": 80}]},
         f"{_C}ports[0].hostPort", 80),
    Done(f"{_CS}resources.requests/default", PODS, {f"{_C}resources": {"limits": {"cpu": "2"}}},
         f"{_C}resources.requests", {"cpu": "2"}),
    Done(f"{_P}overhead.{{}}/default", PODS, {"spec.overhead": {"memory": "1024Mi"}}, "spec.overhead.memory", "1Gi"),
    Done(f"{_P}volumes[].emptyDir/default", PODS, {"spec.volumes": [{"name": "v"}]},
         "spec.volumes[0].emptyDir", {}),
    Done(f"{_P}volumes[].configMap.defaultMode/default", PODS,
         {"spec.volumes": [{"name": "v", "configMap": {"name": "c"}}]}, "spec.volumes[0].configMap.defaultMode", 420),
    Done(f"{_P}volumes[].hostPath.type/default", PODS, {"spec.volumes": [{"name": "v", "hostPath": {"path": "/"}}]},
         "spec.volumes[0].hostPath.type", ""),
    DoneByStep("Pod/status.podIPs/default", PODS, {"status.podIP": "10.0.0.1"}, "status.podIPs",
               [{"ip": "10.0.0.1"}], subresource="status"),
    DoneByStep("Pod/status.podIPs/default", PODS, {"status.podIPs": [{"ip": "10.0.0.1"}]}, "status.podIP",
               "10.0.0.1", subresource="status"),
    *(Done(f"{_CS}imagePullPolicy/default", PODS, {f"{_C}image": image}, f"{_C}imagePullPolicy", policy)
      for image, policy in (
          ("web", "Always"), ("web:latest", "Always"), ("web:1", "IfNotPresent"), ("host:5000/web", "Always"),
          ("host:5000/a/web:2", "IfNotPresent"), ("web@sha256:abc", "IfNotPresent"), ("WEB", "IfNotPresent"),
          ("web:latest@sha256:abc", "Always"), ("w eb", "IfNotPresent"),
      )),
    Done(f"{_CS}terminationMessagePath/default", PODS, {}, f"{_C}terminationMessagePath", "/dev/termination-log"),
    Done(f"{_CS}terminationMessagePolicy/default", PODS, {}, f"{_C}terminationMessagePolicy", "File"),
    Done(f"{_CS}resources/default", PODS, {}, f"{_C}resources", {}),
    Done(f"{_CS}resources/default", PODS, {f"{_C}resources": {"requests": {"cpu": "0.0005"}}},
         f"{_C}resources.requests.cpu", "1m"),
    Done(f"{_CS}ports[].protocol/default", PODS, {f"{_C}ports": [{"containerPort": 80}]},
         f"{_C}ports[0].protocol", "TCP"),
    Done(f"{_CS}env[].valueFrom.fieldRef.apiVersion/default", PODS,
         {f"{_C}env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]},
         f"{_C}env[0].valueFrom.fieldRef.apiVersion", "v1"),
    Done(f"{_CS}readinessProbe/default", PODS, {f"{_C}readinessProbe": {"exec": {"command": ["true"]}}},
         f"{_C}readinessProbe",
         {"exec": {"command": ["true"]}, "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1,
          "failureThreshold": 3}),
    Done(f"{_CS}readinessProbe.httpGet/default", PODS, {f"{_C}readinessProbe": _HTTP},
         f"{_C}readinessProbe.httpGet", {"port": 80, "path": "/", "scheme": "HTTP"}),
    Done(f"{_CS}readinessProbe.httpGet/default", PODS, {f"{_C}lifecycle": {"preStop": _HTTP}},
         f"{_C}lifecycle.preStop.httpGet", {"port": 80, "path": "/", "scheme": "HTTP"}),
    Done(f"{_CS}readinessProbe.grpc.service/default", PODS, {f"{_C}readinessProbe": {"grpc": {"port": 80}}},
         f"{_C}readinessProbe.grpc.service", ""),
)  # fmt: skip

ADMISSION: Cases = (
    Done(f"{_P}serviceAccountName/set", PODS, {}, "spec.serviceAccountName", "default"),
    Done(f"{_P}serviceAccountName/set", PODS, {_MIRROR: "x"}, "spec.serviceAccountName", None),
    Done(f"{_P}priority/set", PODS, {}, "spec.priority", 0),
    Done(f"{_P}priority/set", PODS, {"spec.priorityClassName": "high"}, "spec.priority", 1000),
    Done(f"{_P}priorityClassName/set", PODS, {}, "spec.priorityClassName", "low",
         context(default_priority_class=lambda: CLASSES["low"])),
    Done(f"{_P}preemptionPolicy/set", PODS, {}, "spec.preemptionPolicy", "PreemptLowerPriority"),
    Done(f"{_P}preemptionPolicy/set", PODS, {"spec.priorityClassName": "high"}, "spec.preemptionPolicy", "Never"),
    Refused(f"{_P}priorityClassName/refused", PODS, {"spec.priorityClassName": "none"}, 403,
            'pods "web" is forbidden: no PriorityClass with name none was found'),
    Refused(f"{_P}priority/refused", PODS, {"spec.priority": 5}, 403,
            'pods "web" is forbidden: the integer value of priority (5) must not be provided in pod spec;'
            " priority admission controller computed 0 from the given PriorityClass name"),
    Refused(f"{_P}preemptionPolicy/refused", PODS, {"spec.preemptionPolicy": "Never"}, 403,
            'pods "web" is forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod'
            " spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name"),
    Done(f"{_P}tolerations/set", PODS, {}, "spec.tolerations",
         [_lost("node.kubernetes.io/not-ready"), _lost("node.kubernetes.io/unreachable")]),
    Done(f"{_P}tolerations/set", PODS, {"spec.tolerations": [_FREE]}, "spec.tolerations", [_FREE]),
    Done("Pod/metadata.labels/set", PODS, {"spec.nodeName": "east-1", "metadata.labels": {"a": "b"}},
         "metadata.labels", {"a": "b", "topology.kubernetes.io/zone": "east"}),
    Done("Pod/metadata.labels/set", PODS, {"spec.nodeName": "node-1"}, "metadata.labels", None),
    Done("Pod/status/set", PODS, {"status": {"phase": "Running", "podIP": "1.2.3.4"}}, "status",
         {"phase": "Pending", "qosClass": "BestEffort"}),
    Done("Pod/status.conditions/set", PODS, {"spec.schedulingGates": [{"name": "a.b/c"}]}, "status.conditions",
         [{"type": "PodScheduled", "status": "False", "lastTransitionTime": "2026-08-20T12:00:00Z",
           "lastProbeTime": None, "reason": "SchedulingGated",
           "message": "Scheduling is blocked due to non-empty scheduling gates"}]),
    Done(f"{_P}topologySpreadConstraints[].labelSelector/set", PODS,
         {"metadata.labels": {"rev": "7"},
          "spec.topologySpreadConstraints": [{"labelSelector": {}, "matchLabelKeys": ["rev", "none"]}]},
         "spec.topologySpreadConstraints[0].labelSelector.matchExpressions",
         [{"key": "rev", "operator": "In", "values": ["7"]}]),
    _bad(f"{_P}nodeName/forbidden", {"spec.nodeName": "n", "spec.schedulingGates": [{"name": "a.b/c"}]},
         "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"),
    Done(f"{_P}evictionInterceptors/dropped", PODS, {"spec.evictionInterceptors": [{"name": "a.b"}]},
         "spec.evictionInterceptors", None, context(gates="EvictionRequestAPI")),
    Done(f"{_P}evictionInterceptors/dropped", PODS, {"spec.evictionInterceptors": [{"name": "a.b"}]},
         "spec.evictionInterceptors", [{"name": "a.b"}]),
)  # fmt: skip

VOLUMES: Cases = (
    _bad(f"{_P}volumes[].hostPath/forbidden", {"spec.volumes": [{"name": "v", "hostPath": {}, "emptyDir": {}}]},
         "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"),
    _bad(f"{_P}volumes[].configMap.name/required", {"spec.volumes": [{"name": "v", "configMap": {}}]},
         "spec.volumes[0].configMap.name: Required value"),
    _bad(f"{_P}volumes[].hostPath.path/invalid", {"spec.volumes": [{"name": "v", "hostPath": {"path": "/a/../b"}}]},
         "spec.volumes[0].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'"),
    _bad(f"{_P}volumes[].name/required", {"spec.volumes": [{}]}, "spec.volumes[0].name: Required value"),
    _bad(f"{_P}volumes[].name/invalid", {"spec.volumes": [{"name": "V"}]},
         f'spec.volumes[0].name: Invalid value: "V": {DNS_LABEL}'),
    _bad(f"{_P}volumes[].name/duplicate", {"spec.volumes": [{"name": "v"}, {"name": "v"}]},
         'spec.volumes[1].name: Duplicate value: "v"'),
    _in_container("volumeMounts[].name/required", "volumeMounts", [{"mountPath": "/a"}],
                  "volumeMounts[0].name: Required value"),
    _in_container("volumeMounts[].name/not-found", "volumeMounts", [{"name": "v", "mountPath": "/a"}],
                  'volumeMounts[0].name: Not found: "v"'),
    _in_container("volumeMounts[].mountPath/required", "volumeMounts", [{"name": "v"}],
                  "volumeMounts[0].mountPath: Required value"),
    _in_container("volumeMounts[].mountPath/invalid", "volumeMounts",
                  [{"name": "v", "mountPath": "/a"}, {"name": "w", "mountPath": "/a"}],
                  'volumeMounts[1].mountPath: Invalid value: "/a": must be unique'),
    _in_container("volumeMounts.subPath/invalid", "volumeMounts", [{"name": "v", "subPath": "/a"}],
                  'volumeMounts.subPath: Invalid value: "/a": must be a relative path'),
)  # fmt: skip

_INIT = "may not be set for init containers without restartPolicy=Always"
_RESTARTS = 'supported values: "Always", "Never", "OnFailure"'
CONTAINERS: Cases = (
    _in_container("name/required", "name", "", "name: Required value"),
    _in_container("name/invalid", "name", "A", f'name: Invalid value: "A": {DNS_LABEL}'),
    _in_container("image/invalid", "image", " web",
                  'image: Invalid value: " web": must not have leading or trailing whitespace'),
    _in_container("restartPolicy/unsupported", "restartPolicy", "x",
                  f'restartPolicy: Unsupported value: "x": {_RESTARTS}'),
    _bad(f"{_P}initContainers[].name/duplicate", {"spec.initContainers": [{"name": "web", "image": "x"}]},
         'spec.initContainers[0].name: Duplicate value: "web"'),
    _bad(f"{_CS}restartPolicy/unsupported",
         {"spec.initContainers": [{"name": "i", "image": "x", "restartPolicy": "x"}]},
         f'spec.initContainers[0].restartPolicy: Unsupported value: "x": {_RESTARTS}'),
    _bad(f"{_CS}image/required", {"spec.initContainers": [{"name": "i"}]}, "spec.initContainers[0].image: Required value"),
    _bad(f"{_CS}ports[].hostPort/duplicate",
         {"spec.initContainers": [{"name": "i", "image": "i", "ports": [{"containerPort": 1, "hostPort": 80}] * 2}]},
         'spec.initContainers[0].ports[1].hostPort: Duplicate value: "TCP//80"'),
    *(_bad(f"{_P}initContainers[].{key}/forbidden", {"spec.initContainers": [{"name": "i", "image": "x", key: {}}]},
           f"spec.initContainers[0].{key}: Forbidden: {_INIT}")
      for key in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")),
)  # fmt: skip

_PORT = {"containerPort": 80}
PORTS: Cases = (
    _in_container("ports[].name/invalid", "ports", [{**_PORT, "name": "a--b"}],
                  'ports[0].name: Invalid value: "a--b": must not contain consecutive hyphens'),
    _in_container("ports[].name/duplicate", "ports", [{**_PORT, "name": "a"}, {**_PORT, "name": "a"}],
                  'ports[1].name: Duplicate value: "a"'),
    _in_container("ports[].containerPort/required", "ports", [{}], "ports[0].containerPort: Required value"),
    _in_container("ports[].containerPort/invalid", "ports", [{"containerPort": 65536}],
                  "ports[0].containerPort: Invalid value: 65536: must be between 1 and 65535, inclusive"),
    _in_container("ports[].hostPort/invalid", "ports", [{**_PORT, "hostPort": -1}],
                  "ports[0].hostPort: Invalid value: -1: must be between 1 and 65535, inclusive"),
    _in_container("ports[].protocol/unsupported", "ports", [{**_PORT, "protocol": "x"}],
                  'ports[0].protocol: Unsupported value: "x": supported values: "SCTP", "TCP", "UDP"'),
    _in_container("ports[].hostPort/duplicate", "ports", [{**_PORT, "hostPort": 80}, {**_PORT, "hostPort": 80}],
                  'ports[1].hostPort: Duplicate value: "TCP//80"'),
    _bad(f"{_CS}ports[].hostPort/invalid/network",
         {"spec.hostNetwork": True, f"{_C}ports": [{**_PORT, "hostPort": 81}]},
         f"{_C}ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true"),
)  # fmt: skip

_ENV = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_ONE_OF = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
)
_SECRET = {"secretKeyRef": {"name": "s", "key": "k"}}
ENVIRONMENT: Cases = (
    _in_container("env[].name/required", "env", [{"value": "x"}], "env[0].name: Required value"),
    _in_container("env[].name/invalid", "env", [{"name": "A=B"}], f'env[0].name: Invalid value: "A=B": {_ENV}'),
    _in_container("env[].valueFrom/invalid/none", "env", [{"name": "A", "valueFrom": {}}],
                  f'env[0].valueFrom: Invalid value: "": {_ONE_OF}'),
    _in_container("env[].valueFrom/invalid/value", "env", [{"name": "A", "value": "x", "valueFrom": _SECRET}],
                  'env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty'),
    _in_container("env[].valueFrom/invalid/many", "env",
                  [{"name": "A", "valueFrom": {**_SECRET, "configMapKeyRef": {"name": "c", "key": "k"}}}],
                  'env[0].valueFrom: Invalid value: "": may not have more than one field specified at a time'),
    _in_container("envFrom[].prefix/invalid", "envFrom", [{"prefix": "=", "secretRef": {"name": "s"}}],
                  f'envFrom[0].prefix: Invalid value: "=": {_ENV}'),
    _in_container("envFrom/invalid/none", "envFrom", [{}],
                  'envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`'),
    _in_container("envFrom/invalid/many", "envFrom", [{"secretRef": {}, "configMapRef": {}}],
                  'envFrom: Invalid value: "": may not have more than one field specified at a time'),
)  # fmt: skip

_EXEC = {"exec": {"command": ["true"]}}
PROBES: Cases = (
    _in_container("livenessProbe/required", "livenessProbe", {},
                  "livenessProbe: Required value: must specify a handler type"),
    _in_container("livenessProbe.httpGet/forbidden", "livenessProbe", {**_EXEC, **_HTTP},
                  "livenessProbe.httpGet: Forbidden: may not specify more than 1 handler type"),
    _in_container("livenessProbe.exec.command/required", "livenessProbe", {"exec": {}},
                  "livenessProbe.exec.command: Required value"),
    _in_container("livenessProbe.httpGet.port/invalid", "livenessProbe", {"httpGet": {"port": 0}},
                  "livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive"),
    _in_container("livenessProbe.httpGet.scheme/unsupported", "livenessProbe", {"httpGet": {"port": 1, "scheme": "x"}},
                  'livenessProbe.httpGet.scheme: Unsupported value: "x": supported values: "HTTP", "HTTPS"'),
    *(_in_container(f"livenessProbe.{key}/invalid", "livenessProbe", {**_EXEC, key: -1},
                    f"livenessProbe.{key}: Invalid value: -1: {NEGATIVE}")
      for key in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "failureThreshold")),
    _in_container("livenessProbe.terminationGracePeriodSeconds/invalid", "livenessProbe",
                  {**_EXEC, "terminationGracePeriodSeconds": 0},
                  "livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0"),
    _in_container("livenessProbe.successThreshold/invalid", "livenessProbe", {**_EXEC, "successThreshold": 2},
                  "livenessProbe.successThreshold: Invalid value: 2: must be 1"),
    _in_container("readinessProbe.terminationGracePeriodSeconds/invalid", "readinessProbe",
                  {**_EXEC, "terminationGracePeriodSeconds": 5},
                  "readinessProbe.terminationGracePeriodSeconds: Invalid value: 5:"
                  " must not be set for readinessProbes"),
    _in_container("lifecycle.preStop/required", "lifecycle", {"preStop": {}},
                  "lifecycle.preStop: Required value: must specify a handler type"),
    _in_container("lifecycle.preStop.sleep/invalid", "lifecycle", {"preStop": {"sleep": {"seconds": 31}}},
                  "lifecycle.preStop.sleep: Invalid value: 31:"
                  " must be non-negative and less than terminationGracePeriodSeconds (30)"),
)  # fmt: skip

RESOURCES: Cases = (
    _in_container("resources.limits[]/invalid", "resources", {"limits": {"-": "1"}},
                  f'resources.limits[-]: Invalid value: "-": {KEY}'),
    _in_container("resources.limits[]/invalid/standard", "resources", {"limits": {"gpu": "1"}},
                  'resources.limits[gpu]: Invalid value: "gpu":'
                  " must be a standard resource type or fully qualified"),
    _in_container("resources.limits[]/invalid/container", "resources", {"limits": {"pods": "1"}},
                  'resources.limits[pods]: Invalid value: "pods": must be a standard resource for containers'),
    _in_container("resources.limits[]/invalid/extended", "resources", {"limits": {"requests.a.b/c": "1"}},
                  'resources.limits[requests.a.b/c]: Invalid value: "requests.a.b/c":'
                  " doesn't follow extended resource name standard"),
    _in_container("resources.limits[]/invalid/sign", "resources", {"limits": {"cpu": "-1"}},
                  f'resources.limits[cpu]: Invalid value: "-1": {NEGATIVE}'),
    _in_container("resources.requests[]/invalid/whole", "resources", {"limits": {"a.b/c": "500m"}},
                  'resources.requests[a.b/c]: Invalid value: "500m": must be an integer'),
    _in_container("resources.requests/invalid/more", "resources",
                  {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
                  'resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'),
    _in_container("resources.requests/invalid/equal", "resources",
                  {"requests": {"a.b/c": "1"}, "limits": {"a.b/c": "2"}},
                  'resources.requests: Invalid value: "1": must be equal to a.b/c limit of 2'),
    _in_container("resources.limits/required", "resources", {"requests": {"a.b/c": "1"}},
                  "resources.limits: Required value: Limit must be set for non overcommitable resources"),
    _in_container("resources/forbidden", "resources", {"limits": {"hugepages-2Mi": "2Mi"}},
                  "resources: Forbidden: HugePages require cpu or memory"),
)  # fmt: skip

SPEC: Cases = (
    _bad(f"Pod/{_MIRROR}/invalid", {_MIRROR: "x"},
         f'{_MIRROR}: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set'),
    *(_bad(f"Pod/{_COST}/invalid", {_COST: cost}, f'{_COST}: Invalid value: "{cost}": must be a 32bit integer')
      for cost in ("x", "", "+1", "01", "2147483648", "1.5")),
    _bad(f"{_P}nodeSelector/invalid", {"spec.nodeSelector": {"a": "!"}},
         f'spec.nodeSelector: Invalid value: "!": {VALUE}'),
    *(_bad(f"{_P}{key}/invalid", {f"spec.{key}": "A"}, f'spec.{key}: Invalid value: "A": {text}')
      for key, text in (("serviceAccountName", SUBDOMAIN), ("nodeName", SUBDOMAIN), ("hostname", DNS_LABEL),
                        ("subdomain", DNS_LABEL))),
    BrokenStep(f"{_P}priorityClassName/invalid", PODS, {"spec.priorityClassName": "A"},
               f'spec.priorityClassName: Invalid value: "A": {SUBDOMAIN}'),
    BrokenStep(f"{_P}preemptionPolicy/unsupported", PODS, {"spec.preemptionPolicy": "x"},
               'spec.preemptionPolicy: Unsupported value: "x": supported values: "PreemptLowerPriority", "Never"'),
)  # fmt: skip

_NODES = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
_PODS = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"
_TERMS = f"{_NODES}.nodeSelectorTerms"
_PREFERRED = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"
_NEAR = "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution"
_HOST = {"topologyKey": "kubernetes.io/hostname"}
AFFINITY: Cases = (
    _bad(f"Pod/{_TERMS}/required", {_NODES: {}},
         f"{_TERMS}: Required value: must have at least one node selector term"),
    *(_bad(f"Pod/{_TERMS}[].matchExpressions[].{rule}", {_TERMS: [{"matchExpressions": [{"key": "a", **entry}]}]},
           f"{_TERMS}[0].matchExpressions[0].{field_error}")
      for rule, entry, field_error in (
          ("values/required", {"operator": "In"},
           "values: Required value: must be specified when `operator` is 'In' or 'NotIn'"),
          ("values/required", {"operator": "Gt", "values": ["1", "2"]},
           "values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'"),
          ("values/forbidden", {"operator": "Exists", "values": ["x"]},
           "values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
          ("operator/invalid", {"operator": "?"}, 'operator: Invalid value: "?": not a valid selector operator'),
          ("key/invalid", {"key": "-", "operator": "Exists"}, f'key: Invalid value: "-": {KEY}'),
          ("values[]/invalid", {"operator": "In", "values": ["!"]}, f'values[0]: Invalid value: "!": {VALUE}'),
      )),
    _bad(f"Pod/{_TERMS}[].matchFields[].values/required",
         {_TERMS: [{"matchFields": [{"key": "metadata.name", "operator": "In"}]}]},
         f"{_TERMS}[0].matchFields[0].values: Required value:"
         " must be only one value when `operator` is 'In' or 'NotIn' for node field selector"),
    _bad(f"Pod/{_TERMS}[].matchFields[].key/invalid",
         {_TERMS: [{"matchFields": [{"key": "x", "operator": "In", "values": ["a"]}]}]},
         f'{_TERMS}[0].matchFields[0].key: Invalid value: "x": not a valid field selector key'),
    _bad(f"Pod/{_PREFERRED}[].weight/invalid", {_PREFERRED: [{"weight": 101, "preference": {}}]},
         f"{_PREFERRED}[0].weight: Invalid value: 101: must be in the range 1-100"),
    _bad(f"Pod/{_TERMS}[].matchExpressions[].key/invalid",
         {_PREFERRED: [{"weight": 1, "preference": {"matchExpressions": [{"key": "-", "operator": "Exists"}]}}]},
         f'{_PREFERRED}[0].preference.matchExpressions[0].key: Invalid value: "-": {KEY}'),
    _bad(f"Pod/{_TERMS}[].matchExpressions[].operator/invalid",
         {_TERMS: [{"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}]},
         f'{_TERMS}[0].matchFields[0].operator: Invalid value: "Exists": not a valid selector operator'),
    _bad(f"Pod/{_TERMS}[].matchFields[].key/invalid",
         {_TERMS: [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["A"]}]}]},
         f'{_TERMS}[0].matchFields[0].values[0]: Invalid value: "A": {SUBDOMAIN}'),
    _bad(f"Pod/{_PREFERRED}[].weight/invalid", {_NEAR: [{"weight": 0, "podAffinityTerm": _HOST}]},
         f"{_NEAR}[0].weight: Invalid value: 0: must be in the range 1-100"),
    _bad(f"Pod/{_PODS}[].topologyKey/required", {_NEAR: [{"weight": 1}]},
         f"{_NEAR}[0].podAffinityTerm.topologyKey: Required value: can not be empty"),
    _bad(f"Pod/{_PODS}[].labelSelector.matchLabels/invalid",
         {_PODS: [{**_HOST, "namespaceSelector": {"matchLabels": {"a": "!"}}}]},
         f'{_PODS}[0].namespaceSelector.matchLabels: Invalid value: "!": {VALUE}'),
    _bad(f"Pod/{_PODS}[].labelSelector.matchLabels/invalid",
         {_PODS: [{**_HOST, "labelSelector": {"matchLabels": {"a": "!"}}}]},
         f'{_PODS}[0].labelSelector.matchLabels: Invalid value: "!": {VALUE}'),
    _bad(f"Pod/{_PODS}[].namespace/invalid", {_PODS: [{**_HOST, "namespaces": ["A"]}]},
         f'{_PODS}[0].namespace: Invalid value: "A": {DNS_LABEL}'),
    _bad(f"Pod/{_PODS}[].topologyKey/required", {_PODS: [{}]},
         f"{_PODS}[0].topologyKey: Required value: can not be empty"),
    _bad(f"Pod/{_PODS}[].topologyKey/invalid", {_PODS: [{"topologyKey": "-"}]},
         f'{_PODS}[0].topologyKey: Invalid value: "-": {KEY}'),
)  # fmt: skip

_ALL = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
_SPREAD = "spec.topologySpreadConstraints"
_EVEN: dict[str, Any] = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
PLACEMENT: Cases = (
    *(_bad(f"{_P}tolerations[].{rule}", {"spec.tolerations": [toleration]}, f"spec.tolerations[0].{field_error}")
      for rule, toleration, field_error in (
          ("key/invalid", {"key": "-"}, f'key: Invalid value: "-": {KEY}'),
          ("operator/invalid/all", {}, f'operator: Invalid value: "": {_ALL}'),
          ("effect/invalid", {**_FREE, "tolerationSeconds": 1},
           "effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set"),
          ("operator/invalid/value", {"key": "a", "value": "!"}, f'operator: Invalid value: "!": {VALUE}'),
          ("operator/invalid/exists", {**_FREE, "value": "a"},
           "operator: Invalid value: \"a\": value must be empty when `operator` is 'Exists'"),
          ("operator/unsupported", {"key": "a", "operator": "x"},
           'operator: Unsupported value: "x": supported values: "Equal", "Exists"'),
          ("effect/unsupported", {**_FREE, "effect": "x"},
           'effect: Unsupported value: "x": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"'),
      )),
    _bad(f"{_P}readinessGates[].conditionType/invalid", {"spec.readinessGates": [{"conditionType": "-"}]},
         f'spec.readinessGates[0].conditionType: Invalid value: "-": {KEY}'),
    *(_bad(f"Pod/{_SPREAD}[].{rule}", {_SPREAD: [{**_EVEN, **entry}]}, f"{_SPREAD}[0].{field_error}")
      for rule, entry, field_error in (
          ("maxSkew/invalid", {"maxSkew": 0}, "maxSkew: Invalid value: 0: must be greater than zero"),
          ("topologyKey/required", {"topologyKey": ""}, "topologyKey: Required value: can not be empty"),
          ("whenUnsatisfiable/unsupported", {"whenUnsatisfiable": "x"},
           'whenUnsatisfiable: Unsupported value: "x": supported values: "DoNotSchedule", "ScheduleAnyway"'),
          ("minDomains/invalid", {"minDomains": 0}, "minDomains: Invalid value: 0: must be greater than zero"),
          ("minDomains/invalid/action", {"minDomains": 1, "whenUnsatisfiable": "ScheduleAnyway"},
           ("minDomains: Invalid value: 1:"
            " can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway")),
          ("nodeAffinityPolicy/unsupported", {"nodeAffinityPolicy": "x"},
           'nodeAffinityPolicy: Unsupported value: "x": supported values: "Honor", "Ignore"'),
          ("labelSelector.matchLabels/invalid", {"labelSelector": {"matchLabels": {"a": "!"}}},
           f'labelSelector.matchLabels: Invalid value: "!": {VALUE}'),
      )),
    _bad(f"Pod/{_SPREAD}[].{{topologyKey,-whenUnsatisfiable}}/duplicate", {_SPREAD: [_EVEN, _EVEN]},
         f'{_SPREAD}[0].{{topologyKey, whenUnsatisfiable}}: Duplicate value: "{{zone, DoNotSchedule}}"'),
)  # fmt: skip

_I = "spec.evictionInterceptors"
INTERCEPTORS: Cases = (
    _bad(f"Pod/{_I}/too-many", {_I: [{"name": f"i{n}.b"} for n in range(101)]},
         f"{_I}: Too many: 101: must have at most 100 items"),
    _bad(f"Pod/{_I}[].name/required", {_I: [{}]}, f"{_I}[0].name: Required value"),
    _bad(f"Pod/{_I}[].name/invalid", {_I: [{"name": "A"}]}, f'{_I}[0].name: Invalid value: "A": {SUBDOMAIN}'),
    _bad(f"Pod/{_I}[].name/duplicate", {_I: [{"name": "a.b"}, {"name": "a.b"}]},
         f'{_I}[1].name: Duplicate value: "a.b"'),
    _bad(f"Pod/{_I}[].name/forbidden", {_I: [{"name": "actor-a.k8s.io"}]},
         f"{_I}[0].name: Forbidden: names with the suffix k8s.io are reserved for Kubernetes"),
    *(BrokenStep(f"Pod/{_I}/invalid", PODS, {_I: after}, field_error, {_I: [{"name": "a.b"}]})
      for after, field_error in (
          ([{"name": "c.d"}], f'{_I}: Invalid value: [{{"name":"c.d"}}]: field is immutable'),
          (GONE, f"{_I}: Invalid value: null: field is immutable"),
      )),
)  # fmt: skip

CASES: Cases = (
    *DEFAULTS, *ADMISSION, *VOLUMES, *CONTAINERS, *PORTS, *ENVIRONMENT, *PROBES, *RESOURCES, *SPEC, *AFFINITY,
    *PLACEMENT, *INTERCEPTORS, *cases_pod_steps.CASES,
)  # fmt: skip
