"""The commands on a cluster that serves lifecycle.k8s.io and none of Vacate's own kinds."""

from __future__ import annotations

import pytest

from support.simulated.clusters import in_world
from vacate.api.kinds import (
    EVACUATIONS,
    EVICTIONREQUESTS,
    LIFECYCLE_EVICTIONS,
    LIFECYCLE_REQUESTS,
    PODDISRUPTIONBUDGETS,
    PODS,
)
from vacate.api.objects import dig
from vacate.api.types.lifecycle import EVICTOR
from vacate.cli.cancel.command import Cancelling
from vacate.cli.common.apis import chosen_api
from vacate.cli.common.connection import Cluster
from vacate.cli.common.queries import find, list_all_requests
from vacate.cli.evict.eviction import Eviction, EvictOptions
from vacate.cli.evict.selection import Selection
from vacate.cli.evict.targets import by_api
from vacate.cli.explain.command import explain_pod
from vacate.cli.identity import own_requester
from vacate.cli.status.command import show_requests
from vacate.cli.status.view import View
from vacate.client.client import Client
from vacate.errors import ConfigError, NotFound
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.eviction.dialects.registry import DIALECTS
from vacate.features import parse_feature_gates
from vacate.sdk import Requester
from vacate.sim.cluster import World
from vacate.testing import pdb, pod
from vacate.views.phrases import NOT_INSTALLED
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.sim

GATES = parse_feature_gates("LifecycleAPI=true")
BACKUP = "backup.example.com/backup"
HIDDEN = tuple(f"/apis/{one}" for one in (EVICTIONREQUESTS.group, EVACUATIONS.group, "vacate.dev"))


class Hiding:
    """The way into a cluster on which some groups are not served: their paths are unknown to it."""

    def __init__(self, client: Client, groups: tuple[str, ...] = HIDDEN) -> None:
        self._transport = client._transport
        self._groups = groups

    async def send(self, request: Request) -> Response:
        if request.path.startswith(self._groups):
            request = Request(request.method, "/apis/unknown.example.com/v1/things", headers=request.headers)
        return await self._transport.send(request)

    async def aclose(self) -> None:
        pass


def cluster_of(world: World, *hidden: str) -> Cluster:
    client = Client(Hiding(world.client, hidden or HIDDEN))
    return Cluster(client, "default", world.sim.clock)


async def evict(cluster: Cluster, preferred: Dialect, *names: str) -> None:
    """As `vacate evict NAME…` does."""
    for api, part in await by_api(cluster, names, Selection([]), preferred):
        requester = Requester(
            cluster.client, await own_requester(cluster, api), clock=cluster.clock, dialect=api
        )
        assert await Eviction(cluster, requester, EvictOptions()).run(*part) == []


def test_evict_status_explain_and_cancel(capsys: pytest.CaptureFixture[str]) -> None:
    async def body(world: World) -> None:
        cluster = cluster_of(world)
        assert await chosen_api(cluster, None) is LIFECYCLE
        responders = [{"name": BACKUP, "priority": 20_000}]
        made = pod("web", metadata={"labels": {"app": "web"}}, spec={"evictionResponders": responders})
        await world.client.create(PODS, made, "default")
        reported = str((await explain_pod(cluster, "web"))[0])
        assert BACKUP in reported

        await evict(cluster, LIFECYCLE, "web")
        assert "pod/web eviction requested" in capsys.readouterr().out
        await world.until(
            lambda: BACKUP in str([one.get("status") for one in world.objects(LIFECYCLE_EVICTIONS)])
        )
        await show_requests(cluster, View("default", selector="app=web", dialect=LIFECYCLE))
        shown = capsys.readouterr()
        assert BACKUP in shown.out
        assert "gate" not in shown.err
        await show_requests(cluster, View("default", selector="app=other", dialect=LIFECYCLE))
        assert BACKUP not in capsys.readouterr().out
        assert BACKUP in str((await explain_pod(cluster, "web"))[0])

        own = {one: await own_requester(cluster, one) for one in DIALECTS.values()}
        cancelled = await Cancelling(cluster, own, overriding=False).cancel("web")
        assert cancelled == "is not evicted: the eviction request is cancelled"
        await world.until(lambda: "CanceledDueToNoRequesters" in str(world.objects(LIFECYCLE_EVICTIONS)))

        # An administrator withdraws in the name of all.
        for requester in ("a.example.com", "b.example.com"):
            await Requester(cluster.client, requester, clock=cluster.clock, dialect=LIFECYCLE).request("web")
        await world.until(lambda: len(world.objects(LIFECYCLE_EVICTIONS)) == 2)
        removed = await Cancelling(cluster, own, overriding=True).cancel("web")
        # Also those whom the Eviction does not name yet.
        assert "all requesters were removed (" in removed
        assert {"example.com/a", "example.com/b"} <= set(removed.strip(")").replace("(", " ").split())
        intents = [one["spec"]["intent"] for one in world.objects(LIFECYCLE_REQUESTS)]
        assert intents == ["Withdrawn"] * 3

    in_world(body, gates=GATES, nodes=0)


def test_of_pods_that_are_gone_the_newest_request_is_found() -> None:
    async def body(world: World) -> None:
        cluster = cluster_of(world)
        await world.client.create(PODS, pod("web"), "default")
        await evict(cluster, LIFECYCLE, "web")
        await world.until(lambda: EVICTOR in str(world.objects(LIFECYCLE_EVICTIONS)))
        assert len(await list_all_requests(cluster, "default")) == 1
        found = await find(cluster, "web")
        assert found.typed_request is not None

    in_world(body, gates=GATES, nodes=0)


def test_where_nothing_is_installed_a_budget_that_holds_is_explained() -> None:
    async def body(world: World) -> None:
        nothing = cluster_of(world, *HIDDEN, "/apis/lifecycle.k8s.io")
        registered = {f"interceptor.{EVICTIONREQUESTS.group}/priority_backup.example.com": "10"}
        made = pod("web", metadata={"labels": {"app": "web"}, "annotations": registered})
        await world.client.create(PODS, made, "default")
        await world.client.create(PODDISRUPTIONBUDGETS, pdb("web", min_available=1), "default")
        await world.until(
            lambda: dig(world.objects(PODDISRUPTIONBUDGETS)[0], "status", "currentHealthy") == 1
        )
        explained, readable = await explain_pod(nothing, "web")
        assert readable
        assert "would be refused now" in explained.next[0]
        assert explained.next[-1] == NOT_INSTALLED
        commands = [one.command for one in explained.remedies]
        assert not explained.turns
        assert any(one.startswith("kubectl patch pdb web") for one in commands)
        assert commands[-1].endswith("install --image IMAGE --wait")
        assert not any(" evict " in one for one in commands)
        with pytest.raises(NotFound, match="choose another namespace"):
            await explain_pod(nothing, "other")

    in_world(body, gates=GATES, nodes=1)


def test_what_is_not_served_is_named() -> None:
    async def body(world: World) -> None:
        nothing = cluster_of(world, *HIDDEN, "/apis/lifecycle.k8s.io")
        assert await chosen_api(nothing, None) is EVICTION_REQUEST
        with pytest.raises(ConfigError, match=r"--runtime-config=lifecycle\.k8s\.io/v1alpha1=true"):
            await chosen_api(nothing, LIFECYCLE)
        assert await chosen_api(cluster_of(world, "/apis/lifecycle.k8s.io"), None) is EVICTION_REQUEST

    in_world(body, gates=GATES, nodes=0)
