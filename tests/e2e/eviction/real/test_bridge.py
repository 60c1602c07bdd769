"""The eviction bridge of a stock cluster while its webhook is away, and what it costs."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from support.evictions.namespace import EvictionNamespace
from support.realcluster.audit import calls
from support.realcluster.evictions import RealCluster
from vacate.api.objects import Obj
from vacate.errors import NotFound, TooManyRequests

FIRST = "first.example.com"
PODS_OF_A_NODE = 40


async def refused(place: EvictionNamespace, pod: Obj) -> str:
    with pytest.raises(TooManyRequests) as caught:
        await place.client.evict(pod["metadata"]["name"], place.namespace)
    return caught.value.message


async def test_with_the_webhook_killed_evictions_pass_as_without_the_bridge(
    real: RealCluster, place: EvictionNamespace
) -> None:
    pod = await place.pod("db-0", FIRST)
    prefix = 'admission webhook "evictions.validate.vacate.dev" denied the request: Intercepting: '
    assert (await refused(place, pod)).startswith(prefix)
    await place.until_active(pod, FIRST)
    real.webhook.kill()
    try:
        await place.client.evict("db-0", place.namespace)
        await place.gone(pod)
    finally:
        real.start_webhook()
    # What was remembered survives the restart: the next pod of the name is not meant.
    again = await place.pod("db-0", FIRST)

    async def answered() -> Any:
        """The API server may pass over a webhook that has just begun to answer."""
        other = await place.pod(f"other-{len(await place.requests())}", FIRST)
        with contextlib.suppress(TooManyRequests):
            await place.client.evict(other["metadata"]["name"], place.namespace)
            return False
        return True

    await place.until(answered, "the webhook is asked again")
    with pytest.raises(NotFound, match="another pod of the same name"):
        await place.client.evict("db-0", place.namespace)
    await place.stays(again)


async def test_a_node_full_of_pods_asked_for_at_once_waits_without_a_gap(
    real: RealCluster, place: EvictionNamespace
) -> None:
    """As kubectl does it, all at once: none slips past its interceptor because the webhook is busy."""
    pods = await asyncio.gather(*(place.pod(f"p-{i}", FIRST) for i in range(PODS_OF_A_NODE)))
    rounds = 1
    await asyncio.gather(*(refused(place, pod) for pod in pods))

    async def all_made() -> bool:
        """A busy webhook makes requests behind its answers, and callers try again."""
        nonlocal rounds
        rounds += 1
        await asyncio.gather(*(refused(place, pod) for pod in pods))
        made = await place.requests()
        return sorted(one.metadata.name for one in made) == sorted(pod["metadata"]["uid"] for pod in pods)

    await place.until(all_made, "every pod has its request")
    for pod in pods:
        await place.stays(pod)
    written = [
        one
        for one in calls(real.audit_log)
        if (one.resource, one.namespace) == ("evictionrequests", place.namespace) and one.code < 300
    ]
    verbs = [one.verb for one in written if one.user.endswith(":vacate-webhook")]
    # Where rounds take longer than callers are waited for, requests of the round before may have ended.
    deleted = sum(one.verb == "delete" for one in written)
    assert PODS_OF_A_NODE <= verbs.count("create") <= PODS_OF_A_NODE + deleted
    # Later rounds were recorded only where they came a second later, a tenth of the waiting time here.
    assert len([verb for verb in verbs if verb in ("create", "patch", "update")]) <= rounds * PODS_OF_A_NODE
