"""A drain on a real control plane whose API server, leading manager or webhook is killed in the middle, and
one whose API server is away for longer than the lease of its manager.

The drain ends all the same, and no interceptor is skipped: what was requested is in the cluster.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.evictions.namespace import EvictionNamespace
from support.realcluster.evictions import RealCluster
from vacate.api.kinds import NODEMAINTENANCES, NODES, PODS
from vacate.api.objects import Obj
from vacate.errors import ApiError, NotFound, TransportError
from vacate.sdk import EvictionContext, Interceptor

MOVER = "mover.example.com"
COUNT = 6
LEASE_SECONDS = 6
Trouble = Callable[[RealCluster], Awaitable[None]]


async def holds(ask: Callable[[], Any]) -> None:
    while not ask():  # noqa: ASYNC110  other processes bring it about
        await asyncio.sleep(0.1)


async def api_server(real: RealCluster) -> None:
    real.plane.kill_api_server()
    real.plane.begin_api_server()
    await holds(lambda: not real.plane.api_server_failure())
    real.start_managers()  # one that lost its lease meanwhile has ended, as it should


async def outage(real: RealCluster) -> None:
    """Longer than a lease. Who led has ended, and who leads afterwards knows only what is in the cluster."""
    for one in real.managers:
        assert one.stop() == 0, one.output
    real.start_managers("--lease-timings", f"{LEASE_SECONDS},4,1")
    await holds(real.leader)
    leader = real.leader()
    assert leader is not None
    real.plane.kill_api_server()
    await holds(lambda: not leader.running)
    await asyncio.sleep(LEASE_SECONDS)  # how long the server is away beyond that
    real.plane.begin_api_server()
    await holds(lambda: not real.plane.api_server_failure())
    real.start_managers()  # as a kubelet does with a container that has ended


async def manager(real: RealCluster) -> None:
    await holds(real.leader)
    leader = real.leader()
    assert leader is not None
    leader.kill()
    real.start_managers()


async def webhook(real: RealCluster) -> None:
    real.webhook.kill()
    real.start_webhook()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("trouble", [api_server, outage, manager, webhook], ids=lambda one: one.__name__)
async def test_a_drain_outlives_what_is_killed(
    place: EvictionNamespace, real: RealCluster, trouble: Trouble
) -> None:
    app, name = place.namespace, f"drain-{place.namespace}"
    prepared: set[str] = set()
    go_on = asyncio.Event()

    async def prepare(context: EvictionContext) -> None:
        prepared.add(context.pod.metadata.name)
        await go_on.wait()

    first = await place.pod("p-0", MOVER, labels={"app": app})
    node = first["spec"]["nodeName"]
    for number in range(1, COUNT):
        chain = (MOVER,) if number % 2 == 0 else ()
        await place.pod(f"p-{number}", *chain, labels={"app": app}, nodeName=node)
    wanted = {f"p-{number}" for number in range(0, COUNT, 2)}
    pods = {"selector": {"matchLabels": {"app": app}}, "unmanagedPods": "Evict", "daemonSetPods": "Ignore"}
    body: Obj = {
        "apiVersion": NODEMAINTENANCES.api_version,
        "kind": NODEMAINTENANCES.kind,
        "metadata": {"name": name},
        "spec": {"nodes": [node], "pods": pods},
    }

    async def drained() -> bool:
        with contextlib.suppress(TransportError, ApiError):
            found = await place.client.get(NODEMAINTENANCES, name)
            return bool(found.get("status", {}).get("phase") == "Drained")
        return False

    async with place.serving(Interceptor(MOVER, prepare, namespace=app)):
        await place.client.create(NODEMAINTENANCES, body)
        await holds(lambda: prepared == wanted)
        await trouble(real)
        go_on.set()
        async with asyncio.timeout(180):
            while not await drained():  # noqa: ASYNC110  other processes bring it about
                await asyncio.sleep(0.5)
    assert (await place.client.list(PODS, app)).items == []
    await place.client.delete(NODEMAINTENANCES, name)

    async def undone() -> bool:
        try:
            await place.client.get(NODEMAINTENANCES, name)
        except NotFound:
            return True
        return False

    await place.until(undone, "the maintenance is gone")
    assert not (await place.client.get(NODES, node))["spec"].get("unschedulable")
