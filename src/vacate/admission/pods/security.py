"""Security contexts of pods and of their containers."""

from __future__ import annotations

import re
from typing import Any

from vacate.admission.faults import complaints, unsupported
from vacate.admission.formats import in_range
from vacate.admission.pods.profiles import apparmor_faults, containers_of, seccomp_faults
from vacate.admission.pods.windows import windows_option_faults
from vacate.admission.rules import table
from vacate.admission.shape import integer, mapping, maps, sequence, text
from vacate.api.field import Fault, FieldError, duplicate, forbidden, invalid, required
from vacate.api.objects import Obj, dig
from vacate.api.schema.internal import internal_form

_INT32 = 2**31 - 1
_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"^({_SEGMENT}[\./])*{_SEGMENT}$"
_SYSCTL_FORMAT = re.compile(_SYSCTL)
_LONGEST_SYSCTL = 253
_OF_MESSAGES = frozenset(
    f"kernel.{name}"
    for name in (
        "sem",
        "shmall",
        "shmmax",
        "shmmni",
        "shm_rmid_forced",
        "shm",
        "msgmax",
        "msgmnb",
        "msgmni",
        "msg",
    )
)
_CHOICES = (
    ("supplementalGroupsPolicy", ("Merge", "Strict")),
    # Of the two policies that there are the other one wants a gate that is off by default.
    ("seLinuxChangePolicy", ("Recursive",)),
)
_PROC_MOUNTS = ("Default", "Unmasked")

RULES = table(
    "Pod",
    ("spec.securityContext.runAsUser", Fault.INVALID, "0 to 2147483647; runAsGroup and fsGroup too"),
    ("spec.securityContext.supplementalGroups[]", Fault.INVALID, "0 to 2147483647"),
    ("spec.securityContext.shareProcessNamespace", Fault.INVALID, "not with hostPID"),
    ("spec.securityContext.sysctls[].name", Fault.REQUIRED, "not empty"),
    ("spec.securityContext.sysctls[].name", Fault.INVALID, "words with dots or slashes between them"),
    ("spec.securityContext.sysctls[].name", Fault.DUPLICATE, "unique"),
    ("spec.securityContext.sysctls[].name#host", Fault.INVALID, "none of a namespace that is the host's"),
    ("spec.securityContext.fsGroupChangePolicy", Fault.NOT_SUPPORTED, "Always or OnRootMismatch"),
    ("spec.securityContext.supplementalGroupsPolicy", Fault.NOT_SUPPORTED, "Merge or Strict"),
    ("spec.securityContext.seLinuxChangePolicy", Fault.NOT_SUPPORTED, "Recursive"),
    ("spec.containers[].securityContext.runAsUser", Fault.INVALID, "0 to 2147483647; runAsGroup too"),
    ("spec.containers[].securityContext.procMount", Fault.NOT_SUPPORTED, "Default or Unmasked"),
    ("spec.containers[].securityContext.procMount", Fault.INVALID, "Unmasked only with hostUsers false"),
    ("spec.containers[].securityContext", Fault.INVALID, "privileged only with escalation"),
    ("spec.containers[].securityContext#admin", Fault.INVALID, "CAP_SYS_ADMIN only with escalation"),
    ("spec.hostNetwork", Fault.FORBIDDEN, "not with hostUsers false"),
    ("spec.HostPID", Fault.FORBIDDEN, "not with hostUsers false; HostIPC too (the real path)"),
    ("spec.containers[].volumeDevices", Fault.FORBIDDEN, "not with hostUsers false"),
)  # fmt: skip


def pod_context_faults(spec: Obj, path: str) -> list[FieldError]:
    """The security context of a pod."""
    context, where = mapping(spec.get("securityContext")), f"{path}.securityContext"
    if not context and not spec.get("hostPID"):
        return []
    found = [
        fault for key in ("fsGroup", "runAsUser", "runAsGroup") for fault in _id_faults(context, key, where)
    ]
    for index, group in enumerate(sequence(context.get("supplementalGroups"))):
        found += complaints(
            f"{where}.supplementalGroups[{index}]", group, in_range(integer(group), 0, _INT32)
        )
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        found.append(invalid(f"{where}.shareProcessNamespace", True, detail))
    found += _sysctl_faults(maps(context.get("sysctls")), spec, f"{where}.sysctls")
    found += _choice_faults(context, "fsGroupChangePolicy", ("Always", "OnRootMismatch"), where)
    found += _shared_faults(context, where)
    return found + [fault for key, known in _CHOICES for fault in _choice_faults(context, key, known, where)]


def container_context_faults(context: Any, path: str, host_users: bool) -> list[FieldError]:
    """The security context of a container, where there is one."""
    if type(context) is not dict:
        return []
    found = [*_id_faults(context, "runAsUser", path), *_id_faults(context, "runAsGroup", path)]
    found += _choice_faults(context, "procMount", _PROC_MOUNTS, path)
    if host_users and context.get("procMount") == "Unmasked":
        detail = "`hostUsers` must be false to use `Unmasked`"
        found.append(invalid(f"{path}.procMount", "Unmasked", detail))
    found += seccomp_faults(context.get("seccompProfile"), f"{path}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        shown = internal_form("SecurityContext", context)
        found += [invalid(path, shown, detail) for detail in _escalations(context)]
    found += windows_option_faults(context.get("windowsOptions"), f"{path}.windowsOptions")
    return found + apparmor_faults(context.get("appArmorProfile"), f"{path}.appArmorProfile")


def host_user_faults(spec: Obj, path: str) -> list[FieldError]:
    """With users of its own a pod shares nothing else with the host."""
    if spec.get("hostUsers") is not False:
        return []
    shared = [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")]
    places = [f"{path}.{shown}" for key, shown in shared if spec.get(key)]
    places += [
        f"{where}.volumeDevices"
        for where, container in containers_of(spec, path)
        if sequence(container.get("volumeDevices"))
    ]
    return [forbidden(place, "when `hostUsers` is false") for place in places]


def _shared_faults(context: Obj, path: str) -> list[FieldError]:
    found = seccomp_faults(context.get("seccompProfile"), f"{path}.seccompProfile")
    found += windows_option_faults(context.get("windowsOptions"), f"{path}.windowsOptions")
    return found + apparmor_faults(context.get("appArmorProfile"), f"{path}.appArmorProfile")


def _id_faults(context: Obj, key: str, path: str) -> list[FieldError]:
    number = context.get(key)
    if number is None:
        return []
    return complaints(f"{path}.{key}", number, in_range(integer(number), 0, _INT32))


def _choice_faults(context: Obj, key: str, known: tuple[str, ...], path: str) -> list[FieldError]:
    chosen = context.get(key)
    return [] if chosen is None or chosen in known else [unsupported(f"{path}.{key}", chosen, known)]


def _escalations(context: Obj) -> list[str]:
    said = "cannot set `allowPrivilegeEscalation` to false and "
    found = [f"{said}`privileged` to true"] if context.get("privileged") else []
    added = sequence(dig(context, "capabilities", "add"))
    return found + [f"{said}`capabilities.Add` CAP_SYS_ADMIN" for one in added if one == "CAP_SYS_ADMIN"]


def _sysctl_faults(sysctls: list[Obj], spec: Obj, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    names: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        where, name = f"{path}[{index}].name", text(sysctl.get("name"))
        if not name:
            found.append(required(where))
        elif len(name) > _LONGEST_SYSCTL or not _SYSCTL_FORMAT.fullmatch(name):
            detail = f"must have at most {_LONGEST_SYSCTL} characters and match regex {_SYSCTL}"
            found.append(invalid(where, name, detail))
        elif name in names:
            found.append(duplicate(where, name))
        if taken := _of_the_host(name, spec):
            found.append(invalid(where, name, f"may not be specified when '{taken}' is true"))
        names.add(name)
    return found


def _of_the_host(name: str, spec: Obj) -> str:
    """Which of the host's namespaces the pod lives in and would change for everybody."""
    normal = _with_dots(name).partition("*")[0]
    if normal.startswith("net."):
        return "hostNetwork" if spec.get("hostNetwork") else ""
    if normal in _OF_MESSAGES or normal.startswith("fs.mqueue."):
        return "hostIPC" if spec.get("hostIPC") else ""
    return ""


def _with_dots(name: str) -> str:
    """Slashes as dots and the other way round, where a slash comes first."""
    first = re.search(r"[./]", name)
    if first is None or first[0] == ".":
        return name
    return name.translate(str.maketrans("./", "/."))
