"""EvictionRequests of lifecycle.k8s.io, and what Evictions share with them."""

from __future__ import annotations

from typing import ClassVar

from vacate.admission.checks import IMMUTABLE, same, unsupported
from vacate.admission.conditions import condition_errors
from vacate.admission.context import Context, Traits
from vacate.admission.metadata import keep
from vacate.admission.strategy import KindStrategy
from vacate.api.fielderrors import FieldError, complaints, invalid, required, too_many
from vacate.api.names import dns1123_subdomain
from vacate.api.objects import Obj, dig, metadata, name_of, namespace_of
from vacate.api.types.lifecycle import INTENTS, is_uuid, participant_errors
from vacate.api.untyped import integer, mapping, sequence, text
from vacate.crds.evictionrequest.target import require_own_node, target_pod

MAX_CONDITIONS = 100
_KEPT_METADATA = ("labels", "annotations", "ownerReferences", "finalizers")


class LifecycleStrategy(KindStrategy):
    """What both kinds of the group have in common: a target that never changes, conditions, a generation."""

    # They are never overwritten blindly.
    traits = Traits(unconditional_update=False)
    counts_generations = True
    new_status: ClassVar[Obj | None] = {}
    checks_finalizers = False

    def prepare_status(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Spec and metadata stay."""
        keep(new, old, "spec")
        for key in _KEPT_METADATA:
            keep(metadata(new), metadata(old), key)

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """The spec."""
        return self.spec_errors(mapping(obj.get("spec")), None)

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The step."""
        return step + self.spec_errors(mapping(new.get("spec")), mapping(old.get("spec")))

    def status_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """Conditions, and the generation that was seen."""
        status, before = mapping(new.get("status")), mapping(old.get("status"))
        count = len(sequence(status.get("conditions")))
        found = [too_many("status.conditions", count, MAX_CONDITIONS)] if count > MAX_CONDITIONS else []
        return (
            step + found + condition_errors(status, "status.conditions") + _generation_errors(status, before)
        )

    def spec_errors(self, spec: Obj, before: Obj | None) -> list[FieldError]:
        """The spec, and the step from the one before where there is one."""
        if before is not None:
            changed = not same(spec.get("target"), before.get("target"))
            return [invalid("spec.target", None, IMMUTABLE)] if changed else []
        if not dig(spec, "target", "pod"):
            return [invalid("spec.target", "", "must specify one of: `pod`")]
        pod = mapping(dig(spec, "target", "pod"))
        name, uid, path = text(pod.get("name")), text(pod.get("uid")), "spec.target.pod"
        found = (
            complaints(f"{path}.name", name, dns1123_subdomain(name)) if name else [required(f"{path}.name")]
        )
        if not uid:
            return [*found, required(f"{path}.uid")]
        detail = "must be a lowercase UUID in 8-4-4-4-12 format"
        return found if is_uuid(uid) else [*found, invalid(f"{path}.uid", uid, detail)]


class RequestStrategy(LifecycleStrategy):
    """Answers for EvictionRequests. Of nodes it holds what in other clusters Vacate's webhook does."""

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """A node requests evictions of pods that are there, and its own."""
        require_own_node(target_pod(obj, namespace_of(obj)), ctx, self.kind, name_of(obj), known=True)
        super().prepare_new(obj, ctx)

    def prepare_spec(self, new: Obj, old: Obj, ctx: Context) -> None:
        """A node changes requests for pods of its own."""
        require_own_node(target_pod(old, namespace_of(old)), ctx, self.kind, name_of(old))
        super().prepare_spec(new, old, ctx)

    def spec_errors(self, spec: Obj, before: Obj | None) -> list[FieldError]:
        """The target, who requests, and what."""
        requester, found = text(spec.get("requester")), super().spec_errors(spec, before)
        if before is None:
            found += participant_errors("spec.requester", requester)
        elif requester != before.get("requester"):
            found.append(invalid("spec.requester", None, IMMUTABLE))
        return found + intent_errors(spec, "spec")


def intent_errors(holder: Obj, path: str) -> list[FieldError]:
    """What a requester wants."""
    intent = text(holder.get("intent"))
    if not intent:
        return [required(f"{path}.intent")]
    return [] if intent in INTENTS else [unsupported(f"{path}.intent", intent, INTENTS)]


def _generation_errors(status: Obj, before: Obj) -> list[FieldError]:
    path, new, old = (
        "status.observedGeneration",
        status.get("observedGeneration"),
        before.get("observedGeneration"),
    )
    if new is None:
        return [] if old is None else [invalid(path, None, "field cannot be cleared once set")]
    fallen = [f"may not be decreased from {old}"] if integer(new) < integer(old) else []
    small = ["must be greater than or equal to 1"] if integer(new) < 1 else []
    return [invalid(path, new, detail) for detail in (*fallen, *small)]
