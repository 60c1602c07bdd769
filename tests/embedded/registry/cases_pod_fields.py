"""Cases of pods: names and DNS, restarts, claims, mounts, ephemeral containers."""

# ruff: noqa: E501 - the rows of a table are as long as their messages
from __future__ import annotations

from typing import Any

from embedded.registry.case_types import Broken, Cases, Done
from embedded.registry.cases_metadata import KEY, SUBDOMAIN
from embedded.registry.given import context
from vacate.api.kinds import PODS

_C, _E = "spec.containers[0].", "spec.ephemeralContainers[0]"
_CS = "Pod/spec.containers[]."
_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_SEARCH = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an"
    " alphanumeric character (e.g. 'example.com', regex used for validation is"
    r" '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')"
)
_MANY = ",".join(['"a"'] * 33)
_VOLUMES = {
    "spec.volumes": [
        {"name": "v", "emptyDir": {}},
        {"name": "w", "persistentVolumeClaim": {"claimName": "c"}},
    ]
}
_EXIT = {"operator": "In", "values": [1]}
_NOT_EPHEMERAL = "Forbidden: cannot be set for an Ephemeral Container"
_MIRROR = {"metadata.annotations[kubernetes.io/config.mirror]": "x", "spec.nodeName": "node-1"}


def _bad(rule: str, key: str, value: Any, field_error: str, **more: Any) -> Broken:
    return Broken(f"Pod/spec.{rule}", PODS, {f"spec.{key}": value, **more}, f"spec.{field_error}")


def _in_container(rule: str, changes: dict[str, Any], field_error: str) -> Broken:
    placed = {key if key.startswith("spec.") else f"{_C}{key}": value for key, value in changes.items()}
    return Broken(f"{_CS}{rule}", PODS, {**_VOLUMES, **placed}, f"{_C}{field_error}")


def _helper(rule: str, container: dict[str, Any], field_error: str) -> Broken:
    return Broken(f"Pod/spec.ephemeralContainers[].{rule}", PODS,
                  {"spec.ephemeralContainers": [{"name": "e", "image": "e", **container}]}, f"{_E}.{field_error}")  # fmt: skip


NETWORK: Cases = (
    _bad("dnsConfig/required", "dnsPolicy", "None", "dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"),
    _bad("dnsConfig.nameservers/required", "dnsPolicy", "None",
         "dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None", **{"spec.dnsConfig": {}}),
    _bad("dnsConfig.nameservers/invalid", "dnsConfig", {"nameservers": ["::1"] * 4},
         'dnsConfig.nameservers: Invalid value: ["::1","::1","::1","::1"]: must not have more than 3 nameservers'),
    _bad("dnsConfig.nameservers[]/invalid", "dnsConfig", {"nameservers": ["x"]}, f'dnsConfig.nameservers[0]: Invalid value: "x": {_IP}'),
    _bad("dnsConfig.searches/invalid", "dnsConfig", {"searches": ["a"] * 33},
         f'dnsConfig.searches: Invalid value: [{_MANY}]: must not have more than 32 search paths'),
    _bad("dnsConfig.searches[]/invalid", "dnsConfig", {"searches": [".", "a_b.", "A."]}, f'dnsConfig.searches[2]: Invalid value: "A": {_SEARCH}'),
    _bad("dnsConfig.options[]/required", "dnsConfig", {"options": [{"value": "5"}]}, "dnsConfig.options[0]: Required value: must not be empty"),
    _bad("hostAliases[].ip/invalid", "hostAliases", [{"ip": "x"}], f'hostAliases[0].ip: Invalid value: "x": {_IP}'),
    _bad("hostAliases[].ip/invalid", "hostAliases", [{"ip": "fe80::1%eth0"}], f'hostAliases[0].ip: Invalid value: "fe80::1%eth0": {_IP}'),
    _bad("hostAliases[].ip/invalid/zeroes", "hostAliases", [{"ip": "1.2.3.04"}], 'hostAliases[0].ip: Invalid value: "1.2.3.04": must not have leading 0s'),
    _bad("hostAliases[].ip/invalid/mapped", "hostAliases", [{"ip": "::ffff:1.2.3.4"}],
         'hostAliases[0].ip: Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped IPv6 address'),
    _bad("hostAliases[].hostnames[]/invalid", "hostAliases", [{"ip": "::1", "hostnames": ["A"]}],
         f'hostAliases[0].hostnames[0]: Invalid value: "A": {SUBDOMAIN}'),
    _bad("hostnameOverride/forbidden", "hostnameOverride", "a", "hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true",
         **{"spec.setHostnameAsFQDN": True}),
    _bad("hostnameOverride/too-long", "hostnameOverride", "a" * 65, "hostnameOverride: Too long: may not be more than 64 bytes"),
    _bad("hostnameOverride/invalid", "hostnameOverride", "", f'hostnameOverride: Invalid value: "": {SUBDOMAIN}'),
    _bad("overhead.limits[]/invalid", "overhead", {"cpu": "-1"},
         'overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'),
    Done("Pod/spec.schedulingGroup/dropped", PODS, {"spec.schedulingGroup": {"podGroupName": "a"}}, "spec.schedulingGroup", None),
)  # fmt: skip

CLAIMS: Cases = (
)  # fmt: skip

RESTARTS: Cases = (
    _in_container("restartPolicy/unsupported", {"restartPolicy": "x"}, 'restartPolicy: Unsupported value: "x": supported values: "Always", "Never", "OnFailure"'),
    _in_container("restartPolicy/required", {"restartPolicyRules": [{"action": "Restart", "exitCodes": _EXIT}]},
                  "restartPolicy: Required value: must specify restartPolicy when restart rules are used"),
    _in_container("restartPolicyRules/too-many", {"restartPolicyRules": [{"action": "Restart", "exitCodes": _EXIT}] * 21},
                  "restartPolicyRules: Too many: 21: must have at most 20 items"),
    _in_container("restartPolicyRules[].action/unsupported", {"restartPolicy": "Never", "restartPolicyRules": [{"exitCodes": _EXIT}]},
                  'restartPolicyRules[0].action: Unsupported value: "": supported values: "Restart", "RestartAllContainers"'),
    _in_container("restartPolicyRules[].exitCodes/required", {"restartPolicy": "Never", "restartPolicyRules": [{"action": "Restart"}]},
                  "restartPolicyRules[0].exitCodes: Required value: must be specified"),
    _in_container("restartPolicyRules[].exitCodes.operator/unsupported", {"restartPolicyRules": [{"exitCodes": {"operator": "x"}}]},
                  'restartPolicyRules[0].exitCodes.operator: Unsupported value: "x": supported values: "In", "NotIn"'),
    _in_container("restartPolicyRules[].exitCodes.values/too-many", {"restartPolicyRules": [{"exitCodes": {"operator": "In", "values": [1] * 256}}]},
                  "restartPolicyRules[0].exitCodes.values: Too many: 256: must have at most 255 items"),
    _in_container("resizePolicy[]/duplicate", {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}] * 2},
                  'resizePolicy[1]: Duplicate value: "cpu"'),
    _in_container("resizePolicy/required", {"resizePolicy": [{"resourceName": "cpu"}]}, "resizePolicy: Required value"),
    _in_container("resizePolicy/unsupported", {"resizePolicy": [{"resourceName": "x", "restartPolicy": "NotRequired"}]},
                  'resizePolicy: Unsupported value: "x": supported values: "cpu", "memory"'),
    _in_container("resizePolicy/invalid", {"spec.restartPolicy": "Never", "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]},
                  "resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when pod `restartPolicy` is 'Never'"),
    _bad("initContainers[].resizePolicy[].restartPolicy/invalid", "initContainers",
         [{"name": "i", "image": "i", "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}],
         "initContainers[0].resizePolicy[0].restartPolicy: Invalid value: \"RestartContainer\": must not be set to 'RestartContainer' for non-sidecar initContainers"),
)  # fmt: skip

_DEVICE = {"name": "w", "devicePath": "/d"}
MOUNTS: Cases = (
    _in_container("volumeMounts[].name/invalid", {"volumeMounts": [{"name": "w", "mountPath": "/m"}], "volumeDevices": [_DEVICE]},
                  'volumeMounts[0].name: Invalid value: "w": must not already exist in volumeDevices'),
    _in_container("volumeMounts[].mountPath/invalid/device", {"volumeMounts": [{"name": "v", "mountPath": "/d"}], "volumeDevices": [_DEVICE]},
                  'volumeMounts[0].mountPath: Invalid value: "/d": must not already exist as a path in volumeDevices'),
    _in_container("volumeMounts[].subPathExpr/invalid", {"volumeMounts": [{"name": "v", "mountPath": "/m", "subPath": "a", "subPathExpr": "b"}]},
                  'volumeMounts[0].subPathExpr: Invalid value: "b": subPathExpr and subPath are mutually exclusive'),
    _in_container("volumeMounts.subPathExpr/invalid", {"volumeMounts": [{"name": "v", "mountPath": "/m", "subPathExpr": "/b"}]},
                  'volumeMounts.subPathExpr: Invalid value: "/b": must be a relative path'),
    _in_container("volumeMounts.mountPropagation/unsupported", {"volumeMounts": [{"name": "v", "mountPath": "/m", "mountPropagation": "x"}]},
                  'volumeMounts.mountPropagation: Unsupported value: "x": supported values: "Bidirectional", "HostToContainer", "None"'),
    _in_container("volumeMounts.mountPropagation/forbidden", {"volumeMounts": [{"name": "v", "mountPath": "/m", "mountPropagation": "Bidirectional"}]},
                  "volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers"),
    _in_container("volumeMounts.recursiveReadOnly/unsupported", {"volumeMounts": [{"name": "v", "mountPath": "/m", "recursiveReadOnly": "x"}]},
                  'volumeMounts.recursiveReadOnly: Unsupported value: "x": supported values: "Disabled", "Enabled", "IfPossible"'),
    _in_container("volumeMounts.recursiveReadOnly/forbidden", {"volumeMounts": [{"name": "v", "mountPath": "/m", "recursiveReadOnly": "Enabled"}]},
                  "volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true"),
    _in_container("volumeMounts.recursiveReadOnly/forbidden",
                  {"volumeMounts": [{"name": "v", "mountPath": "/m", "readOnly": True, "recursiveReadOnly": "Enabled", "mountPropagation": "HostToContainer"}]},
                  "volumeMounts.recursiveReadOnly: Forbidden: may only be specified when mountPropagation is None or not specified"),
    _in_container("volumeDevices[].name/required", {"volumeDevices": [{"devicePath": "/d"}]}, "volumeDevices[0].name: Required value"),
    _in_container("volumeDevices[].name/not-found", {"volumeDevices": [{"name": "x", "devicePath": "/d"}]}, 'volumeDevices[0].name: Not found: "x"'),
    _in_container("volumeDevices[].name/invalid", {"volumeDevices": [{"name": "v", "devicePath": "/d"}]},
                  'volumeDevices[0].name: Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode'),
    _in_container("volumeDevices[].name/invalid", {"volumeDevices": [_DEVICE, _DEVICE]}, 'volumeDevices[1].name: Invalid value: "w": must be unique'),
    _in_container("volumeDevices[].name/invalid", {"volumeMounts": [{"name": "w", "mountPath": "/m"}], "volumeDevices": [_DEVICE]},
                  'volumeDevices[0].name: Invalid value: "w": must not already exist in volumeMounts'),
    _in_container("volumeDevices[].devicePath/required", {"volumeDevices": [{"name": "w"}]}, "volumeDevices[0].devicePath: Required value"),
    _in_container("volumeDevices[].devicePath/invalid", {"volumeDevices": [{"name": "w", "devicePath": "/../d"}]},
                  "volumeDevices[0].devicePath: Invalid value: \"/../d\": can not contain backsteps ('..')"),
    _in_container("volumeDevices[].devicePath/invalid", {"volumeDevices": [_DEVICE, _DEVICE]}, 'volumeDevices[1].devicePath: Invalid value: "/d": must be unique'),
    _in_container("volumeDevices[].devicePath/invalid", {"volumeMounts": [{"name": "v", "mountPath": "/d"}], "volumeDevices": [_DEVICE]},
                  'volumeDevices[0].devicePath: Invalid value: "/d": must not already exist as a path in volumeMounts'),
)  # fmt: skip

EPHEMERAL: Cases = (
    _helper("name/duplicate", {"name": "web"}, 'name: Duplicate value: "web"'),
    _helper("targetContainerName/not-found", {"targetContainerName": "x"}, 'targetContainerName: Not found: "x"'),
    _helper("ports/forbidden", {"ports": [{"containerPort": 80}]}, f"ports: {_NOT_EPHEMERAL}"),
    _helper("volumeMounts[].subPath/forbidden", {"volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "a"}]},
            f"volumeMounts[0].subPath: {_NOT_EPHEMERAL}"),
)  # fmt: skip

_TERMS = "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"
_TERM = {"topologyKey": "z", "labelSelector": {}}
_KEPT = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
LABEL_KEYS: Cases = (
    _bad("topologySpreadConstraints[][]/invalid", "topologySpreadConstraints",
         [{**_KEPT, "labelSelector": {"matchLabels": {"app": "x"}}, "matchLabelKeys": ["no", "app"]}],
         'topologySpreadConstraints[0][1]: Invalid value: "app": exists in both matchLabelKeys and labelSelector',
         **{"metadata.labels": {"app": "web"}}),
    _bad(f"{_TERMS}[].mismatchLabelKeys[]/invalid", _TERMS, [{**_TERM, "mismatchLabelKeys": ["a b"]}],
         f'{_TERMS}[0].mismatchLabelKeys[0]: Invalid value: "a b": {KEY}'),
    _bad(f"{_TERMS}[].matchLabelKeys[]/invalid", _TERMS, [{**_TERM, "matchLabelKeys": ["a"], "mismatchLabelKeys": ["a"]}],
         f'{_TERMS}[0].matchLabelKeys[0]: Invalid value: "a": exists in both matchLabelKeys and mismatchLabelKeys'),
    Done("Pod/spec.topologySpreadConstraints[].labelSelector/set", PODS,
         {"metadata.labels": {"app": "web"}, f"spec.{_TERMS}": [{**_TERM, "mismatchLabelKeys": ["app", "no"]}]},
         f"spec.{_TERMS}[0].labelSelector", {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}),
)  # fmt: skip

_HOOK = "lifecycle.preStop"
_EXEC, _HTTP = {"exec": {"command": ["true"]}}, {"httpGet": {"path": "/", "port": 80}}
_DELIVERED = {"env": "REASON"}


def _delivery(rule: str, action: dict[str, Any], delivery: dict[str, Any], field_error: str) -> Broken:
    hook = {f"{_C}{_HOOK}": {**action, "reasonDelivery": delivery}}
    return Broken(
        f"{_CS}{_HOOK}.reasonDelivery{rule}", PODS, hook, f"{_C}{_HOOK}.reasonDelivery{field_error}"
    )


def _given(delivery: Any, ctx: Any = None) -> Done:
    hook = {f"{_C}{_HOOK}": {**_EXEC, "reasonDelivery": _DELIVERED}}
    return Done(
        f"{_CS}{_HOOK}.reasonDelivery/dropped", PODS, hook, f"{_C}{_HOOK}.reasonDelivery", delivery, ctx
    )


REASONS: Cases = (
    _given(_DELIVERED),
    _given(None, context(gates="PodTerminationReason")),
    _delivery(".header/forbidden", _EXEC, {"header": "Reason"}, ".header: Forbidden: may only be set for a hook with `httpGet`"),
    _delivery(".env/forbidden", _HTTP, {"env": "REASON"}, ".env: Forbidden: may only be set for a hook with `exec`"),
    _delivery(".env/forbidden", {"sleep": {"seconds": 1}}, {"env": "REASON"}, ".env: Forbidden: may only be set for a hook with `exec`"),
    _delivery("/invalid", _EXEC, {"env": "REASON", "header": "Reason"},
              ': Invalid value: {"env":"REASON","header":"Reason"}: may not specify both `env` and `header`'),
    _delivery(".env/invalid", _EXEC, {"env": "A=B"},
              '.env: Invalid value: "A=B": a valid environment variable name must consist only of printable ASCII characters other than \'=\''),
    _delivery("/required", _EXEC, {}, ": Required value: must specify `env` or `header`; leave it out for the default"),
    _delivery(".header/invalid", _HTTP, {"header": "A: b\r\nC"},
              ".header: Invalid value: \"A: b\\r\\nC\": must be the name of an HTTP header: letters, digits and !#$%&'*+-.^_`|~"),
    _delivery(".header/invalid", _HTTP, {"header": "content-LENGTH"},
              '.header: Invalid value: "content-LENGTH": must not be a header by which HTTP delimits or routes messages; choose another name'),
)  # fmt: skip

_MODE = "must be a number between 0 and 0777 (octal), both inclusive"


def _from(rule: str, source: dict[str, Any], field_error: str) -> Broken:
    return Broken(
        f"Pod/spec.volumes[].{rule}",
        PODS,
        {"spec.volumes": [{"name": "v", **source}]},
        f"spec.volumes[0].{field_error}",
    )


SOURCES: Cases = (
    _from("emptyDir.sizeLimit/forbidden", {"emptyDir": {"sizeLimit": "-1"}}, "emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"),
    _from("hostPath.type/unsupported", {"hostPath": {"path": "/", "type": "x"}},
          'hostPath.type: Unsupported value: "x": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"'),
    _from("secret.defaultMode/invalid", {"secret": {"secretName": "s", "defaultMode": 512}}, f"secret.defaultMode: Invalid value: 512: {_MODE}"),
    _from("secret.items[].path/required", {"secret": {"secretName": "s", "items": [{"key": "k"}]}}, "secret.items[0].path: Required value"),
    _from("secret.items[].path/invalid", {"secret": {"secretName": "s", "items": [{"key": "k", "path": "..a"}]}},
          "secret.items[0].path: Invalid value: \"..a\": must not start with '..'"),
    _from("secret.items[].mode/invalid", {"secret": {"secretName": "s", "items": [{"key": "k", "path": "a", "mode": -1}]}},
          f"secret.items[0].mode: Invalid value: -1: {_MODE}"),
    Done("Pod/spec.volumes[].image.pullPolicy/default", PODS, {"spec.volumes": [{"name": "v", "image": {"reference": "r:1"}}]},
         "spec.volumes[0].image.pullPolicy", "IfNotPresent"),
)  # fmt: skip

CASES: Cases = (*REASONS, *SOURCES, *LABEL_KEYS, *NETWORK, *CLAIMS, *RESTARTS, *MOUNTS, *EPHEMERAL)
