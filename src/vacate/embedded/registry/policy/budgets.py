"""PodDisruptionBudgets: either how many must stay or how many may go, never both."""

from __future__ import annotations

from vacate.admission.checks import not_negative, same, selector_faults, shown_selector
from vacate.admission.conditions import condition_faults
from vacate.admission.context import Context, Traits
from vacate.admission.metadata import keep
from vacate.admission.rules import Effect, table
from vacate.admission.strategy import KindStrategy, count_generation
from vacate.api.fielderrors import Fault, FieldError, invalid, not_supported
from vacate.api.lenient import mapping
from vacate.api.objects import Obj
from vacate.embedded.registry.apps.percentages import int_or_percent_faults, over_hundred_faults

_TRAITS = Traits(unconditional_update=False)
_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")

RULES = table(
    "PodDisruptionBudget",
    ("status", Effect.DROPPED, "not settable on create"),
    ("metadata.generation", Effect.SET, "one more where spec changes"),
    ("status", Effect.KEPT, "only the status subresource changes it"),
    ("spec", Effect.KEPT, "the status subresource does not change it"),
    ("spec", Fault.INVALID, "minAvailable and maxUnavailable not both"),
    ("spec.minAvailable#negative", Fault.INVALID, "not negative"),
    ("spec.minAvailable#percent", Fault.INVALID, "a number or a percentage"),
    ("spec.minAvailable#hundred", Fault.INVALID, "at most 100%"),
    ("spec.maxUnavailable#negative", Fault.INVALID, "not negative"),
    ("spec.maxUnavailable#percent", Fault.INVALID, "a number or a percentage"),
    ("spec.maxUnavailable#hundred", Fault.INVALID, "at most 100%"),
    ("spec.selector.matchLabels", Fault.INVALID, "valid labels"),
    ("spec.selector.matchExpressions[].values", Fault.REQUIRED, "with In and NotIn"),
    ("spec.selector.matchExpressions[].values", Fault.FORBIDDEN, "with Exists and DoesNotExist"),
    ("spec.selector.matchExpressions[].operator", Fault.INVALID, "In, NotIn, Exists or DoesNotExist"),
    ("spec.selector.matchExpressions[].key", Fault.INVALID, "a qualified name"),
    ("spec.selector.matchExpressions[].values[]", Fault.INVALID, "a label value"),
    ("spec.unhealthyPodEvictionPolicy", Fault.NOT_SUPPORTED, "IfHealthyBudget or AlwaysAllow"),
    ("status.conditions[].type", Fault.DUPLICATE, "unique"),
    ("status.conditions[].type", Fault.INVALID, "a qualified name"),
    ("status.conditions[].status", Fault.NOT_SUPPORTED, "True, False or Unknown"),
    ("status.conditions[].observedGeneration", Fault.INVALID, "not negative"),
    ("status.conditions[].lastTransitionTime", Fault.REQUIRED, "not empty"),
    ("status.conditions[].reason", Fault.REQUIRED, "not empty"),
    ("status.conditions[].reason", Fault.INVALID, "a word in CamelCase"),
    ("status.conditions[].message", Fault.TOO_LONG, "at most 32768 bytes"),
    ("status.disruptionsAllowed", Fault.INVALID, "not negative"),
    ("status.currentHealthy", Fault.INVALID, "not negative"),
    ("status.desiredHealthy", Fault.INVALID, "not negative"),
    ("status.expectedPods", Fault.INVALID, "not negative"),
)


class BudgetStrategy(KindStrategy):
    """Answers for PodDisruptionBudgets."""

    rules = RULES
    counts_generations = True
    checks_metadata = False
    checks_finalizers = False

    @property
    def traits(self) -> Traits:
        """Budgets are never overwritten blindly."""
        return _TRAITS

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """The status is the controller's."""
        obj["status"] = dict.fromkeys(_COUNTS, 0)

    def prepare_spec(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Status stays; a new spec is a new generation."""
        keep(new, old, "status")
        count_generation(new, old, not same(new.get("spec"), old.get("spec")))

    def faults(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """The spec."""
        return _spec_faults(mapping(obj.get("spec")), lenient_values=False)

    def update_faults(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The spec again; selector values that were wrong before may stay."""
        before = mapping(old.get("spec")).get("selector")
        lenient = bool(selector_faults(before, "spec.selector"))
        return _spec_faults(mapping(new.get("spec")), lenient_values=lenient)

    def status_faults(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """Conditions and counts."""
        status = mapping(new.get("status"))
        found = condition_faults(status, "status.conditions")
        for key in _COUNTS:
            found += not_negative("status", status, key)
        return found


def _spec_faults(spec: Obj, *, lenient_values: bool) -> list[FieldError]:
    found: list[FieldError] = []
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        detail = "minAvailable and maxUnavailable cannot be both set"
        found.append(invalid("spec", _shown(spec), detail))
    for key in ("minAvailable", "maxUnavailable"):
        if spec.get(key) is not None:
            found += int_or_percent_faults(spec[key], f"spec.{key}")
            found += over_hundred_faults(spec[key], f"spec.{key}")
    found += selector_faults(spec.get("selector"), "spec.selector", lenient_values=lenient_values)
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
