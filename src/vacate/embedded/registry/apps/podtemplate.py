"""Pod templates, and the selectors that must choose the pods made from them."""

from __future__ import annotations

from typing import Any, ClassVar

from vacate.admission.checks import (
    IMMUTABLE,
    labels_errors,
    readable_selector,
    same,
    selector_errors,
    shown_selector,
    sorted_map,
    unsupported,
)
from vacate.admission.context import Context
from vacate.admission.metadata import annotation_errors
from vacate.admission.pods import reasondelivery
from vacate.admission.pods.interceptors import drop_where_gated, tolerating
from vacate.admission.strategy import KindStrategy
from vacate.api.fielderrors import FieldError, forbidden, invalid, required
from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.api.selectors.labels import Selector
from vacate.api.untyped import child, integer, mapping, text
from vacate.embedded.registry.core.pods.defaults.pod import default_spec
from vacate.embedded.registry.core.pods.validation import spec as pod_spec

_PATH = "spec.template"


class WorkloadStrategy(KindStrategy):
    """Base of the kinds that make pods of a template."""

    counts_generations = True
    new_status: ClassVar[Obj | None] = {}
    # Counts of the status that are parts of `replicas`.
    parts: ClassVar[tuple[str, ...]] = ()

    def owner_of_template(self, obj: Obj) -> Obj:
        """What has the template in it."""
        return mapping(obj.get("spec"))

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """The status is the controller's."""
        super().prepare_new(obj, ctx)
        drop_gated_fields(self.owner_of_template(obj), None, ctx)

    def prepare_spec(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Status stays; a new spec is a new generation."""
        drop_gated_fields(self.owner_of_template(new), self.owner_of_template(old), ctx)
        super().prepare_spec(new, old, ctx)

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The spec again, with the same selector."""
        spec, before = self.owner_of_template(new), self.owner_of_template(old)
        ctx = tolerating(ctx, mapping(mapping(before.get("template")).get("spec")))
        return step + self.field_errors(new, ctx) + selector_change_errors(spec, before)

    def status_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """Counts that fit together; the number of hash collisions only grows."""
        status, before = mapping(new.get("status")), mapping(old.get("status"))
        found = super().status_errors(new, old, step, ctx)
        whole, available = integer(status.get("replicas")), integer(status.get("availableReplicas"))
        for key in self.parts:
            if (count := integer(status.get(key))) > whole:
                found.append(invalid(f"status.{key}", count, "cannot be greater than status.replicas"))
        if self.parts and available > integer(status.get("readyReplicas")):
            found.append(
                invalid("status.availableReplicas", available, "cannot be greater than readyReplicas")
            )
        if integer(status.get("collisionCount")) < integer(before.get("collisionCount")):
            count = integer(status.get("collisionCount"))
            found.append(invalid("status.collisionCount", count, "cannot be decremented"))
        return found


def default_template(spec: Obj, kind: Kind) -> None:
    """Defaults of the pods to come, as far as a template has them."""
    default_spec(child(child(spec, "template"), "spec"), kind)


def drop_gated_fields(spec: Obj, before: Obj | None, ctx: Context) -> None:
    """Fields of pods whose gate is off."""
    old = None if before is None else mapping(mapping(before.get("template")).get("spec"))
    template = mapping(spec.get("template"))
    drop_where_gated(mapping(template.get("spec")), old, ctx)
    reasondelivery.drop_where_gated(mapping(template.get("spec")), old, ctx)
    mapping(template.get("metadata")).pop("reason", None)  # pods get theirs when they are deleted


def selector_and_template_errors(spec: Obj, ctx: Context) -> list[FieldError]:
    """The selector as such, then the template against it."""
    selector = spec.get("selector")
    found: list[FieldError] = []
    if selector is None:
        found.append(required("spec.selector"))
    else:
        found += selector_errors(selector, "spec.selector")
        if not any(mapping(selector).get(key) for key in ("matchLabels", "matchExpressions")):
            found.append(
                invalid("spec.selector", shown_selector(selector), "empty selector is invalid for deployment")
            )
    readable = readable_selector(selector)
    if readable is None:
        return [*found, invalid("spec.selector", shown_selector(selector), "invalid label selector")]
    template = mapping(spec.get("template"))
    labels = mapping(mapping(template.get("metadata")).get("labels"))
    if not readable.everything and not readable.matches(_texts(labels)):
        detail = "`selector` does not match template `labels`"
        found.append(invalid(f"{_PATH}.metadata.labels", sorted_map(labels) or None, detail))
    return found + template_errors(template, ctx)


def mismatch_errors(template: Obj, selector: Selector | None) -> list[FieldError]:
    """The template's labels against a selector; where there is none, nothing is selected."""
    labels = mapping(mapping(template.get("metadata")).get("labels"))
    if selector is not None and not selector.everything and selector.matches(_texts(labels)):
        return []
    detail = "`selector` does not match template `labels`"
    return [invalid(f"{_PATH}.metadata.labels", sorted_map(labels) or None, detail)]


def selector_change_errors(spec: Obj, before: Obj) -> list[FieldError]:
    """The selector stays as it is: other pods would be the object's otherwise."""
    new, old = spec.get("selector"), before.get("selector")
    return [] if same(new, old) else [invalid("spec.selector", shown_selector(new), IMMUTABLE)]


def template_errors(template: Obj, ctx: Context, owner: str = "ReplicaSet") -> list[FieldError]:
    """The template of pods that always run; `owner` is the kind that messages name."""
    inner = mapping(template.get("spec"))
    found = content_errors(template, ctx)
    if inner.get("restartPolicy") != "Always":
        policy = text(inner.get("restartPolicy"))
        found.append(unsupported(f"{_PATH}.spec.restartPolicy", policy, ("Always",)))
    if inner.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {owner} is not Supported"
        found.append(forbidden(f"{_PATH}.spec.activeDeadlineSeconds", detail))
    return found


def content_errors(template: Obj, ctx: Context, path: str = _PATH) -> list[FieldError]:
    """The template as such, whatever is made of it."""
    labels = mapping(mapping(template.get("metadata")).get("labels"))
    meta, inner = mapping(template.get("metadata")), mapping(template.get("spec"))
    found = labels_errors(labels, f"{path}.labels")
    found += annotation_errors(meta, f"{path}.annotations")
    annotations = mapping(meta.get("annotations"))
    found += pod_spec.annotation_errors(annotations, inner, f"{path}.annotations")
    return found + pod_spec.spec_errors(inner, f"{path}.spec", ctx, is_pod=False)


def _texts(labels: Obj) -> dict[str, Any]:
    return {key: value for key, value in labels.items() if type(value) is str}
