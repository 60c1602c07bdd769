"""What verbs ask of the registry: no write for nothing, and the default priority."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from support.embedded import embedded
from vacate.api.kinds import CONFIGMAPS, PRIORITYCLASSES
from vacate.api.objects import Obj
from vacate.embedded.apiserver.response.stored import same_object

pytestmark = pytest.mark.unit


def test_the_order_of_fields_makes_no_difference() -> None:
    assert same_object(b'{"a":1,"b":{"c":2}}', b'{"b":{"c":2},"a":1}')
    assert not same_object(b'{"a":1,"b":2}', b'{"a":2,"b":1}')
    assert not same_object(b'{"a":1}', b'{"a":1,"b":2}')


async def test_a_put_in_another_order_writes_nothing() -> None:
    async with embedded() as server:
        made = await server.ask(
            "POST",
            "/api/v1/namespaces/d/configmaps",
            {"metadata": {"name": "c"}, "data": {"a": "1", "b": "2"}},
        )
        assert made.code == 201
        again = {**made.body, "data": {"b": "2", "a": "1"}}
        assert orjson.dumps(again) != orjson.dumps(made.body)
        put = await server.ask("PUT", "/api/v1/namespaces/d/configmaps/c", again)
        assert put.code == 200
        assert put.body["metadata"]["resourceVersion"] == made.body["metadata"]["resourceVersion"]


async def test_pods_that_name_no_priority_class_get_the_default_one() -> None:
    async with embedded() as server:
        for name, value in (("usual", 100), ("higher", 200)):
            await server.seed(
                PRIORITYCLASSES,
                {"metadata": {"name": name, "uid": name}, "value": value, "globalDefault": True},
            )
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        made = await server.ask("POST", "/api/v1/namespaces/d/pods", pod)
        assert (made.body["spec"]["priorityClassName"], made.body["spec"]["priority"]) == ("usual", 100)


@pytest.mark.parametrize("method", ["PATCH", "PUT", "POST"])
async def test_who_is_refused_for_a_write_under_way_can_read_it(method: str) -> None:
    collection = "/api/v1/namespaces/d/configmaps"
    async with embedded(slow=5) as server:
        made: Obj = {"metadata": {"name": "c"}, "data": {"a": "1"}}
        if method != "POST":
            made = (await server.ask("POST", collection, made)).body
        path = collection if method == "POST" else f"{collection}/c"
        media = "application/merge-patch+json" if method == "PATCH" else "application/json"

        async def write(value: str) -> int:
            body = {**made, "data": {"a": value}}
            return (await server.ask(method, path, body, content_type=media)).code

        first = asyncio.create_task(write("2"))
        await asyncio.sleep(0)
        assert await write("3") == 409
        stored = server.stored(CONFIGMAPS, "c")
        assert stored is not None
        assert stored["data"] == {"a": "2"}
        assert await first < 300
