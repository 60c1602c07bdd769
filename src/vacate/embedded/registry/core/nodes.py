"""Nodes: taints, unschedulable and labels are the user's; the status is the node's own."""

from __future__ import annotations

from typing import Any

from vacate.admission.checks import unsupported
from vacate.admission.context import Context
from vacate.admission.metadata import keep
from vacate.admission.nameformats import label_key, label_value
from vacate.admission.strategy import KindStrategy
from vacate.api.fielderrors import ErrorType, FieldError, complaints, invalid, required
from vacate.api.objects import Obj
from vacate.api.untyped import mapping, maps, sequence, text
from vacate.embedded.registry.core.quantities import canonical_list, count_errors

NOT_READY = "node.kubernetes.io/not-ready"
TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
# The real server reports taints below metadata, not below spec.
_TAINTS = "metadata.taints"


class NodeStrategy(KindStrategy):
    """Answers for nodes. A creator may give a status: nodes register themselves with it."""

    def default(self, obj: Obj, ctx: Context) -> None:
        """What can be allocated is all there is, where the node does not say."""
        status = obj.get("status")
        if type(status) is not dict:
            return
        for key in ("capacity", "allocatable"):
            canonical_list(status.get(key), self.kind)
        if status.get("allocatable") is None and status.get("capacity") is not None:
            status["allocatable"] = dict(mapping(status["capacity"]))

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """No pods until the node lifecycle controller has seen that the node is ready."""
        _drop_configuration(obj)
        spec = obj.setdefault("spec", {})
        taints = sequence(mapping(spec).get("taints"))
        if type(spec) is dict and not any(_is_not_ready(one) for one in maps(taints)):
            spec["taints"] = [*taints, {"key": NOT_READY, "effect": "NoSchedule"}]

    def prepare_spec(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Status stays."""
        keep(new, old, "status")
        _drop_configuration(new)

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """Taints and amounts."""
        spec = mapping(obj.get("spec"))
        return taint_errors(spec.get("taints")) + _amount_errors(obj)

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The whole again, then the step."""
        found = self.metadata_errors(new) + self.field_errors(new, ctx)
        return found + self.status_errors(new, old, step, ctx)

    def status_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """What the real server checks on any update of a node, through whichever door."""
        spec = mapping(new.get("spec"))
        found = step + _amount_errors(new) + _address_errors(new)
        found += taint_errors(spec.get("taints"))
        return found


def _drop_configuration(node: Obj) -> None:
    mapping(node.get("spec")).pop("configSource", None)
    mapping(node.get("status")).pop("config", None)


def _is_not_ready(taint: Obj) -> bool:
    return (taint.get("key"), taint.get("effect")) == (NOT_READY, "NoSchedule")


def taint_errors(taints: Any) -> list[FieldError]:
    """Errors of a node's taints."""
    found: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(maps(taints)):
        path = f"{_TAINTS}[{index}]"
        key, effect = text(taint.get("key")), text(taint.get("effect"))
        found += _one_taint_errors(taint, path)
        if (effect, key) in seen:
            detail = "taints must be unique by key and effect pair"
            found.append(FieldError(path, ErrorType.DUPLICATE, detail, _shown_taint(taint)))
        seen.add((effect, key))
    return found


def effect_errors(effect: str, path: str) -> list[FieldError]:
    """The effect of a taint or of a toleration that names one."""
    return [] if effect in TAINT_EFFECTS else [unsupported(path, effect, TAINT_EFFECTS)]


def _one_taint_errors(taint: Obj, path: str) -> list[FieldError]:
    key, value, effect = (text(taint.get(part)) for part in ("key", "value", "effect"))
    found = complaints(f"{path}.key", key, label_key(key))
    if wrong := label_value(value):
        found.append(invalid(f"{path}.value", value, ";".join(wrong)))
    where = f"{path}.effect"
    return found + (effect_errors(effect, where) if effect else [required(where)])


def _shown_taint(taint: Obj) -> Obj:
    return {
        "Key": text(taint.get("key")),
        "Value": text(taint.get("value")),
        "Effect": text(taint.get("effect")),
        "TimeAdded": taint.get("timeAdded"),
    }


def _amount_errors(node: Obj) -> list[FieldError]:
    status = mapping(node.get("status"))
    found: list[FieldError] = []
    for key in ("capacity", "allocatable"):
        for resource, amount in mapping(status.get(key)).items():
            found += count_errors(resource, amount, f"status.{key}.{resource}")
    return found


def _address_errors(node: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, address in enumerate(maps(mapping(node.get("status")).get("addresses"))):
        pair = (text(address.get("type")), text(address.get("address")))
        if pair in seen:
            shown = {"Type": pair[0], "Address": pair[1]}
            found.append(FieldError(f"status.addresses[{index}]", ErrorType.DUPLICATE, "", shown))
        seen.add(pair)
    return found
