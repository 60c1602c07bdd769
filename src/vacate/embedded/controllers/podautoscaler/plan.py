"""How many pods an autoscaler wants, and what it says about itself. Words are those of Kubernetes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field

from vacate.api.objects import Obj
from vacate.api.types import Condition, HorizontalPodAutoscaler, condition
from vacate.api.types.autoscaling import HorizontalPodAutoscalerStatus
from vacate.embedded.controllers.podautoscaler.metrics import ReplicaProposal, proposal_of

ConditionText = tuple[str, str, str]
"""Status, reason and message of a condition."""
_WITHIN: ConditionText = ("False", "DesiredWithinRange", "the desired count is within the acceptable range")
_TOO_FEW: ConditionText = (
    "True",
    "TooFewReplicas",
    "the desired replica count is less than the minimum replica count",
)
_TOO_MANY: ConditionText = (
    "True", "TooManyReplicas", "the desired replica count is more than the maximum replica count",
)  # fmt: skip
_DISABLED: ConditionText = (
    "False", "ScalingDisabled", "scaling is disabled since the replica count of the target is zero",
)  # fmt: skip
_NO_METRIC: ConditionText = (
    "False",
    "FailedGetExternalMetric",
    "the HPA was unable to compute the replica count",
)


@dataclass(frozen=True, slots=True)
class AutoscalerPlan:
    """The count, why it is another one, and what the status says."""

    replicas: int
    reason: str = ""
    conditions: dict[str, ConditionText] = field(default_factory=dict)
    metrics: list[Obj] = field(default_factory=list)


def plan(autoscaler: HorizontalPodAutoscaler, replicas: int) -> AutoscalerPlan:
    """What the workload with so many replicas should have.

    Outside of the bounds no metric is asked; without one that is measured nothing is scaled inside of them.
    """
    floor, ceiling = autoscaler.spec.min_replicas, autoscaler.spec.max_replicas
    if replicas == 0:
        return AutoscalerPlan(0, conditions={"ScalingActive": _DISABLED})
    if replicas > ceiling:
        return AutoscalerPlan(ceiling, "Current number of replicas above Spec.MaxReplicas")
    if replicas < floor:
        return AutoscalerPlan(floor, "Current number of replicas below Spec.MinReplicas")
    found = [proposal_of(autoscaler, metric, replicas) for metric in autoscaler.spec.metrics]
    known = [one for one in found if one is not None]
    highest = max(known, key=lambda one: one.replicas, default=None)
    if highest is None or (len(known) < len(found) and highest.replicas < replicas):
        return AutoscalerPlan(replicas, conditions={"ScalingActive": _NO_METRIC})
    return _bounded(autoscaler, replicas, highest, known)


def _bounded(
    autoscaler: HorizontalPodAutoscaler,
    replicas: int,
    highest: ReplicaProposal,
    known: Sequence[ReplicaProposal],
) -> AutoscalerPlan:
    limited, wanted = _WITHIN, highest.replicas
    if wanted < autoscaler.spec.min_replicas:
        limited, wanted = _TOO_FEW, autoscaler.spec.min_replicas
    elif wanted > autoscaler.spec.max_replicas:
        limited, wanted = _TOO_MANY, autoscaler.spec.max_replicas
    source = f"external metric {highest.name}(nil)"
    found = f"the HPA was able to successfully calculate a replica count from {source}"
    active = ("True", "ValidMetricFound", found)
    reason = "" if wanted == replicas else f"{source} {'above' if wanted > replicas else 'below'} target"
    return AutoscalerPlan(
        wanted,
        reason,
        {"ScalingActive": active, "ScalingLimited": limited},
        [_measured(one) for one in known],
    )


def _measured(one: ReplicaProposal) -> Obj:
    return {"type": "External", "external": {"metric": {"name": one.name}, "current": one.current}}


def status_after(
    autoscaler: HorizontalPodAutoscaler, current: int, step: AutoscalerPlan, now: dt.datetime
) -> HorizontalPodAutoscalerStatus:
    """The status once the plan is carried out."""
    scaled = step.replicas != current
    able = ("True", "ReadyForNewScale", "recommended size matches current size")
    if scaled:
        text = f"the HPA controller was able to update the target scale to {step.replicas}"
        able = ("True", "SucceededRescale", text)
    return HorizontalPodAutoscalerStatus(
        current_replicas=current,
        desired_replicas=step.replicas,
        last_scale_time=now if scaled else autoscaler.status.last_scale_time,
        current_metrics=step.metrics or None,
        conditions=conditions_after(autoscaler, {"AbleToScale": able, **step.conditions}, now),
    )


def conditions_after(
    autoscaler: HorizontalPodAutoscaler, texts: dict[str, ConditionText], now: dt.datetime
) -> list[Condition]:
    """The conditions with these in place; the others stay."""
    found = {one.type: one for one in autoscaler.status.conditions}
    for name, (status, reason, message) in texts.items():
        before = condition(autoscaler.status.conditions, name)
        same = before is not None and before.status == status
        since = before.last_transition_time if before is not None and same else now
        found[name] = Condition(
            type=name, status=status, reason=reason, message=message, last_transition_time=since
        )
    return list(found.values())
