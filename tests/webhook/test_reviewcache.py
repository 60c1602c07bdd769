"""What was let pass a moment ago is not reviewed twice; everything else is."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from embedded.registry.given import NOW, RUNNING, a
from support.embedded import ADMIN, Embedded, embedded, namespace
from support.reviews import MUTATE, VALIDATE, Hook, review
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.kinds import NAMESPACES, PODS
from vacate.api.objects import Obj
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.unit


@dataclass
class Counting:
    """A cluster, and what it was asked."""

    server: Embedded
    asked: list[str] = field(default_factory=list)

    async def handle(self, request: Request) -> Response:
        self.asked.append(request.path.rsplit("/", 2)[-1])
        return await self.server.server.handle(request)


@pytest.fixture
async def cluster() -> AsyncIterator[Counting]:
    async with embedded() as server:
        server.clock.moment = NOW
        await server.seed(NAMESPACES, namespace("shop"))
        await server.seed(PODS, copy.deepcopy(RUNNING["web"]))
        yield Counting(server)


def hook_of(cluster: Counting) -> Hook:
    return Hook(Client(InProcessTransport(cluster, ADMIN)), cluster.server.clock)


async def passed(hook: Hook) -> Obj:
    """A request after the mutating side and after what the server does then."""
    sent = review("CREATE", new={"apiVersion": KIND.api_version, "kind": KIND.kind, **a(KIND)})
    made = (await hook.ask(MUTATE, sent)).applied(sent["request"]["object"])
    made["metadata"] |= {"uid": "u", "generation": 1, "creationTimestamp": "2026-08-20T12:00:00Z"}
    del made["status"]
    return made


ONCE = ["subjectaccessreviews", "web"]


async def test_the_cluster_is_asked_once(cluster: Counting) -> None:
    hook = hook_of(cluster)
    made = await passed(hook)
    assert (await hook.ask(VALIDATE, review("CREATE", new=made))).allowed
    assert cluster.asked == ONCE
    assert (await hook.ask(VALIDATE, review("CREATE", new=made))).allowed
    assert cluster.asked == [*ONCE, "web"]  # the right is remembered for a moment, the pod is not


async def test_another_replica_asks_again(cluster: Counting) -> None:
    made = await passed(hook_of(cluster))
    assert (await hook_of(cluster).ask(VALIDATE, review("CREATE", new=made))).allowed
    assert cluster.asked == ONCE * 2


async def test_later_it_is_asked_again(cluster: Counting) -> None:
    hook = hook_of(cluster)
    made = await passed(hook)
    cluster.server.clock.move(11)
    assert (await hook.ask(VALIDATE, review("CREATE", new=made))).allowed
    assert cluster.asked == ONCE * 2


@pytest.mark.parametrize("part", ["user", "spec", "labels", "namespace"])
async def test_anything_else_is_judged_anew(cluster: Counting, part: str) -> None:
    hook = hook_of(cluster)
    made = await passed(hook)
    asked = review("CREATE", new=made)
    if part == "user":
        asked["request"]["userInfo"] = {"username": "ann"}
    elif part == "spec":
        asked["request"]["object"]["spec"]["interceptors"] = []
    elif part == "labels":
        asked["request"]["object"]["metadata"]["labels"] = {"no way": "x"}
    else:
        asked["request"]["namespace"] = "other"
    assert not (await hook.ask(VALIDATE, asked)).allowed


async def test_a_refusal_is_not_remembered(cluster: Counting) -> None:
    hook = hook_of(cluster)
    made = await passed(hook_of(cluster))
    made["spec"]["type"] = "Hard"
    assert not (await hook.ask(MUTATE, review("CREATE", new=made))).allowed
    assert not (await hook.ask(VALIDATE, review("CREATE", new=made))).allowed
