"""The requests that a node makes when it goes down, by either API, in a simulated cluster."""

from __future__ import annotations

import datetime as dt

import pytest

from vacate.api.kinds import EVACUATIONS
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import SHUTDOWN_DEADLINE
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.nodeagent.shutdown.buckets import ShutdownPod
from vacate.nodeagent.shutdown.requests import ShutdownRequests
from vacate.sdk import EvictionContext, Interceptor
from vacate.testing import SimulatedCluster, simulate

pytestmark = pytest.mark.sim

OPEN = "EvacuationAPI=true"
BACKUP = "backup.example.com"
REGISTERED = {"annotations": {f"{EVACUATIONS.group}/priority_{BACKUP}": "2000"}}
LONG = "ip-10-0-12-34.eu-central-1.compute.internal"


class Node:
    """A node that goes down."""

    def __init__(
        self, cluster: SimulatedCluster, dialect: Dialect = EVACUATION, name: str = "node-1"
    ) -> None:
        self.ends: list[str] = []
        self.requests = ShutdownRequests(cluster.world.client_of(name), cluster.clock, name, dialect=dialect)

    def end(self, pod: Obj, seconds: float = 120.0) -> None:
        meta = pod["metadata"]
        one = ShutdownPod(meta["uid"], "default", meta["name"], 0, 30.0, interceptors=True)
        ends = self.ends
        self.requests.request(one, seconds, lambda: ends.append("failed"), lambda: ends.append("prepared"))


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["node-1", LONG])
def test_an_evacuator_prepares_the_pod_and_learns_when_it_ends(name: str) -> None:
    async def body(cluster: SimulatedCluster) -> None:
        times_left: list[dt.timedelta | None] = []

        async def back_up(eviction: EvictionContext) -> None:
            while eviction.ends_at is None:
                await eviction.clock.sleep(1)
            times_left.append(eviction.time_left)

        await cluster.program(Interceptor(BACKUP, back_up, apis=("evacuation",)))
        pod = await cluster.pod("db", metadata=REGISTERED)
        node = Node(cluster, name=name)
        node.end(pod)
        await cluster.until(lambda: node.ends)
        assert node.ends == ["prepared"]
        (left,) = times_left
        assert left is not None
        assert dt.timedelta(seconds=100) < left <= dt.timedelta(seconds=120)
        assert not cluster.requests(EVICTION_REQUEST)
        await node.requests.aclose()

    simulate(body, feature_gates=OPEN)


@pytest.mark.thorough
def test_a_shutdown_that_is_cancelled_withdraws() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        pod = await cluster.pod("db", metadata=REGISTERED)
        node = Node(cluster, name=LONG)
        node.end(pod)
        await cluster.until(lambda: any(_deadline(one) for one in cluster.world.objects(EVACUATIONS)))
        node.requests.withdraw_all()
        await cluster.until(lambda: not cluster.world.objects(EVACUATIONS))
        assert not cluster.find_pod("db")["metadata"].get("deletionTimestamp")
        await node.requests.aclose()

    simulate(body, feature_gates=OPEN)


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("own", [EVICTION_REQUEST, EVACUATION])
def test_a_request_by_the_other_api_is_joined_and_left(own: Dialect) -> None:
    async def body(cluster: SimulatedCluster) -> None:
        pod = await cluster.pod("db", metadata=REGISTERED)
        (other,) = [one for one in (EVICTION_REQUEST, EVACUATION) if one is not own]
        made = await cluster.requester(dialect=other).request("db")
        node = Node(cluster, own)
        node.end(pod)

        def names() -> list[str]:
            (one,) = cluster.world.objects(other.kind)
            listed = one["spec"].get("requesters") or one["metadata"].get("finalizers") or []
            return [each["name"] if isinstance(each, dict) else each for each in listed]

        await cluster.until(lambda: any("node-1.shutdown.vacate.dev" in each for each in names()))
        await cluster.until(lambda: _deadline(cluster.world.objects(other.kind)[0]))
        assert not cluster.world.objects(own.kind)
        node.requests.withdraw_all()
        await cluster.until(lambda: len(names()) == 1)
        assert not _deadline(cluster.world.objects(other.kind)[0])  # it goes on, and without a hurry
        assert made.metadata.name == cluster.world.objects(other.kind)[0]["metadata"]["name"]
        await node.requests.aclose()

    simulate(body, feature_gates=OPEN)


def _deadline(request: Obj) -> str:
    return str((request["metadata"].get("annotations") or {}).get(SHUTDOWN_DEADLINE, ""))
