"""DaemonSets."""

from __future__ import annotations

from typing import ClassVar

from vacate.admission.checks import (
    not_negative,
    readable_selector,
    same,
    selector_errors,
    shown_selector,
    unsupported,
)
from vacate.admission.context import Context
from vacate.api.fielderrors import FieldError, invalid, required
from vacate.api.objects import Obj, metadata
from vacate.api.untyped import child, mapping, text
from vacate.embedded.registry.apps import podtemplate
from vacate.embedded.registry.apps.percentages import amount, int_or_percent_errors, over_hundred_errors

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_ROLLING = "spec.updateStrategy.rollingUpdate"
_NEW = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")


class DaemonSetStrategy(podtemplate.WorkloadStrategy):
    """Answers for DaemonSets."""

    new_status: ClassVar[Obj | None] = dict.fromkeys(_NEW, 0)
    counts = (
        *_NEW, "observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable",
        "collisionCount",
    )  # fmt: skip

    def default(self, obj: Obj, ctx: Context) -> None:
        """Updated one node at a time."""
        spec = child(obj, "spec")
        podtemplate.default_template(spec, self.kind)
        strategy = child(spec, "updateStrategy")
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
        rolling = strategy.get("rollingUpdate")
        if strategy["type"] == "RollingUpdate" or type(rolling) is dict:
            rolling = child(strategy, "rollingUpdate")
            rolling.setdefault("maxUnavailable", 1)
            rolling.setdefault("maxSurge", 0)
        spec.setdefault("revisionHistoryLimit", 10)

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """The template is in its first generation."""
        super().prepare_new(obj, ctx)
        child(metadata(obj), "annotations")[TEMPLATE_GENERATION] = "1"

    def prepare_spec(self, new: Obj, old: Obj, ctx: Context) -> None:
        """A new template is a new generation of its own."""
        super().prepare_spec(new, old, ctx)
        templates = (mapping(each.get("spec")).get("template") for each in (new, old))
        number = template_generation(old) + (not same(*templates))
        child(metadata(new), "annotations")[TEMPLATE_GENERATION] = str(number)

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """The spec."""
        spec = mapping(obj.get("spec"))
        selector, template = spec.get("selector"), mapping(spec.get("template"))
        found = selector_errors(selector, "spec.selector")
        readable = readable_selector(selector)
        if readable is not None and (selector is None or not readable.everything):
            found += podtemplate.mismatch_errors(template, None if selector is None else readable)
        if selector is not None and not any(
            mapping(selector).get(key) for key in ("matchLabels", "matchExpressions")
        ):
            detail = "empty selector is invalid for daemonset"
            found.append(invalid("spec.selector", shown_selector(selector), detail))
        found += podtemplate.template_errors(template, ctx, "DaemonSet")
        found += not_negative("spec", spec, "minReadySeconds")
        found += _strategy_errors(mapping(spec.get("updateStrategy")))
        return found + not_negative("spec", spec, "revisionHistoryLimit")


def template_generation(obj: Obj) -> int:
    """How often the template has changed, counting its creation."""
    value = text(mapping(metadata(obj).get("annotations")).get(TEMPLATE_GENERATION))
    return int(value) if value.isascii() and value.isdigit() and len(value) < 20 else 0


def _strategy_errors(strategy: Obj) -> list[FieldError]:
    sort, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if sort == "OnDelete":
        return []
    if sort != "RollingUpdate":
        shown = None
        if type(rolling) is dict:
            shown = {"MaxUnavailable": rolling.get("maxUnavailable"), "MaxSurge": rolling.get("maxSurge")}
        value = {"Type": sort, "RollingUpdate": shown}
        return [unsupported("spec.updateStrategy", value, ("RollingUpdate", "OnDelete"))]
    rolling = mapping(rolling)
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    found = int_or_percent_errors(unavailable, f"{_ROLLING}.maxUnavailable")
    found += int_or_percent_errors(surge, f"{_ROLLING}.maxSurge")
    found += over_hundred_errors(unavailable, f"{_ROLLING}.maxUnavailable")
    found += over_hundred_errors(surge, f"{_ROLLING}.maxSurge")
    has_unavailable, has_surge = amount(unavailable) != 0, amount(surge) != 0
    if has_unavailable and has_surge:
        detail = "may not be set when maxUnavailable is non-zero"
        found.append(invalid(f"{_ROLLING}.maxSurge", surge, detail))
    if not has_unavailable and not has_surge:
        found.append(required(f"{_ROLLING}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return found
