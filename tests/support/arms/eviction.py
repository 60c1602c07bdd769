"""Arrangements for evictions: pods that run, and budgets whose status is written as a controller would."""

from __future__ import annotations

from typing import Any

from support.arms.arm import Answer, Obj
from support.arms.caseapi import CaseApi
from support.arms.objects import budget, condition, pod
from vacate.api.kinds import PODDISRUPTIONBUDGETS, PODS

BUDGETS = PODDISRUPTIONBUDGETS
WOULD_VIOLATE = "Cannot evict pod as it would violate the pod's disruption budget."


async def running(api: CaseApi, name: str = "p", *, ready: bool = True, **spec: Any) -> Obj:
    """A pod on a node."""
    await api.given(PODS, pod(name, node="n", **spec))
    status = {"phase": "Running", "conditions": [condition("Ready", "True" if ready else "False")]}
    return await api.given_status(PODS, name, status)


async def budgeted(api: CaseApi, allowed: int = 1, name: str = "b", **more: Any) -> Obj:
    """A budget with so many disruptions left; `spec` and `status` change parts of it."""
    created = await api.given(BUDGETS, budget(name, **more.get("spec", {})))
    status = {
        "observedGeneration": created["metadata"]["generation"],
        "disruptionsAllowed": allowed,
        "currentHealthy": 3,
        "desiredHealthy": 3 - allowed,
        "expectedPods": 3,
        **more.get("status", {}),
    }
    return await api.given_status(BUDGETS, name, status)


def eviction(name: str = "p", version: str = "policy/v1", **options: Any) -> Obj:
    body: Obj = {"apiVersion": version, "kind": "Eviction", "metadata": {"name": name}}
    return {**body, "deleteOptions": options} if options else body


async def evict(
    api: CaseApi, name: str = "p", *, query: dict[str, str] | None = None, **options: Any
) -> Answer:
    """Ask for an eviction, with delete options."""
    return await api.ask("POST", PODS, name, "eviction", eviction(name, **options), query=query or {})


async def allowed_now(api: CaseApi, name: str = "b") -> int:
    """How many disruptions the budget has left."""
    return int((await api.get(BUDGETS, name))["status"]["disruptionsAllowed"])


def marks(pod: Obj) -> list[tuple[str, str, str]]:
    """The conditions that say why a pod goes."""
    return [
        (one["status"], one["reason"], one["message"])
        for one in pod["status"].get("conditions", ())
        if one["type"] == "DisruptionTarget"
    ]


MARK = [("True", "EvictionByEvictionAPI", "Eviction API: evicting")]
