"""A right to all pods of a namespace is asked about now and then, a right to single ones always."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import orjson
import pytest

from support.embedded import ADMIN, Embedded, embedded, namespace
from vacate.api.identity import Access, User
from vacate.api.kinds import NAMESPACES, ROLEBINDINGS, ROLES
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.webhook.accessreviews import SECONDS, AccessReviews
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.unit
EVE = User("eve", ("system:authenticated",))


@dataclass
class Cluster:
    """A server, and by name the pods that it was asked about; nothing stands for all."""

    server: Embedded
    asked: list[str] = field(default_factory=list)
    down: bool = False

    async def handle(self, request: Request) -> Response:
        await asyncio.sleep(0)  # an answer takes its time, in which others ask
        if self.down:
            raise ConnectionError
        if request.path.endswith("/subjectaccessreviews"):
            spec = orjson.loads(request.body)["spec"]
            self.asked.append(spec["resourceAttributes"].get("name", ""))
        return await self.server.server.handle(request)

    async def allow(self, *names: str) -> None:
        """Eve may delete these pods, or all without names."""
        rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"], "resourceNames": list(names)}
        if not names:
            del rule["resourceNames"]
        subjects = [{"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"}]
        ref = {"kind": "Role", "name": "deleter", "apiGroup": "rbac.authorization.k8s.io"}
        meta = {"name": "deleter", "namespace": "shop"}
        await self.server.seed(ROLES, {"metadata": meta, "rules": [rule]})
        await self.server.seed(ROLEBINDINGS, {"metadata": dict(meta), "roleRef": ref, "subjects": subjects})

    async def forbid(self) -> None:
        answer = await self.server.ask("DELETE", ROLEBINDINGS.object_path("deleter", "shop"))
        assert answer.code == 200


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with embedded() as server:
        for name in ("shop", "bank"):
            await server.seed(NAMESPACES, namespace(name))
        yield Cluster(server)


def reviews_of(cluster: Cluster) -> AccessReviews:
    return AccessReviews(Client(InProcessTransport(cluster, ADMIN)), cluster.server.clock)


def deletion(name: str, user: User = EVE, space: str = "shop") -> Access:
    return Access(user, "delete", "", "v1", "pods", "", space, name)


async def asked(reviews: AccessReviews, names: Sequence[str]) -> list[bool]:
    return list(await asyncio.gather(*(reviews.allowed(deletion(name)) for name in names)))


async def test_a_right_to_all_pods_is_asked_about_once(cluster: Cluster) -> None:
    await cluster.allow()
    reviews = reviews_of(cluster)
    assert await asked(reviews, ["a", "b", "c"]) == [True] * 3
    assert await asked(reviews, ["d"]) == [True]
    assert cluster.asked == [""]


async def test_rights_to_single_pods_are_never_remembered(cluster: Cluster) -> None:
    await cluster.allow("a")
    reviews = reviews_of(cluster)
    assert await asked(reviews, ["a", "b", "a"]) == [True, False, True]
    assert sorted(cluster.asked) == ["", "a", "a", "b"]
    await cluster.forbid()
    assert await asked(reviews, ["a"]) == [False]


async def test_a_right_that_is_taken_away_lasts_for_seconds(cluster: Cluster) -> None:
    await cluster.allow()
    reviews = reviews_of(cluster)
    assert await asked(reviews, ["a"]) == [True]
    await cluster.forbid()
    cluster.server.clock.move(SECONDS)
    assert await asked(reviews, ["a"]) == [True]
    cluster.server.clock.move(0.5)
    assert await asked(reviews, ["a"]) == [False]


async def test_a_right_that_is_given_holds_at_once(cluster: Cluster) -> None:
    reviews = reviews_of(cluster)
    assert await asked(reviews, ["a"]) == [False]
    await cluster.allow()
    assert await asked(reviews, ["a"]) == [True]


@pytest.mark.parametrize(
    "access",
    [
        deletion("a", User("bob", EVE.groups)),
        deletion("a", User("eve", ("system:unauthenticated",))),
        deletion("a", User("eve", EVE.groups, uid="7")),
        deletion("a", User("eve", EVE.groups, extra={"scopes": ("read",)})),
        deletion("a", space="bank"),
        Access(EVE, "delete", "", "v1", "secrets", "", "shop", "a"),
    ],
    ids=["user", "groups", "uid", "extra", "namespace", "resource"],
)
async def test_a_right_is_that_of_one_user_to_one_thing(cluster: Cluster, access: Access) -> None:
    await cluster.allow()
    reviews = reviews_of(cluster)
    assert await asked(reviews, ["a"]) == [True]
    seen = len(cluster.asked)
    await reviews.allowed(access)
    assert len(cluster.asked) > seen


async def test_an_outage_is_not_remembered(cluster: Cluster) -> None:
    await cluster.allow()
    reviews = reviews_of(cluster)
    cluster.down = True
    with pytest.raises(ConnectionError):
        await reviews.allowed(deletion("a"))
    cluster.down = False
    assert await asked(reviews, ["a"]) == [True]
