"""A node that goes down as the API sees it: real processes, and a logind with the other end of each lock."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import select
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from support.nodes.agents import NODE, WAITS, AgentCluster, agent_place, ready
from support.nodes.containers import clean, opened, spec
from support.nodes.shutdown_agents import PipeLogind, eventually
from vacate.api.kinds import (
    CLUSTERROLEBINDINGS,
    CONFIGMAPS,
    EVENTS,
    EVICTIONREQUESTS,
    LEASES,
    NODES,
    PODS,
    PRIORITYCLASSES,
)
from vacate.api.nodeconditions import GRACEFUL_SHUTDOWN
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.types.evictionrequest import shutdown_deadline
from vacate.kube.nodeleases import LEASE_NAMESPACE
from vacate.nodeagent.agent import NodeAgent
from vacate.nodeagent.shutdown.buckets import Bucket
from vacate.nodeagent.shutdown.collector import ShutdownCollector
from vacate.nodeagent.shutdown.config import ShutdownConfig
from vacate.nodeagent.shutdown.record import FILE, FileStorage

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=3)]

POLITE = "trap 'echo asked; sleep 0.3; exit 0' TERM; echo on; while :; do sleep 0.02; done"
RUDE = "trap 'echo asked' TERM; echo on; while :; do sleep 0.02; done"


@pytest.fixture
async def logind() -> AsyncIterator[PipeLogind]:
    made = PipeLogind()
    yield made
    await made.stop()
    made.close_all()


@pytest.fixture
def last_bucket() -> float:
    """Seconds for the pods of the last bucket: more than they need."""
    return 35.0


@pytest.fixture
async def place(tmp_path: Path, logind: PipeLogind, last_bucket: float) -> AsyncIterator[AgentCluster]:
    config = ShutdownConfig((Bucket(0, 60.0), Bucket(1000, last_bucket)), "")
    options = {"shutdown": config, "heartbeat_seconds": 0.3}
    async with agent_place(tmp_path / "node", logind=logind, **options) as made:
        await until(lambda: logind.held()[-1:] == [True])
        yield made
        if not made.tasks:
            await made.start_agent()
        for name in [one["metadata"]["name"] for one in (await made.client.list(PODS, "default")).items]:
            await made.client.delete(PODS, name, "default", DeleteOptions(grace_period_seconds=1))
            await made.gone(name)
        if logind.is_preparing:  # an agent that ended before would leave the lock to the next one
            await until(lambda: logind.held()[-1:] == [False])


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def run_pod(place: AgentCluster, name: str, script: str, priority: int = 0, **more: object) -> Obj:
    if priority:
        made = {"metadata": {"name": f"value-{priority}"}, "value": priority}
        await place.client.create(PRIORITYCLASSES, made)
        more["priorityClassName"] = f"value-{priority}"
    obj = await place.create(name, script, **more)
    await place.logged(obj, "on")
    await place.until(name, ready)
    return obj


async def node_ready(place: AgentCluster) -> tuple[str, str]:
    found = await place.client.get(NODES, NODE)
    (one,) = [one for one in found["status"]["conditions"] if one["type"] == "Ready"]
    return one["status"], one["message"]


async def _is_shutting_down(place: AgentCluster) -> bool:
    return await node_ready(place) == ("False", "node is shutting down")


async def _is_up(place: AgentCluster) -> bool:
    return (await node_ready(place))[0] == "True"


async def test_the_hook_of_a_pod_is_given_the_reason(place: AgentCluster, logind: PipeLogind) -> None:
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "echo $KUBE_POD_TERM_REASON > why"]}}}
    script = "trap 'cat why; exit 0' TERM; echo on; while :; do sleep 0.02; done"
    made = await run_pod(place, "low", script, container={"lifecycle": hook})
    logind.power_off()
    assert "Eviction" in await place.logged(made, "Eviction")


@pytest.mark.thorough
async def test_interceptors_have_until_the_pod_is_asked_to_end(
    place: AgentCluster, logind: PipeLogind
) -> None:
    """Not until its bucket is over, when it is killed."""
    everything = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": f"system:node:{NODE}"}
    binding = {"metadata": {"name": "node"}, "roleRef": everything, "subjects": [user]}
    await place.client.create(CLUSTERROLEBINDINGS, binding)
    await run_pod(place, "db", POLITE, evictionInterceptors=[{"name": "backup.example.com"}])
    began = dt.datetime.now(dt.UTC)
    logind.power_off()

    async def deadline() -> dt.datetime | None:
        found = (await place.client.list(EVICTIONREQUESTS, "default")).items
        return next((shutdown_deadline(one["metadata"].get("annotations") or {}) for one in found), None)

    await eventually(deadline)
    at = await deadline()
    assert at is not None
    # Half of the bucket's 60 s are the pod's own.
    assert at - began < dt.timedelta(seconds=45)


@pytest.mark.parametrize("last_bucket", [2.0])
async def test_pods_end_in_order_with_the_status_of_a_kubelet(
    place: AgentCluster, logind: PipeLogind
) -> None:
    low = await run_pod(place, "low", WAITS, terminationGracePeriodSeconds=60)
    high = await run_pod(place, "high", RUDE, 1000, terminationGracePeriodSeconds=60)
    logind.power_off()
    await place.logged(low, "asked")
    assert logind.held() == [True]
    assert "asked" not in await place.logged(high, "on")
    await place.create("late", "exec sleep 1000")
    late = await place.until("late", lambda one: one["status"].get("phase") == "Failed")
    assert (late["status"]["reason"], late["status"].get("containerStatuses")) == ("NodeShutdown", None)
    await eventually(lambda: _is_shutting_down(place))
    place.let_end(low)
    ended = await place.until("high", lambda one: one["status"].get("phase") == "Failed")
    assert ended["status"]["reason"] == "Terminated"
    (target,) = [one for one in ended["status"]["conditions"] if one["type"] == "DisruptionTarget"]
    assert (target["status"], target["reason"]) == ("True", "TerminationByKubelet")
    first = await place.get("low")
    assert first is not None
    assert (first["status"]["phase"], first["status"].get("reason")) == ("Succeeded", None)
    await until(lambda: logind.held() == [False])
    await place.stop_agent()
    await place.start_agent()  # the machine is still on its way down: nothing is started again
    await asyncio.sleep(0.3)
    again = await place.get("high")
    assert again is not None
    assert again["status"]["phase"] == "Failed"
    assert again["status"]["containerStatuses"][0]["restartCount"] == 0


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("restarts", [False, True])
async def test_a_pod_that_has_not_started_yet_does_not_start_after_its_bucket(
    place: AgentCluster, logind: PipeLogind, restarts: bool
) -> None:
    volume = {"name": "settings", "configMap": {"name": "settings"}}
    mount = {"name": "settings", "mountPath": "/settings"}
    await place.create("low", POLITE, volumes=[volume], container={"volumeMounts": [mount]})
    await place.until("low", lambda one: bool(one["status"].get("startTime")))
    high = await run_pod(place, "high", WAITS, 1000, terminationGracePeriodSeconds=60)
    logind.power_off()
    await place.logged(high, "asked")
    if restarts:
        await place.stop_agent()
        await place.start_agent()
    await place.client.create(CONFIGMAPS, {"metadata": {"name": "settings"}, "data": {}}, "default")
    low = await place.until("low", lambda one: one["status"].get("phase") == "Failed")
    assert low["status"]["reason"] == "Terminated"
    place.let_end(high)
    await until(lambda: logind.held()[-1] is False)
    assert "running" not in low["status"]["containerStatuses"][0]["state"]


async def test_a_restart_in_the_middle_keeps_lock_order_and_time(
    place: AgentCluster, logind: PipeLogind
) -> None:
    low = await run_pod(place, "low", WAITS, terminationGracePeriodSeconds=60)
    high = await run_pod(place, "high", POLITE, 1000)
    logind.power_off()
    await place.logged(low, "asked")
    await place.stop_agent()
    assert logind.held() == [True]
    assert FileStorage(place.settings.folder).load().under_way("boot")
    agent = await place.start_agent()
    assert logind.held() == [True]
    place.let_end(low)
    await place.until("low", lambda one: one["status"].get("phase") in ("Succeeded", "Failed"))
    await place.logged(high, "asked")
    await until(lambda: logind.held() == [False])
    begun, ended = times(agent)
    assert 1_700_000_000 < begun < ended


METRICS = (
    ("kubelet_graceful_shutdown_start_time_seconds", "kubelet_graceful_shutdown_end_time_seconds"),
    ("GracefulShutdownStartTime", "GracefulShutdownEndTime"),
)


def times(agent: NodeAgent) -> tuple[float, float]:
    """Start and end of the last shutdown, as both names of the metrics have them."""
    assert agent.shutdown is not None
    registry = CollectorRegistry()
    registry.register(ShutdownCollector(agent.shutdown))
    shown = dict(line.split() for line in generate_latest(registry).decode().splitlines() if line[0] != "#")
    kubelet, proposal = ((float(shown[start]), float(shown[end])) for start, end in METRICS)
    assert kubelet == proposal
    return kubelet


async def test_the_times_of_a_shutdown_outlive_restart_and_reboot(
    place: AgentCluster, logind: PipeLogind
) -> None:
    low = await run_pod(place, "low", WAITS, terminationGracePeriodSeconds=60)
    await place.stop_agent()
    agent = await place.start_agent()
    assert times(agent) == (0.0, 0.0)
    await until(lambda: logind.held()[-1:] == [True])
    logind.power_off()
    await place.logged(low, "asked")
    begun, ended = times(agent)
    assert (begun > 1_700_000_000, ended) == (True, 0.0)
    place.let_end(low)
    await until(lambda: logind.held()[-1:] == [False])
    begun, ended = times(agent)
    assert begun < ended
    await place.stop_agent()
    assert times(await place.start_agent()) == (begun, ended)
    await place.stop_agent()
    logind.cancel()  # as far as a new logind knows, none is under way
    agent = await place.start_agent("another")
    assert times(agent) == (begun, ended)
    await until(lambda: logind.held()[-1:] == [True])
    await run_pod(place, "next", POLITE)
    assert times(agent) == (begun, ended)


async def test_conditions_and_events_tell_of_a_shutdown(place: AgentCluster, logind: PipeLogind) -> None:
    async def condition() -> tuple[str, str]:
        found = (await place.client.get(NODES, NODE))["status"]["conditions"]
        return next(
            ((one["status"], one["reason"]) for one in found if one["type"] == GRACEFUL_SHUTDOWN), ("", "")
        )

    async def seen(reason: str, message: str) -> bool:
        found = (await place.client.list(EVENTS)).items
        return any(
            one["reason"] == reason and message in (one.get("note") or one["message"]) for one in found
        )

    low = await run_pod(place, "low", WAITS)
    assert await condition() == ("True", "Agent")
    logind.power_off()
    await place.logged(low, "asked")
    await place.create("late", "exec sleep 1000")
    await eventually(lambda: seen("Shutdown", "the machine goes down"))
    await eventually(lambda: seen("NodeShutdown", "Pod was rejected as the node is shutting down."))
    await eventually(
        lambda: seen("Killing", "Stopping container main: the node is shutting down (reason: Eviction)")
    )
    logind.cancel()
    await eventually(lambda: seen("Shutdown", "the shutdown was cancelled"))
    place.let_end(low)
    logind.drop_bus()

    async def is_unavailable() -> bool:
        return await condition() == ("False", "Unavailable")

    await eventually(is_unavailable)


async def test_the_lease_is_renewed_while_the_node_goes_down(place: AgentCluster, logind: PipeLogind) -> None:
    async def is_down() -> bool:
        return (await node_ready(place))[0] == "False"

    async def renewed() -> str:
        return str((await place.client.get(LEASES, NODE, LEASE_NAMESPACE))["spec"]["renewTime"])

    async def is_renewed() -> bool:
        return await renewed() != before

    logind.power_off()
    await eventually(is_down)
    before = await renewed()
    await eventually(is_renewed)
    assert await is_down()


async def test_a_cancelled_shutdown_leaves_the_other_pods_and_takes_a_new_lock(
    place: AgentCluster, logind: PipeLogind
) -> None:
    low = await run_pod(place, "low", WAITS)
    high = await run_pod(place, "high", POLITE, 1000)
    logind.power_off()
    await place.logged(low, "asked")
    logind.cancel()
    await until(lambda: logind.held() == [False, True])
    place.let_end(low)
    await place.until("low", lambda one: one["status"].get("phase") in ("Succeeded", "Failed"))
    assert "asked" not in await place.logged(high, "on")
    await eventually(lambda: _is_up(place))
    fresh = await run_pod(place, "fresh", POLITE)
    assert fresh


async def test_an_agent_that_ends_in_order_lets_go_of_the_lock(
    place: AgentCluster, logind: PipeLogind
) -> None:
    await run_pod(place, "web", POLITE)
    await place.stop_agent()
    await until(lambda: logind.held() == [False])


async def test_the_supervisor_closes_what_no_agent_asks_for(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    try:
        async with opened(tmp_path) as (runtime, _):
            await runtime.start(spec(tmp_path, "exec sleep 1000"))
            await runtime.hold(writer, 0.5)
            assert await runtime.holds()
            assert not select.select([reader], [], [], 0.7)[0]  # as long as there is an agent, it is held
        await until(lambda: bool(select.select([reader], [], [], 0)[0]))
        async with opened(tmp_path) as (runtime, _):
            await runtime.signal("c", signal.SIGKILL)
            await runtime.wait("c")
            await runtime.remove("c")
    finally:
        os.close(reader)
        await clean(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b'{"startTime": 5}', b"[]", b"\xff"])
def test_a_record_that_cannot_be_read_counts_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    assert FileStorage(tmp_path).load().shutdown is None
