"""Deployments."""

from __future__ import annotations

from typing import Any

from vacate.admission.checks import not_negative, same, unsupported
from vacate.admission.context import Context
from vacate.admission.metadata import keep
from vacate.admission.strategy import count_generation
from vacate.api.fielderrors import FieldError, forbidden, invalid, required
from vacate.api.objects import Obj, metadata
from vacate.api.untyped import child, integer, mapping
from vacate.embedded.registry.apps import podtemplate
from vacate.embedded.registry.apps.percentages import amount, int_or_percent_errors, over_hundred_errors

_STRATEGY = "spec.strategy"


class DeploymentStrategy(podtemplate.WorkloadStrategy):
    """Answers for Deployments."""

    parts = ("updatedReplicas", "readyReplicas", "availableReplicas")
    counts = (
        "observedGeneration", "replicas", *parts, "unavailableReplicas", "terminatingReplicas",
        "collisionCount",
    )  # fmt: skip

    def default(self, obj: Obj, ctx: Context) -> None:
        """One replica, rolled out a quarter at a time."""
        spec = child(obj, "spec")
        spec.setdefault("replicas", 1)
        podtemplate.default_template(spec, self.kind)
        strategy = child(spec, "strategy")
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
        if strategy["type"] == "RollingUpdate":
            rolling = child(strategy, "rollingUpdate")
            rolling.setdefault("maxUnavailable", "25%")
            rolling.setdefault("maxSurge", "25%")
        spec.setdefault("revisionHistoryLimit", 10)
        spec.setdefault("progressDeadlineSeconds", 600)

    def prepare_spec(self, new: Obj, old: Obj, ctx: Context) -> None:
        """New annotations are a new generation too."""
        super().prepare_spec(new, old, ctx)
        annotations = (metadata(each).get("annotations") for each in (new, old))
        if not same(*annotations):
            count_generation(new, old, changed=True)

    def prepare_status(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Spec and labels stay."""
        keep(new, old, "spec")
        keep(metadata(new), metadata(old), "labels")

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """The spec."""
        spec = mapping(obj.get("spec"))
        found = not_negative("spec", spec, "replicas")
        found += podtemplate.selector_and_template_errors(spec, ctx)
        found += _strategy_errors(mapping(spec.get("strategy")))
        found += not_negative("spec", spec, "minReadySeconds")
        found += not_negative("spec", spec, "revisionHistoryLimit")
        return found + _deadline_errors(spec)


def _strategy_errors(strategy: Obj) -> list[FieldError]:
    sort, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    where = f"{_STRATEGY}.rollingUpdate"
    if sort == "Recreate":
        detail = "may not be specified when strategy `type` is 'Recreate'"
        return [] if rolling is None else [forbidden(where, detail)]
    if sort == "RollingUpdate":
        if type(rolling) is not dict:
            return [required(where, "this should be defaulted and never be nil")]
        return _rolling_errors(rolling, where)
    shown = {"Type": sort, "RollingUpdate": None if rolling is None else _shown_rolling(mapping(rolling))}
    return [unsupported(_STRATEGY, shown, ("Recreate", "RollingUpdate"))]


def _rolling_errors(rolling: Obj, path: str) -> list[FieldError]:
    unavailable, surge = _amount_of(rolling, "maxUnavailable"), _amount_of(rolling, "maxSurge")
    found = int_or_percent_errors(unavailable, f"{path}.maxUnavailable")
    found += int_or_percent_errors(surge, f"{path}.maxSurge")
    if amount(unavailable) == 0 and amount(surge) == 0:
        detail = "may not be 0 when `maxSurge` is 0"
        found.append(invalid(f"{path}.maxUnavailable", unavailable, detail))
    return found + over_hundred_errors(unavailable, f"{path}.maxUnavailable")


def _shown_rolling(rolling: Obj) -> Obj:
    return {
        "MaxUnavailable": _amount_of(rolling, "maxUnavailable"),
        "MaxSurge": _amount_of(rolling, "maxSurge"),
    }


def _amount_of(rolling: Obj, key: str) -> Any:
    return rolling.get(key, 0)


def _deadline_errors(spec: Obj) -> list[FieldError]:
    deadline = spec.get("progressDeadlineSeconds")
    if type(deadline) is not int:
        return []
    found = not_negative("spec", spec, "progressDeadlineSeconds")
    if deadline <= integer(spec.get("minReadySeconds")):
        detail = "must be greater than minReadySeconds"
        found.append(invalid("spec.progressDeadlineSeconds", deadline, detail))
    return found
