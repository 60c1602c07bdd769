"""Owner references: complete, at most one controller, and never an Event."""

from __future__ import annotations

from typing import Any

from vacate.api.fielderrors import FieldError, invalid, required
from vacate.api.objects import Obj
from vacate.api.untyped import mapping, text

_PATH = "metadata.ownerReferences"


def owner_errors(references: list[Any]) -> list[FieldError]:
    """Errors of all references."""
    found: list[FieldError] = []
    controller = ""
    shown = [_shown(mapping(each)) for each in references]
    for index, reference in enumerate(map(mapping, references)):
        found += _reference_errors(reference, f"{_PATH}[{index}]")
        if reference.get("controller") is not True:
            continue
        name = f"{text(reference.get('kind'))}/{text(reference.get('name'))}"
        if controller:
            detail = (
                "Only one reference can have Controller set to true."
                f' Found "true" in references for {controller} and {name}'
            )
            found.append(invalid(_PATH, shown, detail))
        else:
            controller = name
    return found


def _reference_errors(reference: Obj, path: str) -> list[FieldError]:
    api_version, found = text(reference.get("apiVersion")), list[FieldError]()
    if api_version and not _version(api_version):
        found.append(invalid(f"{path}.apiVersion", api_version, "must be <group>/<version> or <version>"))
    found += [
        required(f"{path}.{key}", "must not be empty")
        for key in ("apiVersion", "kind", "name", "uid")
        if not text(reference.get(key))
    ]
    if reference.get("apiVersion") == "v1" and reference.get("kind") == "Event":
        detail = "/v1, Kind=Event is disallowed from being an owner"
        found.append(invalid(path, _shown(reference), detail))
    return found


def _version(api_version: str) -> str:
    parts = api_version.split("/")
    return parts[-1] if len(parts) <= 2 else ""


def _shown(reference: Obj) -> Obj:
    shown: Obj = {key: text(reference.get(key)) for key in ("apiVersion", "kind", "name", "uid")}
    for key in ("controller", "blockOwnerDeletion"):
        if key in reference:
            shown[key] = reference[key]
    return shown
