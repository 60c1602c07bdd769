"""DELETE of a collection through the server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.embedded import POD_PATH, Embedded, a_pod, embedded
from vacate.api.kinds import CONFIGMAPS, PODS

pytestmark = pytest.mark.unit

MAPS = CONFIGMAPS.collection_path("d")


@pytest.fixture
async def server() -> AsyncIterator[Embedded]:
    async with embedded() as one:
        for number in range(5):
            colour = "red" if number % 2 else "blue"
            meta: dict[str, Any] = {"name": f"m{number}", "namespace": "d", "uid": f"u{number}"}
            await one.seed(CONFIGMAPS, {"metadata": {**meta, "labels": {"colour": colour}}})
        yield one


def left(server: Embedded) -> list[str]:
    return [entry.key.name for entry in server.store.list("configmaps", "d").entries]


async def test_everything_goes_and_is_listed(server: Embedded) -> None:
    revision = server.store.revision
    answer = await server.ask("DELETE", MAPS)
    assert (answer.code, answer.body["kind"], answer.body["apiVersion"]) == (200, "ConfigMapList", "v1")
    assert answer.body["metadata"] == {"resourceVersion": str(revision)}
    assert [one["metadata"]["name"] for one in answer.body["items"]] == ["m0", "m1", "m2", "m3", "m4"]
    assert left(server) == []
    assert server.store.revision == revision + 5


async def test_an_empty_collection_is_an_empty_list(server: Embedded) -> None:
    answer = await server.ask("DELETE", POD_PATH)
    assert (answer.code, answer.body["kind"], answer.body["items"]) == (200, "PodList", [])


@pytest.mark.parametrize(
    ("query", "stay"),
    [
        ({"labelSelector": "colour=red"}, ["m0", "m2", "m4"]),
        ({"labelSelector": "colour notin (red)"}, ["m1", "m3"]),
        ({"fieldSelector": "metadata.name=m3"}, ["m0", "m1", "m2", "m4"]),
        ({"labelSelector": "colour=red", "fieldSelector": "metadata.name!=m1"}, ["m0", "m1", "m2", "m4"]),
        ({"labelSelector": "shape"}, ["m0", "m1", "m2", "m3", "m4"]),
    ],
)
async def test_selectors_choose(server: Embedded, query: dict[str, str], stay: list[str]) -> None:
    answer = await server.ask("DELETE", MAPS, query=query)
    assert answer.code == 200
    assert left(server) == stay


async def test_a_limit_deletes_one_page(server: Embedded) -> None:
    first = await server.ask("DELETE", MAPS, query={"limit": "2"})
    assert [one["metadata"]["name"] for one in first.body["items"]] == ["m0", "m1"]
    assert left(server) == ["m2", "m3", "m4"]
    query = {"limit": "2", "continue": first.body["metadata"]["continue"]}
    await server.ask("DELETE", MAPS, query=query)
    assert left(server) == ["m4"]


async def test_pods_get_their_grace(server: Embedded) -> None:
    await server.seed(PODS, a_pod("a"))
    await server.seed(PODS, a_pod("b", spec={"terminationGracePeriodSeconds": 5}))
    await server.seed(PODS, a_pod("c", spec={"nodeName": ""}))
    answer = await server.ask("DELETE", POD_PATH)
    # The list shows what was found, not what became of it.
    assert all("deletionTimestamp" not in one["metadata"] for one in answer.body["items"])
    found = {name: server.stored(PODS, name) for name in "abc"}
    assert found["c"] is None
    graces = [found[name]["metadata"]["deletionGracePeriodSeconds"] for name in "ab"]  # type: ignore[index]
    assert graces == [30, 5]


async def test_a_dry_run_deletes_nothing(server: Embedded) -> None:
    revision = server.store.revision
    answer = await server.ask("DELETE", MAPS, {"dryRun": ["All"]})
    assert (answer.code, len(answer.body["items"])) == (200, 5)
    assert server.store.revision == revision


async def test_a_refusal_ends_it(server: Embedded) -> None:
    answer = await server.ask("DELETE", MAPS, {"preconditions": {"uid": "u0"}})
    assert (answer.code, answer.body["reason"]) == (409, "Conflict")
    assert left(server) == ["m1", "m2", "m3", "m4"]


@pytest.mark.parametrize(
    ("body", "query", "code"),
    [
        ({"propagationPolicy": "Sideways"}, {}, 422),
        (None, {"labelSelector": "a b"}, 400),
        (None, {"fieldSelector": "data.k=v"}, 400),
        (b"nonsense", {}, 400),
        (None, {"continue": "nonsense"}, 400),
    ],
)
async def test_what_is_refused_deletes_nothing(
    server: Embedded, body: Any, query: dict[str, str], code: int
) -> None:
    answer = await server.ask("DELETE", MAPS, body, query=query)
    assert answer.code == code
    assert len(left(server)) == 5


@pytest.mark.parametrize("path", ["/api/v1/namespaces", "/api/v1/pods", "/api/v1/configmaps"])
async def test_where_there_is_no_deletion_of_collections(server: Embedded, path: str) -> None:
    assert (await server.ask("DELETE", path)).code == 405
    assert len(left(server)) == 5
