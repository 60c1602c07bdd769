"""What only Windows has, and what it has not."""

from __future__ import annotations

import re
from typing import Any

from vacate.admission.faults import complaints, unsupported
from vacate.admission.formats import name_is_subdomain
from vacate.admission.pods.profiles import containers_of
from vacate.admission.rules import table
from vacate.admission.shape import mapping, maps, text
from vacate.api.field import Fault, FieldError, Typed, forbidden, invalid, required
from vacate.api.objects import Obj, dig

_CREDENTIAL_KIB = 64
_LONGEST_DOMAIN, _LONGEST_USER = 256, 104
_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DOMAIN = re.compile(rf'[^\\/:*?"<>|.][^\\/:*?"<>|]{{0,14}}|{_LABEL}(?:\.{_LABEL})*')
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NO_USER = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
_SYSTEMS = ("linux", "windows")
# What a pod for Windows may not say, in the order in which it is looked for, and where it is said.
_OF_LINUX_PODS = (
    "securityContext.appArmorProfile", "securityContext.seLinuxOptions", "hostUsers", "hostPID", "hostIPC",
    "securityContext.seccompProfile", "securityContext.fsGroup", "securityContext.fsGroupChangePolicy",
    "securityContext.sysctls", "shareProcessNamespace", "securityContext.runAsUser",
    "securityContext.runAsGroup", "securityContext.supplementalGroups",
    "securityContext.supplementalGroupsPolicy", "securityContext.seLinuxChangePolicy",
)  # fmt: skip
_OF_LINUX_CONTAINERS = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem",
    "privileged", "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup",
)  # fmt: skip
_CONTAINER_OPTIONS = "spec.containers[].securityContext.windowsOptions"

RULES = table(
    "Pod",
    ("spec.securityContext.windowsOptions.gmsaCredentialSpecName", Fault.INVALID, "a DNS subdomain"),
    ("spec.securityContext.windowsOptions.gmsaCredentialSpec", Fault.INVALID, "not empty, at most 64 KiB"),
    ("spec.securityContext.windowsOptions.runAsUserName", Fault.INVALID, "DOMAIN\\USER or USER"),
    (f"{_CONTAINER_OPTIONS}.hostProcess", Fault.INVALID, "as the pod has it"),
    ("spec#hostProcess", Fault.INVALID, "hostProcess for all containers or for none"),
    ("spec.hostNetwork", Fault.INVALID, "true with hostProcess"),
    ("spec.os.name", Fault.REQUIRED, "where there is os"),
    ("spec.os", Fault.NOT_SUPPORTED, "linux or windows (the path is the real server's)"),
    ("spec.securityContext.windowsOptions", Fault.FORBIDDEN, "not with os linux; containers too"),
    ("spec.securityContext.runAsUser", Fault.FORBIDDEN, "not with os windows, as much else; containers too"),
)


def windows_option_faults(options: Any, path: str) -> list[FieldError]:
    """The options of a pod or of a container, where there are any."""
    if type(options) is not dict:
        return []
    options = {key: Typed(value) if type(value) is str else value for key, value in options.items()}
    found: list[FieldError] = []
    if (name := options.get("gmsaCredentialSpecName")) is not None:
        found += complaints(f"{path}.gmsaCredentialSpecName", name, name_is_subdomain(str(name), False))
    if (credential := options.get("gmsaCredentialSpec")) is not None:
        where = f"{path}.gmsaCredentialSpec"
        if not credential:
            found.append(invalid(where, credential, "gmsaCredentialSpec cannot be an empty string"))
        elif len(str(credential).encode(errors="surrogatepass")) > _CREDENTIAL_KIB * 1024:
            detail = f"gmsaCredentialSpec size must be under {_CREDENTIAL_KIB} KiB"
            found.append(invalid(where, credential, detail))
    if (user := options.get("runAsUserName")) is not None:
        where = f"{path}.runAsUserName"
        found += [invalid(where, user, f"runAsUserName{detail}") for detail in _user_complaints(str(user))]
    return found


def _user_complaints(name: str) -> list[str]:
    if not name:
        return [" cannot be an empty string"]
    if _CONTROL.search(name):
        return [" cannot contain control characters"]
    domain, backslash, user = name.rpartition("\\")
    if "\\" in domain:
        return [" cannot contain more than one backslash"]
    found = []
    if len(domain.encode(errors="surrogatepass")) >= _LONGEST_DOMAIN:
        found.append(f"'s Domain length must be under {_LONGEST_DOMAIN} characters")
    if backslash and not _DOMAIN.fullmatch(domain):
        found.append("'s Domain doesn't match the NetBios nor the DNS format")
    if not user:
        found.append("'s User cannot be empty")
    elif len(user.encode(errors="surrogatepass")) > _LONGEST_USER:
        found.append(f"'s User length must not be longer than {_LONGEST_USER} characters")
    if user and not user.strip(". "):
        found.append("'s User cannot contain only periods or spaces")
    if _NO_USER.search(user):
        found.append("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return found


def host_process_faults(spec: Obj, path: str) -> list[FieldError]:
    """Processes of the host: all containers or none, and on the host's network."""
    of_pod = dig(spec, "securityContext", "windowsOptions", "hostProcess")
    sorts = (key for key in ("containers", "initContainers", "ephemeralContainers") if key in spec)
    if of_pod is None and not any("securityContext" in one for key in sorts for one in maps(spec[key])):
        return []
    found: list[FieldError] = []
    containers = list(containers_of(spec, path))
    on_host = 0
    for where, container in containers:
        own = dig(container, "securityContext", "windowsOptions", "hostProcess")
        if of_pod is not None and own is not None and own != of_pod:
            said = f"pod hostProcess value must be identical if both are specified, was {str(of_pod).lower()}"
            found.append(invalid(f"{where}.securityContext.windowsOptions.hostProcess", own, said))
        on_host += bool(of_pod if own is None else own)
    if on_host and on_host != len(containers):
        detail = (
            "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        )
        found.append(invalid(path, "", detail))
    if on_host and not spec.get("hostNetwork"):
        detail = "hostNetwork must be true if pod contains any hostProcess containers"
        found.append(invalid(f"{path}.hostNetwork", False, detail))
    return found


def system_faults(spec: Obj, path: str) -> list[FieldError]:
    """The operating system that the pod is for, and what does not go with it."""
    system = spec.get("os")
    if type(system) is not dict:
        return []
    name = text(system.get("name"))
    if not name:
        return [required(f"{path}.os.name")]
    if name not in _SYSTEMS:
        return [unsupported(f"{path}.os", name, _SYSTEMS)]
    return _linux_faults(spec, path) if name == "linux" else _windows_faults(spec, path)


def _linux_faults(spec: Obj, path: str) -> list[FieldError]:
    parts = [(path, spec), *containers_of(spec, path)]
    detail = "windows options cannot be set for a linux pod"
    return [
        forbidden(f"{where}.securityContext.windowsOptions", detail)
        for where, part in parts
        if dig(part, "securityContext", "windowsOptions") is not None
    ]


def _windows_faults(spec: Obj, path: str) -> list[FieldError]:
    said = [f"{path}.{key}" for key in _OF_LINUX_PODS if _is_said(spec, key)]
    for where, container in containers_of(spec, path):
        own = mapping(container.get("securityContext"))
        said += [f"{where}.securityContext.{key}" for key in _OF_LINUX_CONTAINERS if own.get(key) is not None]
    return [forbidden(place, "cannot be set for a windows pod") for place in said]


def _is_said(spec: Obj, key: str) -> bool:
    value = dig(spec, *key.split("."))
    return bool(value) if key in ("hostPID", "hostIPC") else value is not None
