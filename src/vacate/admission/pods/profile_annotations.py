"""Profiles as the annotations that they were before they were fields."""

from __future__ import annotations

from typing import Any

from vacate.admission.pods.profiles import TYPES, apparmor_faults, containers_of, descending_faults
from vacate.admission.rules import Effect, table
from vacate.admission.shape import text
from vacate.api.field import Fault, FieldError, forbidden, invalid
from vacate.api.objects import Obj, dig

SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
APPARMOR_CONTAINER = "container.apparmor.security.beta.kubernetes.io/"
_OF_ANNOTATION = {
    "runtime/default": "RuntimeDefault",
    "docker/default": "RuntimeDefault",
    "unconfined": "Unconfined",
}
_LOCAL = "localhost/"

RULES = table(
    "Pod",
    ("spec.containers[].securityContext.appArmorProfile", Effect.SET, "as annotated, on create"),
    ("spec.securityContext.seccompProfile.type", Fault.FORBIDDEN, "as in the annotation, on create"),
    ("spec.securityContext.seccompProfile.localhostProfile", Fault.FORBIDDEN, "as in the annotation"),
    ("spec.containers[].securityContext.appArmorProfile.type", Fault.FORBIDDEN, "as annotated, on create"),
    ("spec.containers[].securityContext.appArmorProfile.localhostProfile", Fault.FORBIDDEN, "as annotated"),
    (f"metadata.annotations.{SECCOMP_POD}", Fault.INVALID, "a profile; for containers too"),
    (f"metadata.annotations[{APPARMOR_CONTAINER}c]", Fault.INVALID, "a container of the pod"),
    (f"metadata.annotations[{APPARMOR_CONTAINER}c]#profile", Fault.INVALID, "a profile"),
)  # fmt: skip


def annotation_faults(annotations: Obj, spec: Obj, path: str) -> list[FieldError]:
    """Profiles as annotations."""
    found: list[FieldError] = []
    seccomp = [key for key in annotations if key == SECCOMP_POD]
    for key in (*seccomp, *(key for key in annotations if key.startswith(SECCOMP_CONTAINER))):
        found += _seccomp_text_faults(text(annotations[key]), f"{path}.{key}")
    names = [container.get("name") for _, container in containers_of(spec, "")]
    for key in (key for key in annotations if key.startswith(APPARMOR_CONTAINER)):
        name, profile = key.removeprefix(APPARMOR_CONTAINER), text(annotations[key])
        if name not in names:
            found.append(invalid(f"{path}[{key}]", name, "container not found"))
        if profile not in ("", "runtime/default", "unconfined") and not profile.startswith(_LOCAL):
            detail = f'invalid AppArmor profile name: "{profile}"'
            found.append(invalid(f"{path}[{key}]", profile, detail))
    return found


def _seccomp_text_faults(profile: str, path: str) -> list[FieldError]:
    if profile in _OF_ANNOTATION:
        return []
    if profile.startswith(_LOCAL):
        return descending_faults(profile.removeprefix(_LOCAL), path)
    return [invalid(path, profile, "must be a valid seccomp profile")]


def agreement_faults(annotations: Obj, spec: Obj, path: str) -> list[FieldError]:
    """On create, annotations and fields that speak of the same say the same; in templates always."""
    if not annotations:
        return []
    return _seccomp_agreement(annotations, spec, path) + _apparmor_agreement(annotations, spec, path)


def _seccomp_agreement(annotations: Obj, spec: Obj, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    own, said = dig(spec, "securityContext", "seccompProfile"), annotations.get(SECCOMP_POD)
    found += _disagreement(own, said, f"{path}.securityContext.seccompProfile", "seccomp")
    for where, container in containers_of(spec, path):
        said = annotations.get(f"{SECCOMP_CONTAINER}{container.get('name')}")
        profile = dig(container, "securityContext", "seccompProfile")
        found += _disagreement(profile, said, f"{where}.securityContext.seccompProfile", "seccomp")
    return found


def _apparmor_agreement(annotations: Obj, spec: Obj, path: str) -> list[FieldError]:
    if dig(spec, "os", "name") == "windows":
        return []
    found: list[FieldError] = []
    of_pod = dig(spec, "securityContext", "appArmorProfile")
    for where, container in containers_of(spec, path):
        said = annotations.get(f"{APPARMOR_CONTAINER}{container.get('name')}")
        profile = dig(container, "securityContext", "appArmorProfile") or of_pod
        found += _disagreement(profile, said, f"{where}.securityContext.appArmorProfile", "apparmor")
    return found


def _disagreement(profile: Any, said: Any, path: str, what: str) -> list[FieldError]:
    if type(profile) is not dict or type(said) is not str or profile.get("type") not in TYPES:
        return []
    if profile["type"] != "Localhost":
        known = said if what == "seccomp" or said != "docker/default" else ""
        if _OF_ANNOTATION.get(known) == profile["type"]:
            return []
    elif said.startswith(_LOCAL):
        if said.removeprefix(_LOCAL) == profile.get("localhostProfile"):
            return []
        return [forbidden(f"{path}.localhostProfile", f"{what} profile in annotation and field must match")]
    return [forbidden(f"{path}.type", f"{what} type in annotation and field must match")]


def take_over(annotations: Obj, spec: Obj) -> None:
    """A new pod's containers get the AppArmor profiles that annotations name, where they have none."""
    if dig(spec, "os", "name") == "windows":
        return
    of_pod = dig(spec, "securityContext", "appArmorProfile")
    for _, container in containers_of(spec, ""):
        said = annotations.get(f"{APPARMOR_CONTAINER}{container.get('name')}")
        if said is None or dig(container, "securityContext", "appArmorProfile") is not None:
            continue
        profile = _apparmor_of(text(said))
        if profile and not apparmor_faults(profile, "") and profile != of_pod:
            container.setdefault("securityContext", {})["appArmorProfile"] = profile


def _apparmor_of(said: str) -> Obj | None:
    if said.startswith(_LOCAL) and said != _LOCAL:
        return {"type": "Localhost", "localhostProfile": said.removeprefix(_LOCAL)}
    known = None if said == "docker/default" else _OF_ANNOTATION.get(said)
    return {"type": known} if known else None
