"""The status of a pod: written by its node and by controllers, never by its author."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from vacate.admission.checks import unchanged
from vacate.admission.metadata import keep
from vacate.admission.nameformats import label_key, name_is_subdomain
from vacate.api.fielderrors import FieldError, complaints, forbidden, invalid
from vacate.api.objects import Obj, dig, metadata
from vacate.api.untyped import child, integer, mapping, maps, text

_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
_NO_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_LEADING_ZEROES = re.compile(r"(^|\.)0+(?=[0-9])")
_NO_RETURN = "may not be transitioned to non-terminated state"
_KEPT_WHERE_ABSENT = (
    "resourceClaimStatuses",
    "extendedResourceClaimStatus",
    "nodeAllocatableResourceClaimStatuses",
)


def prepare_status(new: Obj, old: Obj) -> None:
    """Carry over what a writer of the status may leave out or may not touch."""
    keep(new, old, "spec")
    keep(metadata(new), metadata(old), "ownerReferences")
    metadata(new).pop("deletionTimestamp", None)
    status, before = child(new, "status"), mapping(old.get("status"))
    if not status.get("qosClass"):
        keep(status, before, "qosClass")
    for key in _KEPT_WHERE_ABSENT:
        if status.get(key) is None:
            keep(status, before, key)
    _keep_generations(status, before)


def status_errors(new: Obj, old: Obj) -> list[FieldError]:
    """Every rule that the new status, or the step to it, breaks."""
    status, before = mapping(new.get("status")), mapping(old.get("status"))
    found = _condition_errors(status)
    found += _nomination_errors(status, before, text(dig(old, "spec", "nodeName")))
    if (generation := integer(status.get("observedGeneration"))) < 0:
        detail = "must be a non-negative integer"
        found.append(invalid("status.observedGeneration", generation, detail))
    found += _address_errors(status)
    found += unchanged("status.qosClass", text(status.get("qosClass")), text(before.get("qosClass")))
    spec = mapping(old.get("spec"))
    for key, listed in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        found += _return_errors(maps(status.get(key)), maps(before.get(key)), f"status.{key}", spec, listed)
    return found


def _keep_generations(status: Obj, before: Obj) -> None:
    if not status.get("observedGeneration"):
        keep(status, before, "observedGeneration")
    older: dict[str, list[Any]] = {}
    for condition in maps(before.get("conditions")):
        older.setdefault(text(condition.get("type")), []).append(condition.get("observedGeneration"))
    for condition in maps(status.get("conditions")):
        remembered = older.get(text(condition.get("type")))
        generation = remembered.pop(0) if remembered else None
        if not condition.get("observedGeneration") and generation:
            condition["observedGeneration"] = generation


def _condition_errors(status: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    for index, condition in enumerate(maps(status.get("conditions"))):
        where, sort = f"status.conditions[{index}]", text(condition.get("type"))
        if (generation := integer(condition.get("observedGeneration"))) < 0:
            detail = "must be a non-negative integer"
            found.append(invalid(f"{where}.observedGeneration", generation, detail))
        if sort not in _SYSTEM_CONDITIONS:
            found += complaints(f"{where}.Type", sort, label_key(sort))
    return found


def _nomination_errors(status: Obj, before: Obj, node: str) -> list[FieldError]:
    path, nominated = "status.nominatedNodeName", text(status.get("nominatedNodeName"))
    if not nominated or nominated == before.get("nominatedNodeName"):
        return []
    found = complaints(path, nominated, name_is_subdomain(nominated, False))
    if node:
        found.append(forbidden(path, "may not be set on pods that are already bound to a node"))
    return found


def _address_errors(status: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    for index, entry in enumerate(maps(status.get("podIPs"))):
        address = text(entry.get("ip"))
        if not _is_address(address):
            found.append(invalid(f"status.podIPs[{index}]", address, _NO_ADDRESS))
    return found


def _is_address(address: str) -> bool:
    """Whether it is an IP address in any form that old objects may have."""
    try:
        ipaddress.ip_address(_LEADING_ZEROES.sub(r"\1", address) if ":" not in address else address)
    except ValueError:
        return False
    return "%" not in address


def _return_errors(new: list[Obj], old: list[Obj], path: str, spec: Obj, listed: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index, was in enumerate(old):
        ended = dig(was, "state", "terminated")
        if type(ended) is not dict:
            continue
        now = next((each for each in new if each.get("name") == was.get("name")), None)
        if now is None or dig(now, "state", "terminated") is not None:
            continue
        if not _restarts(spec, listed, was.get("name"), integer(ended.get("exitCode"))):
            found.append(forbidden(f"{path}[{index}].state", _NO_RETURN))
    return found


def _restarts(spec: Obj, listed: str, name: Any, exit_code: int) -> bool:
    container = next((each for each in maps(spec.get(listed)) if each.get("name") == name), None)
    if container is None:
        return False
    # Restart rules by exit code may allow anything; they are not followed in detail here.
    if container.get("restartPolicyRules"):
        return True
    policy = container.get("restartPolicy") or spec.get("restartPolicy")
    return policy not in ("Never", "OnFailure") or (policy == "OnFailure" and exit_code != 0)
