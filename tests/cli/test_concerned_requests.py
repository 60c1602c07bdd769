"""Which requests concern a pod: what each command shows and does, for each state of their objects.

No controller works meanwhile, so that each state lasts.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import pytest

from support.simulated.clusters import in_world
from support.simulated.evictions import request_eviction
from support.simulated.workloads import created
from vacate.api.kinds import (
    EVICTIONREQUESTS,
    LIFECYCLE_EVICTIONS,
    LIFECYCLE_REQUESTS,
    NODEMAINTENANCES,
    NODES,
    PODS,
)
from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.api.types.lifecycle import EVICTION, WITHDRAWN, EvictionRequester
from vacate.cli.cancel.command import Cancelling
from vacate.cli.check import read_findings
from vacate.cli.common.connection import Cluster
from vacate.cli.common.queries import find
from vacate.cli.drain.follow import Follower as DrainFollower
from vacate.cli.drains import _show as show_drains
from vacate.cli.evict.eviction import Eviction, EvictOptions
from vacate.cli.evict.selection import Selection
from vacate.cli.evict.targets import by_api
from vacate.cli.explain.command import explain_pod
from vacate.cli.explain.text import as_lines
from vacate.cli.interceptors import read_interceptors
from vacate.cli.push import Retrying, skip_turn
from vacate.cli.status.command import show_requests
from vacate.cli.status.follow import Follower
from vacate.cli.status.view import View
from vacate.client.requests import STRATEGIC_PATCH
from vacate.client.transport import Transport
from vacate.embedded.cluster.controlplane import EVICTION_CONTROLLER
from vacate.entropy import seeded_entropy
from vacate.errors import VacateError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.lifecycle.assembly import first_status
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.eviction.dialects.registry import DIALECTS
from vacate.features import parse_feature_gates
from vacate.maintenance.names import requester_of
from vacate.runtime.manager import Manager
from vacate.sdk import Requester
from vacate.sim.cluster import World
from vacate.testing import node, pod
from vacate.web.feed import Feed
from vacate.web.pages.requests import requests_page
from vacate.wiring.components import ComponentContext, component_manager
from vacate.wiring.controllers import CONTROLLERS

pytestmark = pytest.mark.sim

GATES = parse_feature_gates("LifecycleAPI=true")
BACKUP = "backup.example.com/backup"
DRAIN = requester_of("drain-a", LIFECYCLE)
ANNE = "example.com/anne"
HELD = {"metadata": {"finalizers": ["example.com/held"]}}

State = Callable[[World], Awaitable[None]]
Command = Callable[[World, Cluster], Awaitable[None]]


async def given_pod(world: World) -> None:
    made = pod("web", spec={"evictionResponders": [{"name": BACKUP, "priority": 20_000}], "nodeName": "n1"})
    await world.client.create(
        PODS, {**made, "metadata": {**made["metadata"], "labels": {"app": "web"}}}, "default"
    )


async def requested_by(world: World, *names: str) -> None:
    for name in names:
        await Requester(world.client, name, clock=world.sim.clock, dialect=LIFECYCLE).request("web")


def begun(world: World) -> bool:
    return BACKUP in str([one.get("status") for one in world.objects(LIFECYCLE_EVICTIONS)])


async def delete_requests(world: World, *, held: bool = False) -> None:
    for one in world.objects(LIFECYCLE_REQUESTS):
        name = one["metadata"]["name"]
        if held:
            await world.client.patch(LIFECYCLE_REQUESTS, name, HELD, "default")
        await world.client.delete(LIFECYCLE_REQUESTS, name, "default")


async def nothing(world: World) -> None:
    await world.evictions.crash()


async def request_only(world: World) -> None:
    await world.evictions.crash()
    await requested_by(world, ANNE, DRAIN)


async def withdrawn_only(world: World) -> None:
    await request_only(world)
    for one in world.objects(LIFECYCLE_REQUESTS):
        withdrawn = {"spec": {"intent": WITHDRAWN}}
        await world.client.patch(LIFECYCLE_REQUESTS, one["metadata"]["name"], withdrawn, "default")


async def deleted_only(world: World) -> None:
    await request_only(world)
    await delete_requests(world, held=True)


async def both(world: World) -> None:
    await requested_by(world, ANNE, DRAIN)
    await world.until(lambda: begun(world))
    await world.evictions.crash()


async def eviction_only(world: World) -> None:
    await both(world)
    await delete_requests(world)


async def deleted(world: World) -> None:
    """The requests are being deleted, and the Eviction names their requesters still."""
    await both(world)
    await delete_requests(world, held=True)


async def joined(world: World) -> None:
    """The Eviction does not name one of its requesters yet."""
    await requested_by(world, DRAIN)
    await world.until(lambda: begun(world))
    await world.evictions.crash()
    await requested_by(world, ANNE)


async def again(world: World) -> None:
    """The Eviction was cancelled, and the pod is to be evicted again."""
    await requested_by(world, ANNE)
    await world.until(lambda: begun(world))
    (one,) = world.objects(LIFECYCLE_REQUESTS)
    for intent in (WITHDRAWN, "Eviction"):
        await world.client.patch(
            LIFECYCLE_REQUESTS, one["metadata"]["name"], {"spec": {"intent": intent}}, "default"
        )
        if intent == WITHDRAWN:
            await world.until(lambda: "CanceledDue" in str(world.objects(LIFECYCLE_REQUESTS)))
            await world.evictions.crash()


async def create_eviction(world: World, name: str) -> None:
    """As whoever may create Evictions does."""
    uid = created(world, PODS, "web")["metadata"]["uid"]
    made = {"metadata": {"name": name}, "spec": {"target": {"pod": {"name": "web", "uid": uid}}}}
    await world.client.create(LIFECYCLE_EVICTIONS, made, "default")


async def write_eviction(world: World, name: str, status: Obj) -> None:
    await world.client.patch(
        LIFECYCLE_EVICTIONS, name, {"status": status}, "default",
        patch_type=STRATEGIC_PATCH, subresource="status",
    )  # fmt: skip


async def unbegun(world: World) -> None:
    """An Eviction without a status, which whoever made it may have left behind."""
    await request_only(world)
    await create_eviction(world, "pod-1-web")


async def twice(world: World) -> None:
    """Two Evictions of one second, of which one is failed soon."""
    await request_only(world)
    for name in ("pod-10-web", "pod-9-web"):
        await create_eviction(world, name)
    first, second = world.objects(LIFECYCLE_EVICTIONS)
    assert first["metadata"]["creationTimestamp"] == second["metadata"]["creationTimestamp"]
    requesters = [EvictionRequester(name=one, intent=EVICTION) for one in (ANNE, DRAIN)]
    for one in (first, second):
        name = one["metadata"]["name"]
        status = first_status(1, {BACKUP: 20_000}, requesters, world.sim.clock.now())
        status["responders"][0]["message"] = f"as {name} says"
        await write_eviction(world, name, status)


async def failed(world: World) -> None:
    """No responder was left, and another Eviction has not begun yet."""
    await both(world)
    now = format_time(world.sim.clock.now())
    ended = {"TargetEvicted": ("False", "EvictionFailed"), "Failed": ("True", "NoFurtherResponder")}
    conditions = [
        {"type": sort, "status": status, "reason": reason, "message": "", "lastTransitionTime": now}
        for sort, (status, reason) in ended.items()
    ]
    over = [{"name": BACKUP, "state": "Canceled"}]
    await write_eviction(world, "pod-1-web", {"conditions": conditions, "targetResponders": over})


async def retried(world: World) -> None:
    """The same, and it has begun."""
    await failed(world)
    await world.evictions.start()
    await world.until(lambda: bool(created_status(world, "pod-2-web")))
    await world.evictions.crash()


def created_status(world: World, name: str) -> Obj:
    found: Obj = (world.find(LIFECYCLE_EVICTIONS, name, "default") or {}).get("status", {})
    return found


async def status(world: World, cluster: Cluster) -> None:
    await show_requests(cluster, View("default", dialect=LIFECYCLE))


async def status_of_labels(world: World, cluster: Cluster) -> None:
    await show_requests(cluster, View("default", selector="app=web", dialect=LIFECYCLE))


async def status_of_all_apis(world: World, cluster: Cluster) -> None:
    await show_requests(cluster, View("default"))


async def for_a_moment(run: Awaitable[object], world: World) -> None:
    """What follows the cluster, until it has shown what there is."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(5):
            await run


async def watch(world: World, cluster: Cluster) -> None:
    await for_a_moment(Follower(cluster, View("default", selector="app=web", dialect=LIFECYCLE)).run(), world)


async def watch_events(world: World, cluster: Cluster) -> None:
    view = View("default", pods=("web",), output="json", dialect=LIFECYCLE)
    await for_a_moment(Follower(cluster, view).run(), world)


async def explain(world: World, cluster: Cluster) -> None:
    print("\n".join(as_lines((await explain_pod(cluster, "web"))[0], 200)))


def cancelling(cluster: Cluster, *, overriding: bool = False) -> Cancelling:
    own = dict.fromkeys(DIALECTS.values(), ANNE)
    return Cancelling(cluster, own, overriding=overriding)


async def cancel(world: World, cluster: Cluster) -> None:
    print(await cancelling(cluster).cancel("web"))
    specs = [one["spec"] for one in world.objects(LIFECYCLE_REQUESTS)]
    print(*(f"{one['requester']}={one['intent']}" for one in specs))


async def override(world: World, cluster: Cluster) -> None:
    print(await cancelling(cluster, overriding=True).cancel("web"))


async def drain(world: World, cluster: Cluster) -> None:
    """The pods that the drain still has, at its end."""
    await world.client.create(NODES, node("n1"))
    made = {"metadata": {"name": "drain-a"}, "spec": {"nodes": ["n1"]}}
    await world.client.create(NODEMAINTENANCES, made)
    follower = DrainFollower(cluster, "drain-a", "")
    task = asyncio.get_running_loop().create_task(follower.run())
    await world.sim.clock.sleep(5)
    print(*follower._preparing(200), sep="\n")
    await world.client.delete(NODEMAINTENANCES, "drain-a")
    await task


async def drains(world: World, cluster: Cluster) -> None:
    """What the controller of drains makes of it, which requests the eviction too."""
    await world.client.create(NODES, node("n1"))
    pods = {"unmanagedPods": "Evict"}
    spec = {"nodes": ["n1"], "requestKind": "Lifecycle", "pods": pods}
    made = {"metadata": {"name": "drain-a"}, "spec": spec}
    await world.client.create(NODEMAINTENANCES, made)

    drained = [one for one in CONTROLLERS if one.component == "nodemaintenance-controller"]

    def build(link: Transport, around: ComponentContext) -> Manager:
        return component_manager(link, "drains", drained, around)

    await world.start("drains", build, EVICTION_CONTROLLER)
    await world.settle()
    await show_drains(cluster, (), "")


async def evict(world: World, cluster: Cluster) -> None:
    """With --wait, by a requester who has not requested it yet."""
    for api, part in await by_api(cluster, ("web",), Selection([]), EVICTION_REQUEST):
        requester = Requester(cluster.client, "example.com/bob", clock=cluster.clock, dialect=api)
        print(api.name)
        await for_a_moment(Eviction(cluster, requester, EvictOptions(wait=True)).run(*part), world)


async def retry(world: World, cluster: Cluster) -> None:
    print(await Retrying(cluster).retry("pod/web"))


async def skip(world: World, cluster: Cluster) -> None:
    print(await skip_turn(cluster, "web", BACKUP))


async def web(world: World, cluster: Cluster) -> None:
    feed = Feed(cluster.client, cluster.clock, seeded_entropy(1), context="here", program="vacate")
    async with feed.running():
        await feed.wait_first()
        snapshot = feed.snapshot()
        about = snapshot.request_about("default", "web")
        print(about and (about.kind.kind, about.complete, [one.name for one in about.spec.requesters]))
        print(requests_page(snapshot))


async def check(world: World, cluster: Cluster) -> None:
    assert all(one.check for one in await read_findings(cluster))
    (one,) = [one for one in await read_interceptors(cluster, "") if one.name == BACKUP]
    print(f"active={one.active}")


NOBODY = (nothing, withdrawn_only, deleted_only)
WAITING = (request_only, again, unbegun, failed)
GOING = (both, joined, retried)
ENDING = (eviction_only, deleted)

NONE = "there is no eviction request for pod web"
NONE_SHOWN = "No eviction requests"
DRAIN_HELD = "nodemaintenance/drain-a is held"
HIDDEN = "1 open Eviction in namespace default is not shown"
NOT_BEGUN = "No controller has begun the eviction yet."
PENDING = ("Pending", ANNE, NOT_BEGUN)
TURN = ("Intercepting", BACKUP)
SKIPPED = "is skipped: its turn ends now"
REQUESTED = ("lifecycle", "pod/web eviction requested")
SHOWN_TURN = (*REQUESTED, f"waits for responder {BACKUP}")
IN_TURN = f"waits for responder {BACKUP}"
NO_NAME = f"{ANNE} does not request the eviction of pod web; requesters: none"

# By command: what is shown where nobody requests it, before an Eviction, in it, and once nobody does.
TABLE: dict[Command, tuple[str | tuple[str, ...], ...]] = {
    status: (NONE_SHOWN, PENDING, (*TURN, ANNE), TURN),
    status_of_labels: (NONE_SHOWN, PENDING, (*TURN, ANNE), TURN),
    status_of_all_apis: (NONE_SHOWN, HIDDEN, HIDDEN, HIDDEN),
    watch: ("", PENDING, (*TURN, ANNE), TURN),
    watch_events: ("", '"kind":"EvictionRequest"', '"kind":"Eviction"', '"kind":"Eviction"'),
    explain: (
        "No eviction of pod web is requested.",
        (f"{ANNE}.", "no responder is active yet", f"1. {BACKUP} waits for its turn."),
        (IN_TURN, ANNE),
        "it no longer has any requesters",
    ),
    cancel: (NONE, f"{ANNE}={WITHDRAWN}", f"{ANNE}={WITHDRAWN}", NO_NAME),
    override: (NONE, ("all requesters were removed", ANNE), ("removed", ANNE, DRAIN), "removed (none)"),
    drains: ("drain-a", "Draining", (DRAIN_HELD, BACKUP), (DRAIN_HELD, BACKUP)),
    drain: ("was deleted", "", f"pod default/web: {BACKUP}", "was deleted"),
    evict: (REQUESTED, REQUESTED, SHOWN_TURN, SHOWN_TURN),
    retry: (NONE, "has not begun", IN_TURN, IN_TURN),
    skip: (NONE, "has not begun", SKIPPED, SKIPPED),
    web: ("None", ("'EvictionRequest', False", ANNE), ("'Eviction', False", ANNE), "'Eviction', False, []"),
    check: ("active=0", "active=0", "active=1", "active=1"),
}
ABSENT: dict[Command, str] = {status: ANNE, watch: ANNE, watch_events: "{", drain: BACKUP, web: ANNE}
"""What is not shown where nobody requests the eviction; of Evictions without requesters, by some."""


def cells() -> list[tuple[Command, State, int]]:
    groups = (NOBODY, WAITING, GOING, ENDING)
    return [(command, state, column) for command in TABLE for column in range(4) for state in groups[column]]


@pytest.mark.parametrize(
    ("command", "state", "column"), cells(), ids=lambda one: getattr(one, "__name__", "")
)
def test_every_command_sees_the_requests_that_concern_the_pod(
    command: Command, state: State, column: int, capsys: pytest.CaptureFixture[str]
) -> None:
    async def body(world: World) -> None:
        await given_pod(world)
        await state(world)
        capsys.readouterr()
        try:
            await command(world, Cluster(world.client, "default", world.sim.clock))
        except VacateError as error:
            print(error)

    in_world(body, gates=GATES, nodes=0, controllers=())
    printed = capsys.readouterr()
    shown, wanted = printed.out + printed.err, TABLE[command][column]
    assert all(one in shown for one in ((wanted,) if isinstance(wanted, str) else wanted)), shown
    if column == 0 and command in ABSENT:
        assert ABSENT[command] not in shown
    if column == 3 and command in (status, explain):
        assert ANNE not in shown


@pytest.mark.parametrize("command", [explain, retry, web, evict], ids=lambda one: one.__name__)
def test_of_two_evictions_of_one_second_all_commands_show_the_same(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    """The one that the controller keeps, which is that of the lower number."""

    async def body(world: World) -> None:
        await given_pod(world)
        await twice(world)
        capsys.readouterr()
        cluster = Cluster(world.client, "default", world.sim.clock)
        try:
            await command(world, cluster)
        except VacateError as error:
            print(error)
        found = await find(cluster, "web")
        assert found.typed_request is not None
        assert found.typed_request.metadata.name == "pod-9-web"
        await world.evictions.start()
        await world.until(lambda: created_status(world, "pod-10-web")["conditions"][1]["status"] == "True")
        assert created_status(world, "pod-9-web")["conditions"][1]["status"] == "False"

    in_world(body, gates=GATES, nodes=0, controllers=())
    printed = capsys.readouterr()
    shown = printed.out + printed.err
    assert BACKUP in shown
    if command is not retry:
        assert "pod-9-web" in shown


async def by_own_kind(world: World) -> None:
    await request_eviction(world, created(world, PODS, "web"))


async def by_lifecycle(world: World) -> None:
    await create_eviction(world, "pod-1-web")
    requesters = [EvictionRequester(name=ANNE, intent=EVICTION)]
    status = first_status(1, {BACKUP: 20_000}, requesters, world.sim.clock.now())
    await write_eviction(world, "pod-1-web", status)


@pytest.mark.parametrize("later", [0.0, 5.0], ids=["at_once", "later"])
@pytest.mark.parametrize("first", [by_own_kind, by_lifecycle], ids=lambda one: one.__name__)
def test_of_requests_by_two_apis_all_commands_show_the_same(
    first: State, later: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """The one that leads: the older, and of those of one second that of our own kind."""
    second = by_lifecycle if first is by_own_kind else by_own_kind
    own = first is by_own_kind or not later

    async def body(world: World) -> None:
        await given_pod(world)
        await world.evictions.crash()
        await first(world)
        await world.sim.clock.sleep(later)
        await second(world)
        cluster = Cluster(world.client, "default", world.sim.clock)
        found = (await find(cluster, "web")).typed_request
        assert found is not None
        assert (found.kind == EVICTIONREQUESTS) is own
        feed = Feed(cluster.client, cluster.clock, seeded_entropy(1), context="here", program="vacate")
        async with feed.running():
            await feed.wait_first()
            about = feed.snapshot().request_about("default", "web")
            assert about is not None
            assert about.kind == found.kind
        capsys.readouterr()
        await explain(world, cluster)
        assert (BACKUP in capsys.readouterr().out) is not own

    in_world(body, gates=GATES, nodes=0, controllers=())


def test_the_live_view_of_a_drain_shows_what_has_not_begun(capsys: pytest.CaptureFixture[str]) -> None:
    async def body(world: World) -> None:
        await given_pod(world)
        await request_only(world)
        await drain(world, Cluster(world.client, "default", world.sim.clock))

    in_world(body, gates=GATES, nodes=0, controllers=())
    shown = capsys.readouterr().out
    assert f"pod default/web: {NOT_BEGUN}" in shown


def test_a_request_that_everybody_left_is_not_joined_where_another_api_may_begin() -> None:
    """As after `vacate cancel web && vacate evict web --api lifecycle`, before a controller saw the first."""

    async def body(world: World) -> None:
        await given_pod(world)
        await world.evictions.crash()
        cluster = Cluster(world.client, "default", world.sim.clock)
        anne = Requester(world.client, ANNE, clock=world.sim.clock)
        request = await anne.request("web")

        async def chosen(preferred: Dialect) -> Dialect:
            return next(api for api, _ in await by_api(cluster, ("web",), Selection([]), preferred))

        assert await chosen(LIFECYCLE) is EVICTION_REQUEST
        assert await anne.withdraw(request)
        assert await chosen(LIFECYCLE) is LIFECYCLE

    in_world(body, gates=GATES, nodes=0, controllers=())
