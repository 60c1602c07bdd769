"""What may change in a pod once it exists: images, the deadline, more tolerations, fewer gates."""

from __future__ import annotations

import json
from difflib import unified_diff
from typing import Any

from vacate.admission.checks import same, sorted_map
from vacate.admission.pods.interceptors import FIELD, change_errors
from vacate.api.fielderrors import FieldError, forbidden, invalid, required
from vacate.api.integers import MAX_INT32
from vacate.api.objects import Obj, dig
from vacate.api.untyped import integer, mapping, maps, sequence, text
from vacate.embedded.registry.core.pods.validation.placement import toleration_errors

_UPDATABLE = (
    "`spec.containers[*].image`",
    "`spec.initContainers[*].image`",
    "`spec.activeDeadlineSeconds`",
    "`spec.tolerations` (only additions to existing tolerations)",
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
)
FORBIDDEN = f"pod updates may not change fields other than {','.join(_UPDATABLE)}"
"""How kube-apiserver begins its refusal; what differs follows on the next lines."""
_ONLY_ADDITIONS = "only additions are allowed (no mutations or deletions)"
_REQUIRED_NODES = "requiredDuringSchedulingIgnoredDuringExecution"


def change_of_spec_errors(spec: Obj, before: Obj) -> list[FieldError]:
    """Every error of the step from one spec to the next; some of them end the search, as in the original."""
    found: list[FieldError] = []
    for key in ("containers", "initContainers"):
        field_errors, stop = _container_errors(maps(spec.get(key)), maps(before.get(key)), f"spec.{key}")
        found += field_errors
        if stop:
            return found
    field_errors, stop = _deadline_errors(
        spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    )
    found += field_errors
    if stop:
        return found
    found += _toleration_errors(spec, before)
    found += _gate_errors(maps(spec.get("schedulingGates")), maps(before.get("schedulingGates")))
    found += change_errors(spec, before, "spec")
    if same(spec, before):
        return found
    return found + _rest_errors(spec, before)


def _container_errors(new: list[Obj], old: list[Obj], path: str) -> tuple[list[FieldError], bool]:
    if len(new) != len(old):
        return [forbidden(path, "pod updates may not add or remove containers")], True
    found: list[FieldError] = []
    for index, container in enumerate(new):
        image, where = text(container.get("image")), f"{path}[{index}].image"
        if not image:
            found.append(required(where))
        if image != image.strip():
            found.append(invalid(where, image, "must not have leading or trailing whitespace"))
    return found, False


def _deadline_errors(new: Any, old: Any) -> tuple[list[FieldError], bool]:
    path = "spec.activeDeadlineSeconds"
    if new is None:
        detail = "must not update from a positive integer to nil value"
        return ([] if old is None else [invalid(path, None, detail)]), False
    if not 0 <= integer(new) <= MAX_INT32:
        return [invalid(path, new, f"must be between 0 and {MAX_INT32}, inclusive")], True
    if old is not None and integer(old) < integer(new):
        return [invalid(path, new, "must be less than or equal to previous value")], True
    return [], False


def _toleration_errors(spec: Obj, before: Obj) -> list[FieldError]:
    new = [_without_seconds(entry) for entry in maps(spec.get("tolerations"))]
    if any(_without_seconds(entry) not in new for entry in maps(before.get("tolerations"))):
        detail = "existing toleration can not be modified except its tolerationSeconds"
        return [forbidden("spec.tolerations", detail)]
    return toleration_errors(spec.get("tolerations"), "spec.tolerations")


def _without_seconds(toleration: Obj) -> Obj:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds" and value != ""}


def _gate_errors(new: list[Obj], old: list[Obj]) -> list[FieldError]:
    before = [gate.get("name") for gate in old]
    last_places = {gate.get("name"): index for index, gate in enumerate(new)}
    return [
        forbidden(
            f"spec.schedulingGates[{index}].name",
            f"only deletion is allowed, but found new scheduling gate '{text(name)}'",
        )
        for name, index in last_places.items()
        if name not in before
    ]


def _rest_errors(spec: Obj, before: Obj) -> list[FieldError]:
    munged = dict(spec)
    for key in ("containers", "initContainers"):
        if key in spec:
            munged[key] = _with_old_images(maps(spec[key]), maps(before.get(key)))
    for key in ("activeDeadlineSeconds", "schedulingGates", "tolerations", FIELD):
        munged[key] = before.get(key)
    if (
        integer(before.get("terminationGracePeriodSeconds")) < 0
        and spec.get("terminationGracePeriodSeconds") == 1
    ):
        munged["terminationGracePeriodSeconds"] = before["terminationGracePeriodSeconds"]
    found: list[FieldError] = []
    if sequence(before.get("schedulingGates")):
        found = _gated_errors(munged, before)
    if not same(munged, before):
        found.append(forbidden("spec", f"{FORBIDDEN}\n{difference(before, munged)}"))
    return found


def _with_old_images(new: list[Obj], old: list[Obj]) -> list[Obj]:
    return [{**now, "image": then.get("image")} for now, then in zip(new, old, strict=True)]


def _gated_errors(munged: Obj, before: Obj) -> list[FieldError]:
    """While gates hold a pod back its place may still be narrowed down."""
    found: list[FieldError] = []
    selector, old_selector = mapping(munged.get("nodeSelector")), mapping(before.get("nodeSelector"))
    if selector != old_selector:
        if any(selector.get(key) != value for key, value in old_selector.items()):
            detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            found.append(invalid("spec.nodeSelector", sorted_map(selector), detail))
        munged["nodeSelector"] = before.get("nodeSelector")
    new_nodes, old_nodes = dig(munged, "affinity", "nodeAffinity"), dig(before, "affinity", "nodeAffinity")
    if not same(new_nodes, old_nodes):
        found += _narrowing_errors(new_nodes, old_nodes)
        munged["affinity"] = _with_old_nodes(munged.get("affinity"), before.get("affinity"), old_nodes)
    return found


def _with_old_nodes(affinity: Obj | None, before: Obj | None, old_nodes: Obj | None) -> Obj | None:
    """The affinity as it would be without the step in the part about nodes."""
    others = {key: value for key, value in mapping(affinity).items() if key != "nodeAffinity"}
    if old_nodes is not None:
        return {**others, "nodeAffinity": old_nodes}
    return None if before is None and not others else others


def _narrowing_errors(new: Any, old: Any) -> list[FieldError]:
    if dig(old, _REQUIRED_NODES) is None:
        return []
    path = f"spec.affinity.nodeAffinity.{_REQUIRED_NODES}.nodeSelectorTerms"
    old_terms = maps(dig(old, _REQUIRED_NODES, "nodeSelectorTerms"))
    new_terms = maps(dig(new, _REQUIRED_NODES, "nodeSelectorTerms"))
    if old_terms and len(old_terms) != len(new_terms):
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [invalid(path, new_terms or None, detail)]
    return [
        invalid(f"{path}[{index}]", new_terms[index], _ONLY_ADDITIONS)
        for index, term in enumerate(old_terms)
        if not _only_more(new_terms[index], term)
    ]


def _only_more(new: Obj, old: Obj) -> bool:
    parts = ("matchExpressions", "matchFields")
    if not any(sequence(old.get(part)) for part in parts):
        return not any(sequence(new.get(part)) for part in parts)
    return all(
        same(sequence(new.get(part))[: len(sequence(old.get(part)))], sequence(old.get(part)))
        for part in parts
    )


def difference(old: Obj, new: Obj) -> str:
    """A unified diff, each line with its end."""
    lines = unified_diff(_lines(old), _lines(new))
    return "".join(line for number, line in enumerate(lines) if number > 1)  # without the names of files


def _lines(spec: Obj) -> list[str]:
    shown = json.dumps(spec, indent=1, ensure_ascii=False, sort_keys=True)
    return [f"{line}\n" for line in shown.split("\n")]
