"""The requests that a node makes when it goes down, by each API, in a simulated cluster."""

from __future__ import annotations

import datetime as dt

import pytest

from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, LIFECYCLE_EVICTIONS
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import SHUTDOWN_DEADLINE
from vacate.entropy import seeded_entropy
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
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
        self.requests = ShutdownRequests(
            cluster.world.client_of(name), cluster.clock, seeded_entropy(1), name, dialect=dialect
        )

    def end(
        self, pod: Obj, seconds: float = 120.0, *, responders_only: bool = False, responder: str = ""
    ) -> None:
        meta = pod["metadata"]
        who = {"interceptors": True, "responders_only": responders_only}
        one = ShutdownPod(meta["uid"], "default", meta["name"], 0, 30.0, **who, responder=responder)
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


class Responding:
    """A pod whose responder has turns by lifecycle.k8s.io only."""

    NAME = "backup.example.com/backup"
    GATES = "LifecycleAPI=true"

    @classmethod
    async def pod(cls, cluster: SimulatedCluster) -> Obj:
        return await cluster.pod("db", spec={"evictionResponders": [{"name": cls.NAME, "priority": 20_000}]})


def test_a_responder_prepares_the_pod_and_learns_when_it_ends() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        times_left: list[dt.timedelta | None] = []

        async def back_up(eviction: EvictionContext) -> None:
            while eviction.ends_at is None:
                await eviction.clock.sleep(1)
            times_left.append(eviction.time_left)

        await cluster.program(Interceptor(Responding.NAME, back_up, apis=("lifecycle",)))
        pod = await Responding.pod(cluster)
        node = Node(cluster, EVICTION_REQUEST, name=LONG)  # whatever it prefers for other pods
        node.end(pod, responders_only=True)
        await cluster.until(lambda: node.ends)
        assert node.ends == ["prepared"]
        (left,) = times_left
        assert left is not None
        assert dt.timedelta(seconds=80) < left <= dt.timedelta(seconds=120)
        assert not cluster.requests(EVICTION_REQUEST)
        await node.requests.aclose()

    simulate(body, feature_gates=Responding.GATES)


@pytest.mark.parametrize("others", [False, True])
def test_a_cancelled_shutdown_withdraws_its_own_request_of_upstream(*, others: bool) -> None:
    async def body(cluster: SimulatedCluster) -> None:
        pod = await Responding.pod(cluster)
        if others:
            await cluster.requester(dialect=LIFECYCLE).request("db")
        node = Node(cluster, EVICTION_REQUEST, name="node-1")
        node.end(pod, responders_only=True)

        def wanted() -> dict[str, str]:
            found = cluster.world.objects(LIFECYCLE_EVICTIONS)[-1:]
            listed = [each for one in found for each in one.get("status", {}).get("requesters", ())]
            return {one["name"]: one["intent"] for one in listed}

        def deadlines() -> list[str]:
            return [_deadline(one) for one in cluster.world.objects(LIFECYCLE_EVICTIONS)]

        await cluster.until(lambda: wanted().get("shutdown.vacate.dev/node-1") == "Eviction")
        await cluster.until(lambda: any(deadlines()))
        node.requests.withdraw_all()
        await cluster.until(lambda: wanted().get("shutdown.vacate.dev/node-1") == "Withdrawn")
        goes_on = "Eviction" in wanted().values()
        assert goes_on == others
        if others:
            await cluster.until(lambda: not any(deadlines()))  # it goes on, and without a hurry
        await node.requests.aclose()

    simulate(body, feature_gates=Responding.GATES)


@pytest.mark.parametrize("first", [LIFECYCLE, EVICTION_REQUEST], ids=lambda one: one.name)
def test_the_api_in_which_turns_have_begun_is_that_of_the_node(first: Dialect) -> None:
    """Of a pod with interceptors and responders: those whose turns have begun learn when the pod ends."""
    both: tuple[Dialect, ...] = (LIFECYCLE, EVICTION_REQUEST)
    (preferred,) = (one for one in both if one is not first)

    async def body(cluster: SimulatedCluster) -> None:
        times_left: list[dt.timedelta | None] = []

        async def prepare(eviction: EvictionContext) -> None:
            while eviction.ends_at is None:
                await eviction.clock.sleep(1)
            times_left.append(eviction.time_left)

        name = Responding.NAME if first is LIFECYCLE else BACKUP
        await cluster.program(Interceptor(name, prepare, apis=(first.name,)))
        registered = {"annotations": {f"interceptor.{EVICTIONREQUESTS.group}/priority_{BACKUP}": "2000"}}
        listed = {"evictionResponders": [{"name": Responding.NAME, "priority": 20_000}]}
        pod = await cluster.pod("db", metadata=registered, spec=listed)
        await cluster.requester(dialect=first).request("db")
        await cluster.until(lambda: name in str([one["status"] for one in cluster.world.objects(first.kind)]))
        node = Node(cluster, preferred)
        node.end(pod, responder=Responding.NAME)
        await cluster.until(lambda: times_left)
        (left,) = times_left
        assert left is not None
        assert dt.timedelta(seconds=80) < left <= dt.timedelta(seconds=120)
        assert not cluster.world.objects(preferred.kind)
        await cluster.until(lambda: node.ends)
        assert node.ends == ["prepared"]
        await node.requests.aclose()

    simulate(body, feature_gates=Responding.GATES)


def _deadline(request: Obj) -> str:
    return str((request["metadata"].get("annotations") or {}).get(SHUTDOWN_DEADLINE, ""))
