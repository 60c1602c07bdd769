"""Cases of pods: what their containers may do on the host, and what their volumes are by default."""

# ruff: noqa: E501 - the rows of a table are as long as their messages
from __future__ import annotations

from typing import Any

from admission.case_types import Broken, Cases, Done
from admission.cases_metadata import SUBDOMAIN
from vacate.admission.pods.profile_annotations import APPARMOR_CONTAINER, SECCOMP_CONTAINER, SECCOMP_POD
from vacate.api.kinds import PODS

_V = "Pod/spec.volumes[]."
_S = "spec.securityContext."
_C = "spec.containers[0].securityContext"
_RANGE = "must be between 0 and 2147483647, inclusive"
_TYPES = 'supported values: "Localhost", "RuntimeDefault", "Unconfined"'
_SYSCTL = r"must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
_CONTEXT = (
    '{"Capabilities":%s,"Privileged":%s,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,'
    '"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,'
    '"SeccompProfile":null,"AppArmorProfile":null}'
)
_PRIVILEGED = _CONTEXT % ("null", "true")
_ADMIN = _CONTEXT % ('{"Add":["CAP_SYS_ADMIN"],"Drop":null}', "null")
_NO_ESCALATION = "cannot set `allowPrivilegeEscalation` to false and"
_USERS = {"spec.hostUsers": False}
_NOTE = f"metadata.annotations[{APPARMOR_CONTAINER}"
_MISMATCH = "type in annotation and field must match"


def _note(key: str) -> str:
    return f"metadata.annotations[{key}]"


def _pod(rule: str, key: str, value: Any, fault: str) -> Broken:
    return Broken(f"Pod/{_S}{rule}", PODS, {f"{_S}{key}": value}, f"{_S}{fault}")


def _container(rule: str, value: Any, fault: str, **more: Any) -> Broken:
    return Broken(f"Pod/spec.containers[].securityContext{rule}", PODS, {_C: value, **more}, f"{_C}{fault}")


VOLUMES: Cases = (
    Done(f"{_V}iscsi.iscsiInterface/default", PODS, {"spec.volumes": [{"name": "v", "iscsi": {}}]},
         "spec.volumes[0].iscsi.iscsiInterface", "default"),
    Done(f"{_V}iscsi.iscsiInterface/default", PODS, {"spec.volumes": [{"name": "v", "azureDisk": {"kind": "Managed"}}]},
         "spec.volumes[0].azureDisk",
         {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Managed", "diskName": "", "diskURI": ""}),
    Done(f"{_V}ephemeral.volumeClaimTemplate.spec.volumeMode/default", PODS,
         {"spec.volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {"limits": {"storage": "1024Mi"}}}}}}]},
         "spec.volumes[0].ephemeral.volumeClaimTemplate.spec",
         {"volumeMode": "Filesystem", "resources": {"limits": {"storage": "1Gi"}}}),
)  # fmt: skip

CONTEXTS: Cases = (
    _pod("runAsUser/invalid", "runAsUser", -1, f"runAsUser: Invalid value: -1: {_RANGE}"),
    Broken("Pod/spec.securityContext.supplementalGroups[]/invalid", PODS, {f"{_S}supplementalGroups": [1, 2**31]},
           f"{_S}supplementalGroups[1]: Invalid value: 2147483648: {_RANGE}"),
    Broken("Pod/spec.securityContext.shareProcessNamespace/invalid", PODS, {"spec.hostPID": True, "spec.shareProcessNamespace": True},
           f"{_S}shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled"),
    _pod("sysctls[].name/required", "sysctls", [{"name": ""}], "sysctls[0].name: Required value"),
    _pod("sysctls[].name/invalid", "sysctls", [{"name": "a..b"}], f'sysctls[0].name: Invalid value: "a..b": {_SYSCTL}'),
    _pod("sysctls[].name/duplicate", "sysctls", [{"name": "a.b"}, {"name": "a.b"}], 'sysctls[1].name: Duplicate value: "a.b"'),
    Broken("Pod/spec.securityContext.sysctls[].name/invalid/host", PODS,
           {"spec.hostNetwork": True, f"{_S}sysctls": [{"name": "net/ipv4/a.b"}]},
           f"{_S}sysctls[0].name: Invalid value: \"net/ipv4/a.b\": may not be specified when 'hostNetwork' is true"),
    Broken("Pod/spec.securityContext.sysctls[].name/invalid/host", PODS,
           {"spec.hostIPC": True, f"{_S}sysctls": [{"name": "kernel.shm_rmid_forced"}]},
           f"{_S}sysctls[0].name: Invalid value: \"kernel.shm_rmid_forced\": may not be specified when 'hostIPC' is true"),
    _pod("fsGroupChangePolicy/unsupported", "fsGroupChangePolicy", "x",
         'fsGroupChangePolicy: Unsupported value: "x": supported values: "Always", "OnRootMismatch"'),
    _pod("supplementalGroupsPolicy/unsupported", "supplementalGroupsPolicy", "",
         'supplementalGroupsPolicy: Unsupported value: "": supported values: "Merge", "Strict"'),
    _pod("seLinuxChangePolicy/unsupported", "seLinuxChangePolicy", "MountOption",
         'seLinuxChangePolicy: Unsupported value: "MountOption": supported values: "Recursive"'),
    _container(".runAsUser/invalid", {"runAsUser": -5}, f".runAsUser: Invalid value: -5: {_RANGE}"),
    _container(".procMount/unsupported", {"procMount": "x"},
               '.procMount: Unsupported value: "x": supported values: "Default", "Unmasked"'),
    _container(".procMount/invalid", {"procMount": "Unmasked"},
               '.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`'),
    _container("/invalid", {"privileged": True, "allowPrivilegeEscalation": False},
               f": Invalid value: {_PRIVILEGED}: {_NO_ESCALATION} `privileged` to true"),
    _container("/invalid/admin", {"capabilities": {"add": ["CAP_SYS_ADMIN"]}, "allowPrivilegeEscalation": False},
               f": Invalid value: {_ADMIN}: {_NO_ESCALATION} `capabilities.Add` CAP_SYS_ADMIN"),
    Broken("Pod/spec.hostNetwork/forbidden", PODS, {**_USERS, "spec.hostNetwork": True},
           "spec.hostNetwork: Forbidden: when `hostUsers` is false"),
    Broken("Pod/spec.HostPID/forbidden", PODS, {**_USERS, "spec.hostPID": True}, "spec.HostPID: Forbidden: when `hostUsers` is false"),
    Broken("Pod/spec.containers[].volumeDevices/forbidden", PODS,
           {**_USERS, "spec.containers[0].volumeDevices": [{"name": "v", "devicePath": "/v"}]},
           "spec.containers[0].volumeDevices: Forbidden: when `hostUsers` is false"),
)  # fmt: skip

PROFILES: Cases = (
    _pod("seccompProfile.type/required", "seccompProfile", {}, "seccompProfile.type: Required value: type is required when seccompProfile is set"),
    _pod("seccompProfile.type/unsupported", "seccompProfile", {"type": "x"}, f'seccompProfile.type: Unsupported value: "x": {_TYPES}'),
    _pod("seccompProfile.localhostProfile/required", "seccompProfile", {"type": "Localhost"},
         "seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost"),
    _pod("seccompProfile.localhostProfile/invalid", "seccompProfile", {"type": "Localhost", "localhostProfile": "/a"},
         'seccompProfile.localhostProfile: Invalid value: "/a": must be a relative path'),
    _pod("seccompProfile.localhostProfile/invalid", "seccompProfile", {"type": "Localhost", "localhostProfile": "a/.."},
         "seccompProfile.localhostProfile: Invalid value: \"a/..\": must not contain '..'"),
    _pod("seccompProfile.localhostProfile/invalid/type", "seccompProfile", {"type": "Unconfined", "localhostProfile": "a"},
         'seccompProfile.localhostProfile: Invalid value: {"Type":"Unconfined","LocalhostProfile":"a"}: can only be set when seccomp type is Localhost'),
    Broken("Pod/spec.securityContext.seccompProfile.type/forbidden", PODS,
           {f"{_S}seccompProfile": {"type": "Unconfined"}, _note(SECCOMP_POD): "runtime/default"},
           f"{_S}seccompProfile.type: Forbidden: seccomp {_MISMATCH}"),
    Broken("Pod/spec.securityContext.seccompProfile.localhostProfile/forbidden", PODS,
           {f"{_S}seccompProfile": {"type": "Localhost", "localhostProfile": "a"}, _note(SECCOMP_POD): "localhost/b"},
           f"{_S}seccompProfile.localhostProfile: Forbidden: seccomp profile in annotation and field must match"),
    _pod("appArmorProfile.type/required", "appArmorProfile", {}, "appArmorProfile.type: Required value: type is required when appArmorProfile is set"),
    _pod("appArmorProfile.type/unsupported", "appArmorProfile", {"type": "x"}, f'appArmorProfile.type: Unsupported value: "x": {_TYPES}'),
    _pod("appArmorProfile.localhostProfile/required", "appArmorProfile", {"type": "Localhost", "localhostProfile": ""},
         "appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost"),
    _pod("appArmorProfile.localhostProfile/invalid", "appArmorProfile", {"type": "Localhost", "localhostProfile": " a"},
         'appArmorProfile.localhostProfile: Invalid value: " a": must not be padded with whitespace'),
    _pod("appArmorProfile.localhostProfile/invalid/type", "appArmorProfile", {"type": "Unconfined", "localhostProfile": "a"},
         'appArmorProfile.localhostProfile: Invalid value: "a": can only be set when AppArmor type is Localhost'),
    _pod("appArmorProfile.localhostProfile/too-long", "appArmorProfile", {"type": "Localhost", "localhostProfile": "a" * 4096},
         "appArmorProfile.localhostProfile: Too long: may not be more than 4095 bytes"),
    Broken("Pod/spec.containers[].securityContext.appArmorProfile.type/forbidden", PODS,
           {f"{_S}appArmorProfile": {"type": "Unconfined"}, f"{_C}.appArmorProfile": {"type": "Unconfined"},
            _note(f"{APPARMOR_CONTAINER}web"): "runtime/default"},
           f"{_C}.appArmorProfile.type: Forbidden: apparmor {_MISMATCH}"),
    Broken("Pod/spec.containers[].securityContext.appArmorProfile.localhostProfile/forbidden", PODS,
           {f"{_C}.appArmorProfile": {"type": "Localhost", "localhostProfile": "a"}, _note(f"{APPARMOR_CONTAINER}web"): "localhost/b"},
           f"{_C}.appArmorProfile.localhostProfile: Forbidden: apparmor profile in annotation and field must match"),
    Broken(f"Pod/metadata.annotations.{SECCOMP_POD}/invalid", PODS, {_note(SECCOMP_POD): "x"},
           f'metadata.annotations.{SECCOMP_POD}: Invalid value: "x": must be a valid seccomp profile'),
    Broken(f"Pod/metadata.annotations[{APPARMOR_CONTAINER}c]/invalid", PODS, {_note(f"{APPARMOR_CONTAINER}c"): "unconfined"},
           f'{_NOTE}c]: Invalid value: "c": container not found'),
    Broken(f"Pod/metadata.annotations[{APPARMOR_CONTAINER}c]/invalid/profile", PODS, {_note(f"{APPARMOR_CONTAINER}web"): "x"},
           f'{_NOTE}web]: Invalid value: "x": invalid AppArmor profile name: "x"'),
    Done("Pod/spec.containers[].securityContext.appArmorProfile/set", PODS, {_note(f"{APPARMOR_CONTAINER}web"): "localhost/a"},
         f"{_C}.appArmorProfile", {"type": "Localhost", "localhostProfile": "a"}),
    Done("Pod/spec.containers[].securityContext.appArmorProfile/set", PODS,
         {_note(f"{APPARMOR_CONTAINER}web"): "unconfined", f"{_S}appArmorProfile": {"type": "Unconfined"}}, _C, None),
    Done("Pod/spec.containers[].securityContext.appArmorProfile/set", PODS, {_note(f"{SECCOMP_CONTAINER}web"): "unconfined"}, _C, None),
)  # fmt: skip

_W = "windowsOptions."
_ALL_OR_NONE = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
WINDOWS: Cases = (
    _pod(f"{_W}gmsaCredentialSpecName/invalid", f"{_W}gmsaCredentialSpecName", "A", f'{_W}gmsaCredentialSpecName: Invalid value: "A": {SUBDOMAIN}'),
    _pod(f"{_W}gmsaCredentialSpec/invalid", f"{_W}gmsaCredentialSpec", "", f'{_W}gmsaCredentialSpec: Invalid value: "": gmsaCredentialSpec cannot be an empty string'),
    _pod(f"{_W}runAsUserName/invalid", f"{_W}runAsUserName", "", f'{_W}runAsUserName: Invalid value: "": runAsUserName cannot be an empty string'),
    _pod(f"{_W}runAsUserName/invalid", f"{_W}runAsUserName", "a\x01", f'{_W}runAsUserName: Invalid value: "a\\u0001": runAsUserName cannot contain control characters'),
    _pod(f"{_W}runAsUserName/invalid", f"{_W}runAsUserName", "a\\b\\c", f'{_W}runAsUserName: Invalid value: "a\\\\b\\\\c": runAsUserName cannot contain more than one backslash'),
    _pod(f"{_W}runAsUserName/invalid", f"{_W}runAsUserName", "a:\\b", f'{_W}runAsUserName: Invalid value: "a:\\\\b": runAsUserName\'s Domain doesn\'t match the NetBios nor the DNS format'),
    _pod(f"{_W}runAsUserName/invalid", f"{_W}runAsUserName", "a\\", f'{_W}runAsUserName: Invalid value: "a\\\\": runAsUserName\'s User cannot be empty'),
    _pod(f"{_W}runAsUserName/invalid", f"{_W}runAsUserName", "..", f'{_W}runAsUserName: Invalid value: "..": runAsUserName\'s User cannot contain only periods or spaces'),
    _pod(f"{_W}runAsUserName/invalid", f"{_W}runAsUserName", "a@", f'{_W}runAsUserName: Invalid value: "a@": runAsUserName\'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]'),
    _container(".windowsOptions.hostProcess/invalid", {"windowsOptions": {"hostProcess": False}},
               ".windowsOptions.hostProcess: Invalid value: false: pod hostProcess value must be identical if both are specified, was true",
               **{f"{_S}windowsOptions": {"hostProcess": True}}),
    Broken("Pod/spec/invalid/hostProcess", PODS,
           {f"{_C}.windowsOptions": {"hostProcess": True}, "spec.containers[1]": {"name": "b", "image": "b"}},
           f'spec: Invalid value: "": {_ALL_OR_NONE}'),
    Broken("Pod/spec.hostNetwork/invalid", PODS, {f"{_S}windowsOptions": {"hostProcess": True}},
           "spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers"),
    Broken("Pod/spec.os.name/required", PODS, {"spec.os": {}}, "spec.os.name: Required value"),
    Broken("Pod/spec.os/unsupported", PODS, {"spec.os": {"name": "bsd"}}, 'spec.os: Unsupported value: "bsd": supported values: "linux", "windows"'),
    Broken("Pod/spec.securityContext.windowsOptions/forbidden", PODS, {"spec.os": {"name": "linux"}, f"{_S}windowsOptions": {}},
           f"{_S}windowsOptions: Forbidden: windows options cannot be set for a linux pod"),
    Broken("Pod/spec.securityContext.runAsUser/forbidden", PODS, {"spec.os": {"name": "windows"}, f"{_S}runAsUser": 1},
           f"{_S}runAsUser: Forbidden: cannot be set for a windows pod"),
)  # fmt: skip

CASES: Cases = (*VOLUMES, *CONTEXTS, *PROFILES, *WINDOWS)
