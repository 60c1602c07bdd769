"""Seccomp and AppArmor profiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vacate.admission.faults import unsupported
from vacate.admission.rules import table
from vacate.admission.shape import maps, text
from vacate.api.field import Fault, FieldError, Typed, invalid, required, too_long
from vacate.api.objects import Obj
from vacate.api.schema.internal import internal_form

TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
"""What a profile can be."""
_LONGEST_PATH = 4095

RULES = table(
    "Pod",
    ("spec.securityContext.seccompProfile.type", Fault.REQUIRED, "where there is a profile"),
    ("spec.securityContext.seccompProfile.type", Fault.NOT_SUPPORTED, "one of three"),
    ("spec.securityContext.seccompProfile.localhostProfile", Fault.REQUIRED, "with Localhost"),
    ("spec.securityContext.seccompProfile.localhostProfile", Fault.INVALID, "relative and without .."),
    ("spec.securityContext.seccompProfile.localhostProfile#type", Fault.INVALID, "only with Localhost"),
    ("spec.securityContext.appArmorProfile.type", Fault.REQUIRED, "where there is a profile"),
    ("spec.securityContext.appArmorProfile.type", Fault.NOT_SUPPORTED, "one of three"),
    ("spec.securityContext.appArmorProfile.localhostProfile", Fault.REQUIRED, "with Localhost"),
    ("spec.securityContext.appArmorProfile.localhostProfile", Fault.INVALID, "no white space around it"),
    ("spec.securityContext.appArmorProfile.localhostProfile#type", Fault.INVALID, "only with Localhost"),
    ("spec.securityContext.appArmorProfile.localhostProfile", Fault.TOO_LONG, "at most 4095 bytes"),
)  # fmt: skip


def seccomp_faults(profile: Any, path: str) -> list[FieldError]:
    """A seccomp profile, where there is one."""
    if type(profile) is not dict:
        return []
    found = _type_faults(profile, path, "seccompProfile")
    where, local = f"{path}.localhostProfile", profile.get("localhostProfile")
    if profile.get("type") != "Localhost":
        if local is not None:
            shown = internal_form("SeccompProfile", profile)
            found.append(invalid(where, shown, "can only be set when seccomp type is Localhost"))
    elif local is None:
        found.append(required(where, "must be set when seccomp type is Localhost"))
    else:
        found += descending_faults(text(local), where)
    return found


def apparmor_faults(profile: Any, path: str) -> list[FieldError]:
    """An AppArmor profile, where there is one."""
    if type(profile) is not dict:
        return []
    where, local = f"{path}.localhostProfile", profile.get("localhostProfile")
    if profile.get("type") == "Localhost":
        return _apparmor_path_faults(local, where)
    found = _type_faults(profile, path, "appArmorProfile")
    if not found and local is not None:
        found.append(invalid(where, Typed(local), "can only be set when AppArmor type is Localhost"))
    return found


def _type_faults(profile: Obj, path: str, what: str) -> list[FieldError]:
    sort = text(profile.get("type"))
    if not sort:
        return [required(f"{path}.type", f"type is required when {what} is set")]
    return [] if sort in TYPES else [unsupported(f"{path}.type", sort, TYPES)]


def _apparmor_path_faults(profile: Any, where: str) -> list[FieldError]:
    missing = required(where, "must be set when AppArmor type is Localhost")
    if profile is None:
        return [missing]
    found, local = [], text(profile)
    if local != local.strip():
        found.append(invalid(where, local, "must not be padded with whitespace"))
    elif not local:
        found.append(missing)
    if len(local.encode(errors="surrogatepass")) > _LONGEST_PATH:
        found.append(too_long(where, _LONGEST_PATH))
    return found


def descending_faults(place: str, path: str) -> list[FieldError]:
    """A path that stays below where it starts."""
    found = [invalid(path, place, "must be a relative path")] if place.startswith("/") else []
    return [*found, invalid(path, place, "must not contain '..'")] if ".." in place.split("/") else found


def containers_of(spec: Obj, path: str) -> Iterator[tuple[str, Obj]]:
    """All containers with their paths, in the order in which they are visited."""
    for key in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(maps(spec.get(key))):
            yield f"{path}.{key}[{index}]", container
