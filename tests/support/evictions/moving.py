"""Deployments that move before they are evicted: what tests on either cluster do with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.evictions.namespace import EvictionNamespace, is_ready
from vacate.api.kinds import DEPLOYMENTS, PODS, REPLICASETS
from vacate.api.objects import Obj
from vacate.kube.deletionorder import DELETION_COST
from vacate.kube.surge import DEPLOYMENT_ANNOTATIONS, MARKED
from vacate.testing import deployment

OURS = {*DEPLOYMENT_ANNOTATIONS, MARKED, DELETION_COST}


def annotated(obj: Obj) -> set[str]:
    return set(obj["metadata"].get("annotations") or {})


async def pods(place: EvictionNamespace) -> list[Obj]:
    """The pods that are not terminating."""
    found = (await place.client.list(PODS, place.namespace)).items
    return [one for one in found if not one["metadata"].get("deletionTimestamp")]


async def moving(
    place: EvictionNamespace, replicas: int, *, create: Callable[[], Any] | None = None, **parts: Any
) -> list[Obj]:
    """A Deployment whose pods are ready and registered."""
    if create is not None:
        create()
    else:
        made = deployment("web", namespace=place.namespace, replicas=replicas, **parts)
        await place.client.create(DEPLOYMENTS, made, place.namespace)

    async def registered() -> list[Obj]:
        found = await pods(place)
        done = [one for one in found if is_ready(one) and "vacate.dev/registered" in annotated(one)]
        return done if len(done) == replicas else []

    return await place.until(registered, "all pods are ready and registered")


async def quiet(place: EvictionNamespace, replicas: int, *, surged: bool = True) -> None:
    """Nothing of the surge is left, and the count is the user's.

    Without a surge our entry in the managed fields stays: that of the test, which goes by the same name.
    """

    async def look() -> bool:
        found = await place.client.get(DEPLOYMENTS, "web", place.namespace)
        sets = (await place.client.list(REPLICASETS, place.namespace)).items
        here = await pods(place)
        left = [
            one for one in (found, *sets, *here) if OURS & (one["metadata"].get("annotations") or {}).keys()
        ]
        managers = [one["manager"] for one in found["metadata"].get("managedFields", [])]
        counts = (found["spec"]["replicas"], len(here), found["status"].get("availableReplicas"))
        ours = surged and "vacate" in managers
        return not left and not ours and counts == (replicas,) * 3

    await place.until(look, "nothing of the surge is left")
