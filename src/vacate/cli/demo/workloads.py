"""The applications of the demo, and the interceptors that prepare their pods for eviction."""

from __future__ import annotations

import datetime as dt

from vacate.api.objects import Obj
from vacate.sdk import EvictionContext, Interceptor, interceptor

WEB, WEB_REPLICAS, WEB_AT_LEAST = "web", 6, 5
CART, CART_REPLICAS = "cart", 3
DB, DB_REPLICAS, DB_AT_LEAST = "db", 3, 2
CHECKPOINT, REPLICATE, BACKUP = "checkpoint.example.com", "replicate.example.com", "backup.example.com"

TURN = dt.timedelta(seconds=3)
"""How long an interceptor takes: long enough to be read."""

REPLICAS = WEB_REPLICAS + CART_REPLICAS + DB_REPLICAS


def _deployment(name: str, replicas: int, *interceptors: str) -> Obj:
    """Interceptors are named in the order of their turns; a pod lists the first one last."""
    spec: Obj = {"containers": [{"name": name, "image": f"{name}:1"}]}
    if interceptors:
        spec["evictionInterceptors"] = [{"name": one} for one in reversed(interceptors)]
    return deployment_of(name, replicas, spec)


def deployment_of(name: str, replicas: int, spec: Obj) -> Obj:
    """A Deployment of pods with this spec."""
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def _budget(name: str, at_least: int) -> Obj:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"minAvailable": at_least, "selector": {"matchLabels": {"app": name}}},
    }


DEPLOYMENTS: tuple[Obj, ...] = (
    _deployment(WEB, WEB_REPLICAS),
    _deployment(CART, CART_REPLICAS, CHECKPOINT),
    _deployment(DB, DB_REPLICAS, REPLICATE, BACKUP),
)
BUDGETS: tuple[Obj, ...] = (_budget(WEB, WEB_AT_LEAST), _budget(DB, DB_AT_LEAST))


@interceptor(CHECKPOINT, label_selector=f"app={CART}")
async def checkpoint(context: EvictionContext) -> None:
    """Saves the carts, and then evicts the pod itself: that is an interceptor's right."""
    await context.report("Saving open carts", expected_finish=TURN)
    await context.clock.sleep(TURN.total_seconds())
    await context.evict()


@interceptor(REPLICATE, label_selector=f"app={DB}")
async def replicate(context: EvictionContext) -> None:
    """Hands the newest data to the other replicas."""
    await context.report("Handing over data", expected_finish=TURN)
    await context.clock.sleep(TURN.total_seconds())


@interceptor(BACKUP, label_selector=f"app={DB}")
async def backup(context: EvictionContext) -> None:
    """Writes a backup; when it is done the pod is evicted."""
    await context.report("Writing a backup", expected_finish=TURN)
    await context.clock.sleep(TURN.total_seconds())


INTERCEPTORS: tuple[Interceptor, ...] = (checkpoint, replicate, backup)
