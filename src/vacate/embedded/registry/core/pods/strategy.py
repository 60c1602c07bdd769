"""The strategy of pods."""

from __future__ import annotations

from vacate.admission.checks import same
from vacate.admission.context import Context
from vacate.admission.metadata import keep
from vacate.admission.pods import annotations as interceptor_annotations
from vacate.admission.pods import interceptors, newpods, reasondelivery
from vacate.admission.strategy import KindStrategy, count_generation
from vacate.api.fielderrors import FieldError, forbidden
from vacate.api.objects import Obj, metadata
from vacate.api.quantity import Quantity
from vacate.api.times import format_time
from vacate.api.untyped import child, mapping, maps, sequence, text
from vacate.embedded.registry.core.pods import admissionplugins, matchlabelkeys, status, update
from vacate.embedded.registry.core.pods.defaults import pod as defaults
from vacate.embedded.registry.core.pods.validation import (
    containers,
    spec,
)
from vacate.embedded.registry.core.quantities import without_zeroes

_GATED = "Scheduling is blocked due to non-empty scheduling gates"


class PodStrategy(KindStrategy):
    """Answers for pods and their status. Binding and eviction are verbs of the server."""

    counts_generations = True

    def default(self, obj: Obj, ctx: Context) -> None:
        """Fill in what the author left out."""
        defaults.default_pod(obj, self.kind)

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """Admission's part first; then a fresh status."""
        pod_spec = child(obj, "spec")
        admissionplugins.admit_new(obj, pod_spec, ctx)
        interceptors.drop_where_gated(pod_spec, None, ctx)
        reasondelivery.drop_where_gated(pod_spec, None, ctx)
        _register(obj, ctx)
        fresh: Obj = {"phase": "Pending"}
        if sequence(pod_spec.get("schedulingGates")):
            fresh["conditions"] = [_gated_condition(ctx)]
        if "topologySpreadConstraints" in pod_spec or "affinity" in pod_spec:
            matchlabelkeys.apply_label_keys(pod_spec, mapping(metadata(obj).get("labels")))
        fresh["qosClass"] = quality_of(pod_spec)
        obj["status"] = fresh

    def prepare_spec(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Status stays; a new spec is a new generation."""
        keep(new, old, "status")
        pod_spec, before = child(new, "spec"), mapping(old.get("spec"))
        admissionplugins.admit_changed(pod_spec, before)
        interceptors.drop_where_gated(pod_spec, before, ctx)
        reasondelivery.drop_where_gated(pod_spec, before, ctx)
        count_generation(new, old, not same(pod_spec, before))

    def prepare_status(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Spec and owners stay."""
        status.prepare_status(new, old)

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """The whole pod, and what only holds for new ones."""
        pod_spec = mapping(obj.get("spec"))
        found = self._content(obj, pod_spec, ctx)
        found += interceptor_annotations.registration_errors(obj, None, ctx)
        if pod_spec.get("nodeName") and sequence(pod_spec.get("schedulingGates")):
            detail = "cannot be set until all schedulingGates have been cleared"
            found.append(forbidden("spec.nodeName", detail))
        return found

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The whole pod again, then the step."""
        pod_spec = mapping(new.get("spec"))
        ctx = interceptors.tolerating(ctx, mapping(old.get("spec")))
        found = step + self.metadata_errors(new) + self._content(new, pod_spec, ctx)
        found += interceptor_annotations.registration_errors(new, old, ctx)
        found += self._annotation_step(new, old, pod_spec)
        return found + update.change_of_spec_errors(pod_spec, mapping(old.get("spec")))

    def status_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The status; the spec is the old one."""
        found = step + self._annotation_step(new, old, mapping(new.get("spec")))
        return found + status.status_errors(new, old)

    def _content(self, obj: Obj, pod_spec: Obj, ctx: Context) -> list[FieldError]:
        annotations = mapping(metadata(obj).get("annotations"))
        found = spec.annotation_errors(annotations, pod_spec, "metadata.annotations") if annotations else []
        found += spec.spec_errors(pod_spec, "spec", ctx, is_pod=True)
        return found + containers.white_space_errors(pod_spec, "spec")

    def _annotation_step(self, new: Obj, old: Obj, pod_spec: Obj) -> list[FieldError]:
        after, before = (mapping(metadata(each).get("annotations")) for each in (new, old))
        found = spec.annotation_change_errors(after, before, "metadata.annotations")
        return found + spec.annotation_errors(after, pod_spec, "metadata.annotations")


def _gated_condition(ctx: Context) -> Obj:
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastTransitionTime": format_time(ctx.now),
        "reason": "SchedulingGated",
        "message": _GATED,
    }


def _register(pod: Obj, ctx: Context) -> None:
    """What the mutating webhook does on other clusters."""
    meta = metadata(pod)
    namespace = text(meta.get("namespace"))
    if responders := newpods.added_responders(pod, namespace, ctx):
        pod["spec"][interceptors.RESPONDERS] = responders
    added = newpods.added_annotations(pod, namespace, ctx)
    if added:
        meta["annotations"] = {**mapping(meta.get("annotations")), **added}


_COUNTED = ("cpu", "memory")


def quality_of(spec: Obj) -> str:
    """Guaranteed, Burstable or BestEffort, from what the containers or the pod itself ask for."""
    if spec.get("resources") is not None:
        parts = [mapping(spec["resources"])]
        owners_without_limits_count = False
    else:
        owners = maps(spec.get("containers")) + maps(spec.get("initContainers"))
        parts = [mapping(owner.get("resources")) for owner in owners]
        owners_without_limits_count = True
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    guaranteed = True
    for part in parts:
        if not part and owners_without_limits_count:
            guaranteed = False
            continue
        _add(requests, mapping(part.get("requests")))
        limited = _add(limits, mapping(part.get("limits")))
        if limited < len(_COUNTED) and (owners_without_limits_count or part.get("limits")):
            guaranteed = False
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def _add(total: dict[str, Quantity], amounts: Obj) -> int:
    counted = {name: amounts[name] for name in _COUNTED if name in amounts}
    found = {name: amount for name, amount in without_zeroes(counted).items() if amount.sign > 0}
    for name, amount in found.items():
        total[name] = total[name] + amount if name in total else amount
    return len(found)
