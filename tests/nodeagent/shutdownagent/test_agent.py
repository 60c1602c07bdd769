"""The shutdown agent beside a node that ends its pods when they are deleted: real processes, real order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from support.nodes.agents import NODE, WAITS, AgentCluster, agent_place, ready
from support.nodes.shutdown_agents import KUBELET_LOCK, PipeLogind, ShutdownAgentCluster, eventually
from vacate.api.kinds import EVICTIONREQUESTS, NODES, PODS, PRIORITYCLASSES, Kind
from vacate.api.nodeconditions import GRACEFUL_SHUTDOWN, SHUTDOWN_IN_PROGRESS, SHUTDOWN_TAINT
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions, WatchOptions
from vacate.api.times import format_time
from vacate.client.client import Client
from vacate.clock import SystemClock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.embedded.bootstrap.identities import ADMIN, controller, node
from vacate.errors import ConfigError, Conflict
from vacate.nodeagent.shutdown.buckets import Bucket
from vacate.nodeagent.shutdown.config import ShutdownConfig
from vacate.nodeagent.shutdownagent.apipods import whole_seconds
from vacate.testing import pod
from vacate.wire.message import Request

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=3)]

POLITE = "trap 'echo asked; exit 0' TERM; echo on; while :; do sleep 0.02; done"
ANNOTATION = "interceptor.evictionrequest.coordination.k8s.io/priority_backup.example.com"


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[ShutdownAgentCluster]:
    logind = PipeLogind()
    config = ShutdownConfig((Bucket(0, 60.0), Bucket(1000, 35.0)), "")
    async with agent_place(tmp_path / "node") as place:
        yield ShutdownAgentCluster(place, logind, config)
        for one in (await place.client.list(PODS, "default")).items:
            await place.client.delete(
                PODS, one["metadata"]["name"], "default", DeleteOptions(grace_period_seconds=1)
            )
            await place.gone(one["metadata"]["name"])
    await logind.stop()
    logind.close_all()


async def run_pod(place: AgentCluster, name: str, script: str, priority: int = 0, **more: object) -> Obj:
    if priority:
        made = {"metadata": {"name": f"value-{name}"}, "value": priority}
        await place.client.create(PRIORITYCLASSES, made)
        more["priorityClassName"] = f"value-{name}"
    obj = await place.create(name, script, **more)
    await place.logged(obj, "on")
    await place.until(name, ready)
    return obj


async def intercepted(place: AgentCluster, name: str, script: str, **more: object) -> Obj:
    more["evictionInterceptors"] = [{"name": "backup.example.com"}]
    return await run_pod(place, name, script, 0, **more)


def is_deleted(pod: Obj) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def has_deadline(request: Obj) -> bool:
    return "vacate.dev/shutdown-deadline" in request["metadata"].get("annotations", {})


async def first(place: AgentCluster, kind: Kind, after: str, holds: Callable[[Obj], bool]) -> int:
    """The version that first made it so: those of all kinds are in one order."""
    options = WatchOptions(resource_version=after)
    async with asyncio.timeout(60), place.client.watch(kind, "default", options) as watch:
        while True:
            for one in await watch.read() or ():
                if one.object is not None and holds(one.object):
                    return int(one.resource_version)


async def request_of(place: AgentCluster, pod: Obj) -> Obj | None:
    found = (await place.client.list(EVICTIONREQUESTS, "default")).items
    return next((one for one in found if one["metadata"]["name"] == pod["metadata"]["uid"]), None)


async def has_deadline_of(place: AgentCluster, pod: Obj) -> bool:
    request = await request_of(place, pod)
    return request is not None and has_deadline(request)


async def test_pods_are_deleted_in_order_and_the_node_says_so(here: ShutdownAgentCluster) -> None:
    place = here.place
    low = await run_pod(place, "low", WAITS, terminationGracePeriodSeconds=3600)
    high = await run_pod(place, "high", POLITE, 1000, terminationGracePeriodSeconds=3600)
    async with here.running():
        await eventually(lambda: here.logind.held() == [True])
        await here.until_condition(GRACEFUL_SHUTDOWN, status="True", reason="Agent")
        here.logind.power_off()
        ending = await place.until("low", is_deleted)
        assert 1 <= ending["metadata"]["deletionGracePeriodSeconds"] <= 60
        assert ending["metadata"]["reason"] == "Eviction"
        (target,) = [one for one in ending["status"]["conditions"] if one["type"] == "DisruptionTarget"]
        assert (target["status"], target["reason"]) == ("True", "TerminationByKubelet")
        await place.logged(low, "asked")
        assert "asked" not in await place.logged(high, "on")
        await here.until_condition(SHUTDOWN_IN_PROGRESS, status="True", reason="NodeShutdown")
        assert SHUTDOWN_TAINT in [one["key"] for one in (await here.node())["spec"]["taints"]]
        place.let_end(low)
        await place.gone("low")
        await place.gone("high")
        await eventually(lambda: here.logind.held() == [False])


@pytest.mark.parametrize(("left", "granted"), [(5.98, 6), (6.0, 6), (2.7, 3), (1.2, 1), (0.1, 1), (-5.0, 1)])
def test_a_pod_has_the_seconds_that_are_configured(left: float, granted: int) -> None:
    assert whole_seconds(left) == granted


async def test_a_cancelled_shutdown_spares_the_rest_and_unmarks_the_node(here: ShutdownAgentCluster) -> None:
    place = here.place
    low = await run_pod(place, "low", WAITS)
    high = await run_pod(place, "high", POLITE, 1000)
    foreign = {"spec": {"taints": [{"key": "example.com/mine", "effect": "NoSchedule"}]}}
    await place.client.patch(NODES, NODE, foreign)
    async with here.running():
        await eventually(lambda: here.logind.held() == [True])
        here.logind.power_off()
        await place.logged(low, "asked")
        await here.until_condition(SHUTDOWN_IN_PROGRESS, status="True")
        here.logind.cancel()
        await here.until_condition(SHUTDOWN_IN_PROGRESS, status="False")
        await eventually(lambda: here.logind.held() == [False, True])
        place.let_end(low)
        await place.gone("low")
        assert "asked" not in await place.logged(high, "on")
        assert [one["key"] for one in (await here.node())["spec"]["taints"]] == ["example.com/mine"]
        found = await place.get("high")
        assert found is not None
        assert not is_deleted(found)


async def test_an_agent_that_is_killed_goes_on_with_the_order(here: ShutdownAgentCluster) -> None:
    place = here.place
    low = await run_pod(place, "low", WAITS)
    await run_pod(place, "high", POLITE, 1000)
    run = here.start()
    await eventually(lambda: here.logind.held() == [True])
    here.logind.power_off()
    await place.logged(low, "asked")
    await run.kill()
    assert here.logind.held() == [True]
    async with here.running():
        place.let_end(low)
        await place.gone("high")
        await eventually(lambda: here.logind.held() == [False])


@pytest.mark.parametrize("stage", ["idle", "deleted"])
async def test_an_agent_that_starts_without_the_api_server_goes_on_from_its_record(
    here: ShutdownAgentCluster, stage: str
) -> None:
    """It does not let the machine go down before, and deletes no pod twice."""
    place, deleted = here.place, list[str]()

    def count(request: Request) -> bool:
        if request.method == "DELETE":
            deleted.append(request.path.rpartition("/")[2])
        return False

    here.fails = count
    low = await run_pod(place, "low", WAITS)
    await run_pod(place, "high", POLITE, 1000)
    run = here.start()
    await eventually(lambda: here.logind.held() == [True])
    if stage == "deleted":
        here.logind.power_off()
        await place.logged(low, "asked")
    held, here.holder.fd = here.holder.fd, None
    await run.kill()
    here.holder.fd, here.logind.is_preparing = held, True
    here.fails = lambda _: True
    async with here.running() as run:
        await eventually(lambda: run.agent.shutdown.state.active)
        shutdown = run.agent.shutdown.record.shutdown
        assert shutdown is not None
        assert [one.name for one in shutdown.pods] == ["low", "high"]
        if stage == "deleted":
            place.let_end(low)
            await place.gone("low")
        assert here.logind.held() == [True]
        here.fails = count
        if stage == "idle":
            await place.logged(low, "asked")
            place.let_end(low)
        await place.gone("high")
        await eventually(lambda: here.logind.held() == [False])
    assert deleted == ["low", "high"]


async def test_interceptors_are_asked_first_and_the_pod_is_ended_regardless(
    here: ShutdownAgentCluster,
) -> None:
    place = here.place
    database = await intercepted(place, "db", POLITE, terminationGracePeriodSeconds=60)
    here.config = ShutdownConfig((Bucket(0, 3.0),), "")
    async with here.running():
        await eventually(lambda: here.logind.held() == [True])
        assert await request_of(place, database) is None
        before = (await place.client.list(PODS, "default")).resource_version
        here.logind.power_off()
        await place.gone("db")
        await eventually(lambda: here.logind.held() == [False])
        asked = await first(place, EVICTIONREQUESTS, before, has_deadline)
        ended = await first(place, PODS, before, is_deleted)
        assert asked < ended


async def test_the_agent_itself_and_static_pods_are_left_alone(here: ShutdownAgentCluster) -> None:
    place = here.place
    own = await run_pod(place, "agent", POLITE)
    mirror = pod("static", spec={"nodeName": NODE})
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    static = await Client(InProcessTransport(place.server, node(NODE))).create(PODS, mirror)
    await run_pod(place, "web", POLITE)
    here.pod_uid = own["metadata"]["uid"]
    async with here.running():
        await eventually(lambda: here.logind.held() == [True])
        here.logind.power_off()
        await eventually(lambda: here.logind.held() == [False])
        await place.gone("web")
        for one in (own, static):
            found = await place.get(one["metadata"]["name"])
            assert found is not None
            assert not is_deleted(found)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"shutdownGracePeriod": "30s", "shutdownGracePeriodCriticalPods": "10s"}, "0: 20s, 2000000000: 10s"),
        ({"shutdownGracePeriodByPodPriority": [
            {"priority": -1000000000, "shutdownGracePeriodSeconds": 300},
            {"priority": 0, "shutdownGracePeriodSeconds": 30},
        ]}, "the agent's priority 0 is not in the kubelet's lowest bucket"),
    ],
)  # fmt: skip
async def test_beside_a_kubelet_that_would_race_it_refuses(
    here: ShutdownAgentCluster, config: Obj, words: str
) -> None:
    await run_pod(here.place, "web", POLITE)
    here.logind.others.append(KUBELET_LOCK)
    here.kubelet.config = config
    async with here.running() as run:
        condition = await here.until_condition(GRACEFUL_SHUTDOWN, status="False", reason="WouldRace")
        assert words in condition["message"]
        assert here.logind.held() == []
        here.logind.power_off()
        await eventually(lambda: here.logind.off_at is not None)
        assert not run.agent.shutdown.state.active
        found = await here.place.get("web")
        assert found is not None
        assert not is_deleted(found)


async def test_a_kubelet_that_begins_to_shut_down_by_itself_makes_it_let_go(
    here: ShutdownAgentCluster,
) -> None:
    async with here.running():
        await eventually(lambda: here.logind.held() == [True])
        here.logind.others.append(KUBELET_LOCK)
        here.kubelet.config = {"shutdownGracePeriod": "30s"}
        here.logind.signal()
        await here.until_condition(GRACEFUL_SHUTDOWN, status="False", reason="WouldRace")
        await eventually(lambda: here.logind.held() == [False])


@pytest.mark.parametrize("away", [False, True], ids=["api", "no api"])
async def test_beside_a_kubelet_it_holds_on_until_interceptors_are_done(
    here: ShutdownAgentCluster, *, away: bool
) -> None:
    """Also where the agent restarts meanwhile and the API server is away for a moment."""
    place = here.place
    own = await run_pod(place, "agent", POLITE, -1_000_000_000, terminationGracePeriodSeconds=3600)
    web = await run_pod(place, "web", POLITE)
    database = await intercepted(place, "db", POLITE)
    here.pod_uid = own["metadata"]["uid"]
    here.logind.others.append(KUBELET_LOCK)
    here.kubelet.config = {
        "shutdownGracePeriodByPodPriority": [
            {"priority": -1_000_000_000, "shutdownGracePeriodSeconds": 300},
            {"priority": 0, "shutdownGracePeriodSeconds": 30},
        ]
    }
    run = here.start()
    await here.until_condition(GRACEFUL_SHUTDOWN, status="True", reason="BesideKubelet")
    here.logind.power_off()
    request = await eventually(lambda: request_of(place, database))
    await eventually(lambda: has_deadline_of(place, database))
    await run.kill()
    here.fails = lambda _: away
    run = here.start()  # an agent that has crashed must not end what the kubelet ends
    await eventually(lambda: run.agent.shutdown.state.active)
    run.stop.set()  # the kubelet terminates the pods of its lowest bucket: this agent
    await asyncio.sleep(0.3)
    here.fails = lambda _: False
    await eventually(run.agent.pods.are_known)
    await asyncio.sleep(0.3)  # time in which it would end too soon
    assert [one["name"] for one in request["spec"]["requesters"]] == [f"{NODE}.shutdown.vacate.dev"]
    assert not run.task.done()
    name = request["metadata"]["name"]
    interceptors = request["spec"]["interceptors"]
    now = format_time(SystemClock().now())
    turn = {"activeInterceptorName": interceptors[0]["name"], "heartbeatTime": now}
    controllers = Client(InProcessTransport(place.server, controller("evictionrequest-controller")))
    for client, status in ((controllers, turn), (place.client, {"activeInterceptorCompleted": True})):
        change = {"status": status}
        await client.patch(EVICTIONREQUESTS, name, change, "default", subresource="status")
    await eventually(run.task.done)
    run.task.result()
    for one in (web, database):
        found = await place.get(one["metadata"]["name"])
        assert found is not None
        assert not is_deleted(found)  # the kubelet ends them now, in its own order


async def test_an_agent_whose_pod_ends_without_a_shutdown_ends_at_once(here: ShutdownAgentCluster) -> None:
    run = here.start()
    await eventually(lambda: here.logind.held() == [True])
    run.stop.set()
    await eventually(run.task.done)
    assert here.logind.held() == [False]


async def test_a_configuration_that_changes_is_taken_up_and_a_wrong_one_is_not(
    here: ShutdownAgentCluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "vacate.nodeagent")
    found: list[ShutdownConfig | ConfigError] = [here.config]

    def reload() -> ShutdownConfig:
        if isinstance(found[0], ConfigError):
            raise found[0]
        return found[0]

    here.reload = reload
    async with here.running():
        await eventually(lambda: here.logind.held() == [True])
        found[0] = ConfigError("--config: shutdownGracePeriod: 'soon' is not a duration")
        here.logind.signal()
        await eventually(lambda: "'soon' is not a duration; the configuration before this one" in caplog.text)
        assert here.logind.held() == [True]
        found[0] = ShutdownConfig((Bucket(0, 300.0),), "")
        here.logind.signal()
        await eventually(lambda: here.logind.held() == [False, True])
        assert here.logind.limit == 301.0
        found[0] = ShutdownConfig((), "neither is set")
        here.logind.signal()
        condition = await here.until_condition(GRACEFUL_SHUTDOWN, status="False", reason="Off")
        assert condition["message"] == "graceful node shutdown is off: neither is set"
        assert here.logind.held() == [False, False]
        await eventually(lambda: here.logind.restored)


async def test_a_pod_that_was_marked_and_not_deleted_when_the_shutdown_is_cancelled_is_as_before(
    here: ShutdownAgentCluster,
) -> None:
    def is_marked(pod: Obj) -> bool:
        return any(one["type"] == "DisruptionTarget" for one in pod["status"]["conditions"])

    marking = list[Request]()

    def fails(request: Request) -> bool:
        if b"DisruptionTarget" in request.body:
            marking.append(request)
        return request.method == "DELETE"

    web = await run_pod(here.place, "web", WAITS, terminationGracePeriodSeconds=60)
    here.fails = fails
    async with here.running():
        await eventually(lambda: here.logind.held() == [True])
        here.logind.power_off()
        await here.place.until("web", is_marked)
        here.logind.cancel()
        spared = await here.place.until("web", lambda one: not is_marked(one))
        assert not is_deleted(spared)
        assert ready(spared)
        await InProcessTransport(here.place.server, ADMIN).send(marking[0])  # a copy that is stored late
        assert not is_marked(await here.place.client.get(PODS, "web", "default"))
        here.fails = lambda _: False
        await eventually(lambda: here.logind.held() == [False, True])
        here.logind.power_off()
        assert is_marked(await here.place.until("web", is_deleted))
        here.place.let_end(web)
        await here.place.gone("web")


@pytest.mark.parametrize("boot", ["boot", "another"], ids=["killed", "rebooted"])
async def test_a_pod_that_an_earlier_agent_marked_and_did_not_delete_is_as_before(
    here: ShutdownAgentCluster, boot: str
) -> None:
    """The API server took no deletion, and the shutdown is over as far as anyone knows."""

    def is_marked(pod: Obj) -> bool:
        return any(one["type"] == "DisruptionTarget" for one in pod["status"]["conditions"])

    await run_pod(here.place, "web", WAITS, terminationGracePeriodSeconds=60)
    here.fails = lambda request: request.method == "DELETE"
    run = here.start()
    await eventually(lambda: here.logind.held() == [True])
    here.logind.power_off()
    await here.place.until("web", is_marked)
    here.fails = lambda _: True
    if boot == "boot":
        here.logind.cancel()
        await eventually(lambda: not run.agent.shutdown.state.active)
    await run.kill()
    if boot != "boot":
        here.logind.cancel()
        await here.holder.release()
    here.fails, here.boot = lambda _: False, boot
    async with here.running():
        spared = await here.place.until("web", lambda one: not is_marked(one))
        assert not is_deleted(spared)
        assert ready(spared)


async def test_a_pod_whose_deletion_meets_a_conflict_is_deleted_all_the_same(
    here: ShutdownAgentCluster,
) -> None:
    refused: list[str] = []

    def conflicts(request: Request) -> bool:
        if request.method == "DELETE" and not refused:
            refused.append(request.path)
            raise Conflict("try again")
        return False

    await run_pod(here.place, "web", POLITE, terminationGracePeriodSeconds=60)
    here.fails = conflicts
    async with here.running():
        await eventually(lambda: here.logind.held() == [True])
        here.logind.power_off()
        await here.place.gone("web")
    assert refused
