"""The difference between a budget's status and its next one, as a strategic merge patch."""

from __future__ import annotations

import datetime as dt
from typing import Any

from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.api.types import Condition, PodDisruptionBudget
from vacate.api.types.policy import PodDisruptionBudgetStatus

_COUNTS = {
    "observedGeneration": "observed_generation",
    "disruptionsAllowed": "disruptions_allowed",
    "currentHealthy": "current_healthy",
    "desiredHealthy": "desired_healthy",
    "expectedPods": "expected_pods",
}


def status_patch(pdb: PodDisruptionBudget, status: PodDisruptionBudgetStatus) -> Obj:
    """A patch for the status subresource that leaves foreign conditions and unknown fields alone.

    It carries the resourceVersion: an eviction that was approved since the budget was read has moved it, and
    then the patch must fail, or that eviction would be forgotten.
    """
    body: dict[str, Any] = {name: getattr(status, field) for name, field in _COUNTS.items()}
    body["disruptedPods"] = _difference(pdb.status.disrupted_pods, status.disrupted_pods)
    body["conditions"] = [
        condition_dict(one) for one in status.conditions if one not in pdb.status.conditions
    ]
    if not body["conditions"]:
        del body["conditions"]
    return {
        "metadata": {"uid": pdb.metadata.uid, "resourceVersion": pdb.metadata.resource_version},
        "status": body,
    }


def condition_dict(one: Condition) -> Obj:
    """A condition as JSON has it in kinds whose conditions are `metav1.Condition`."""
    found: Obj = {"type": one.type, "status": one.status, "reason": one.reason, "message": one.message}
    if one.observed_generation:
        found["observedGeneration"] = one.observed_generation
    if one.last_transition_time is not None:
        found["lastTransitionTime"] = format_time(one.last_transition_time)
    return found


def _difference(old: dict[str, dt.datetime], new: dict[str, dt.datetime]) -> Obj:
    gone: Obj = dict.fromkeys(sorted(old.keys() - new.keys()))
    kept = {name: format_time(new[name]) for name in sorted(new) if old.get(name) != new[name]}
    return {**gone, **kept}
