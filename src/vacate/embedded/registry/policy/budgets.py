"""PodDisruptionBudgets: either how many must stay or how many may go, never both."""

from __future__ import annotations

from typing import ClassVar

from vacate.admission.checks import selector_errors, shown_selector
from vacate.admission.conditions import condition_errors
from vacate.admission.context import Context, Traits
from vacate.admission.strategy import KindStrategy
from vacate.api.fielderrors import FieldError, invalid, not_supported
from vacate.api.objects import Obj
from vacate.api.untyped import mapping
from vacate.embedded.registry.apps.percentages import int_or_percent_errors, over_hundred_errors

_POLICIES = ("AlwaysAllow", "IfHealthyBudget")


class BudgetStrategy(KindStrategy):
    """Answers for PodDisruptionBudgets."""

    # Budgets are never overwritten blindly.
    traits = Traits(unconditional_update=False)
    counts_generations = True
    checks_metadata = False
    checks_finalizers = False
    counts = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    new_status: ClassVar[Obj | None] = dict.fromkeys(counts, 0)

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """The spec."""
        return _spec_errors(mapping(obj.get("spec")), lenient_values=False)

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The spec again; selector values that were wrong before may stay."""
        before = mapping(old.get("spec")).get("selector")
        lenient = bool(selector_errors(before, "spec.selector"))
        return _spec_errors(mapping(new.get("spec")), lenient_values=lenient)

    def status_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """Conditions and counts."""
        found = condition_errors(mapping(new.get("status")), "status.conditions")
        return found + super().status_errors(new, old, [], ctx)


def _spec_errors(spec: Obj, *, lenient_values: bool) -> list[FieldError]:
    found: list[FieldError] = []
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        detail = "minAvailable and maxUnavailable cannot be both set"
        found.append(invalid("spec", _shown(spec), detail))
    for key in ("minAvailable", "maxUnavailable"):
        if spec.get(key) is not None:
            found += int_or_percent_errors(spec[key], f"spec.{key}")
            found += over_hundred_errors(spec[key], f"spec.{key}")
    found += selector_errors(spec.get("selector"), "spec.selector", lenient_values=lenient_values)
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _POLICIES:
        found.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, _POLICIES))
    return found


def _shown(spec: Obj) -> Obj:
    return {
        "MinAvailable": spec.get("minAvailable"),
        "Selector": shown_selector(spec.get("selector")),
        "MaxUnavailable": spec.get("maxUnavailable"),
        "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
    }
