"""PriorityClasses: user values end at a billion, names with `system-` are taken, values never change."""

from __future__ import annotations

from vacate.admission.checks import unchanged, unsupported
from vacate.admission.context import Context
from vacate.admission.strategy import KindStrategy
from vacate.api import status
from vacate.api.fielderrors import FieldError, forbidden, required
from vacate.api.objects import Obj, name_of
from vacate.api.untyped import fill, integer, text

HIGHEST_USER_PRIORITY = 1_000_000_000
SYSTEM_CLASSES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_POLICIES = ("PreemptLowerPriority", "Never")


class PriorityClassStrategy(KindStrategy):
    """Answers for PriorityClasses."""

    counts_generations = True  # from 1, and never further: nothing in a class that counts can change

    def default(self, obj: Obj, ctx: Context) -> None:
        """Classes preempt, unless they say otherwise."""
        if obj.get("preemptionPolicy") is None:
            fill(obj, "preemptionPolicy", "PreemptLowerPriority")

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """Refuse a second global default."""
        self._refuse_second_default(obj, ctx, "")

    def prepare_spec(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Refuse a second global default."""
        self._refuse_second_default(new, ctx, name_of(new))

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """Names, values and policy."""
        name, value = name_of(obj), integer(obj.get("value"))
        found: list[FieldError] = []
        if name.startswith("system-"):
            if why := _unknown_system_class(name, value, obj.get("globalDefault") is True):
                prefix = (
                    "priority class names with 'system-' prefix are reserved for system use only. error: "
                )
                found.append(forbidden("metadata.name", prefix + why))
        elif value > HIGHEST_USER_PRIORITY:
            detail = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
            found.append(forbidden("value", detail))
        return found + preemption_errors(obj, "")

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """Value and policy stay as they are."""
        found = list(step)
        if integer(new.get("value")) != integer(old.get("value")):
            found.append(forbidden("value", "may not be changed in an update."))
        policy = new.get("preemptionPolicy"), old.get("preemptionPolicy")
        return found + unchanged("preemptionPolicy", *policy)

    def _refuse_second_default(self, obj: Obj, ctx: Context, own_name: str) -> None:
        if obj.get("globalDefault") is not True:
            return
        other = ctx.default_priority_class()
        if other is not None and name_of(other) != own_name:
            why = f"PriorityClass {name_of(other)} is already marked as default. Only one default can exist"
            raise status.forbidden(self.kind, name_of(obj), why)


def preemption_errors(owner: Obj, prefix: str) -> list[FieldError]:
    """The preemption policy of a class or of a pod."""
    policy = owner.get("preemptionPolicy")
    if policy is None or policy in _POLICIES:
        return []
    path = f"{prefix}preemptionPolicy"
    return [unsupported(path, text(policy), _POLICIES) if policy else required(path)]


def _unknown_system_class(name: str, value: int, global_default: bool) -> str:
    known = SYSTEM_CLASSES.get(name)
    if known is None:
        return f"{name} is not a known system priority class"
    if value != known:
        return f"value of {name} PriorityClass must be {known}"
    return f"globalDefault of {name} PriorityClass must be false" if global_default else ""
