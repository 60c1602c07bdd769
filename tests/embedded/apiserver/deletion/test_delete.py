"""DELETE through the server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.embedded import POD_PATH, Embedded, a_pod, embedded, namespace
from vacate.api.kinds import CONFIGMAPS, DEPLOYMENTS, NAMESPACES, PODS, PRIORITYCLASSES, SERVICEACCOUNTS

pytestmark = pytest.mark.unit

STAMP = "2026-03-01T12:00:00Z"
MAPS = CONFIGMAPS.collection_path("d")


@pytest.fixture
async def server() -> AsyncIterator[Embedded]:
    async with embedded() as one:
        yield one


def a_map(name: str = "m", **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "d", "uid": f"uid-{name}", **meta}, "data": {"k": "v"}}


async def test_an_ordinary_object_goes_and_is_named(server: Embedded) -> None:
    stored = await server.seed(CONFIGMAPS, a_map())
    answer = await server.ask("DELETE", f"{MAPS}/m")
    assert answer.code == 200
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "m", "kind": "configmaps", "uid": "uid-m"},
    }
    assert server.stored(CONFIGMAPS, "m") is None
    revision = int(stored["metadata"]["resourceVersion"])
    (change,) = await server.changes(CONFIGMAPS, revision)
    assert change[0] == "DELETED"
    assert change[1]["metadata"]["resourceVersion"] == str(revision + 1)


async def test_a_grouped_kind_is_named_with_its_group(server: Embedded) -> None:
    await server.seed(DEPLOYMENTS, {"metadata": {"name": "w", "namespace": "d", "uid": "u"}, "spec": {}})
    answer = await server.ask("DELETE", DEPLOYMENTS.object_path("w", "d"))
    assert answer.body["details"] == {"name": "w", "group": "apps", "kind": "deployments", "uid": "u"}


async def test_a_service_account_comes_back_whole(server: Embedded) -> None:
    await server.seed(SERVICEACCOUNTS, {"metadata": {"name": "s", "namespace": "d", "uid": "u"}})
    answer = await server.ask("DELETE", SERVICEACCOUNTS.object_path("s", "d"))
    assert (answer.code, answer.body["kind"], answer.body["metadata"]["name"]) == (200, "ServiceAccount", "s")
    assert server.stored(SERVICEACCOUNTS, "s") is None


async def test_a_missing_object_is_not_found(server: Embedded) -> None:
    answer = await server.ask("DELETE", f"{MAPS}/m")
    assert (answer.code, answer.body["reason"]) == (404, "NotFound")
    assert answer.message == 'configmaps "m" not found'


async def test_a_pod_is_marked_with_its_own_grace(server: Embedded) -> None:
    await server.seed(PODS, a_pod())
    answer = await server.ask("DELETE", f"{POD_PATH}/p")
    assert (answer.code, answer.body["kind"]) == (200, "Pod")
    meta = answer.body["metadata"]
    assert meta["deletionTimestamp"] == "2026-03-01T12:00:30Z"
    assert (meta["deletionGracePeriodSeconds"], meta["generation"]) == (30, 2)
    assert server.stored(PODS, "p") == answer.body


async def test_a_second_delete_writes_nothing(server: Embedded) -> None:
    await server.seed(PODS, a_pod())
    first = await server.ask("DELETE", f"{POD_PATH}/p")
    revision = server.store.revision
    server.clock.move(5)
    for body in (None, {"gracePeriodSeconds": 30}, {"gracePeriodSeconds": 300}):
        again = await server.ask("DELETE", f"{POD_PATH}/p", body)
        assert (again.code, again.body) == (200, first.body)
    assert server.store.revision == revision


async def test_the_node_ends_a_graceful_deletion(server: Embedded) -> None:
    await server.seed(PODS, a_pod())
    await server.ask("DELETE", f"{POD_PATH}/p")
    revision = server.store.revision
    server.clock.move(3)
    end = {"gracePeriodSeconds": 0, "preconditions": {"uid": "uid-p"}}
    answer = await server.ask("DELETE", f"{POD_PATH}/p", end)
    assert (answer.code, answer.body["kind"]) == (200, "Pod")
    assert server.stored(PODS, "p") is None
    changes = await server.changes(PODS, revision)
    assert [kind for kind, _ in changes] == ["MODIFIED", "DELETED"]
    for _, obj in changes:
        assert obj["metadata"]["deletionTimestamp"] == "2026-03-01T12:00:03Z"
        assert obj["metadata"]["deletionGracePeriodSeconds"] == 0
    assert answer.body == changes[1][1]


async def test_options_come_from_the_query_when_there_is_no_body(server: Embedded) -> None:
    await server.seed(PODS, a_pod())
    answer = await server.ask("DELETE", f"{POD_PATH}/p", query={"gracePeriodSeconds": "7"})
    assert answer.body["metadata"]["deletionGracePeriodSeconds"] == 7
    body = {"gracePeriodSeconds": 5}
    answer = await server.ask("DELETE", f"{POD_PATH}/p", body, query={"gracePeriodSeconds": "0"})
    assert answer.body["metadata"]["deletionGracePeriodSeconds"] == 5


@pytest.mark.parametrize(
    ("body", "query", "code", "message"),
    [
        ({"preconditions": {"uid": "other"}}, {}, 409, "the UID in the precondition (other) does not match"),
        ({"preconditions": {"resourceVersion": "1"}}, {}, 409, "the ResourceVersion in the precondition (1)"),
        (None, {"uid": "other"}, 409, "the UID in the precondition (other) does not match"),
        ({"propagationPolicy": "Sideways"}, {}, 422, 'DeleteOptions.meta.k8s.io "" is invalid'),
        (None, {"propagationPolicy": "Sideways"}, 422, 'DeleteOptions.meta.k8s.io "" is invalid'),
        (None, {"dryRun": "Some"}, 422, "dryRun: Unsupported value"),
        (None, {"gracePeriodSeconds": "soon"}, 400, 'expected a 64-bit integer, got "soon"'),
        ({"gracePeriodSeconds": "3"}, {}, 400, "gracePeriodSeconds: expected a 64-bit integer, got a string"),
        ({"kind": "Pod", "apiVersion": "v1"}, {}, 400, 'no kind "Pod" is registered for version "v1"'),
        (b"{", {}, 400, "couldn't get version/kind; json parse error"),
        ([], {}, 400, "expected an object"),
    ],
)
async def test_what_is_refused_changes_nothing(
    server: Embedded, body: Any, query: dict[str, str], code: int, message: str
) -> None:
    await server.seed(PODS, a_pod())
    revision = server.store.revision
    answer = await server.ask("DELETE", f"{POD_PATH}/p", body, query=query)
    assert answer.code == code
    assert message in answer.message
    assert server.store.revision == revision


@pytest.mark.parametrize("version", ["v1", "apps/v1", "meta.k8s.io/v1"])
async def test_options_may_name_any_version(server: Embedded, version: str) -> None:
    await server.seed(CONFIGMAPS, a_map())
    body = {"kind": "DeleteOptions", "apiVersion": version, "propagationPolicy": "Background"}
    assert (await server.ask("DELETE", f"{MAPS}/m", body)).code == 200


@pytest.mark.parametrize("dry", [{"body": {"dryRun": ["All"]}}, {"query": {"dryRun": "All"}}])
async def test_a_dry_run_shows_and_does_nothing(server: Embedded, dry: dict[str, Any]) -> None:
    await server.seed(PODS, a_pod())
    await server.seed(CONFIGMAPS, a_map())
    revision = server.store.revision
    pod = await server.ask("DELETE", f"{POD_PATH}/p", dry.get("body"), query=dry.get("query"))
    assert pod.body["metadata"]["deletionGracePeriodSeconds"] == 30
    one = await server.ask("DELETE", f"{MAPS}/m", dry.get("body"), query=dry.get("query"))
    assert (one.code, one.body["status"]) == (200, "Success")
    assert server.store.revision == revision


async def test_finalizers_hold_until_an_update_lets_go(server: Embedded) -> None:
    await server.seed(CONFIGMAPS, a_map(finalizers=["example.com/hold"]))
    answer = await server.ask("DELETE", f"{MAPS}/m")
    assert (answer.code, answer.body["kind"]) == (200, "ConfigMap")
    assert answer.body["metadata"]["deletionTimestamp"] == STAMP
    revision = server.store.revision
    again = await server.ask("DELETE", f"{MAPS}/m")
    assert again.body == answer.body
    freed = {**answer.body, "metadata": {**answer.body["metadata"], "finalizers": []}}
    assert (await server.ask("PUT", f"{MAPS}/m", freed)).code == 200
    assert server.stored(CONFIGMAPS, "m") is None
    changes = await server.changes(CONFIGMAPS, revision)
    assert [kind for kind, _ in changes] == ["DELETED"]


@pytest.mark.parametrize(
    ("body", "code", "finalizers"),
    [
        ({"propagationPolicy": "Foreground"}, 200, ["foregroundDeletion"]),
        ({"propagationPolicy": "Orphan"}, 200, ["orphan"]),
        ({"orphanDependents": True}, 200, ["orphan"]),
    ],
)
async def test_propagation_that_holds(
    server: Embedded, body: dict[str, Any], code: int, finalizers: list[str]
) -> None:
    deployment = {"metadata": {"name": "w", "namespace": "d", "uid": "u", "generation": 1}, "spec": {}}
    await server.seed(DEPLOYMENTS, deployment)
    answer = await server.ask("DELETE", DEPLOYMENTS.object_path("w", "d"), body)
    assert (answer.code, answer.body["kind"]) == (code, "Deployment")
    assert answer.body["metadata"]["finalizers"] == finalizers
    assert answer.body["metadata"]["deletionTimestamp"] == STAMP
    assert answer.body["metadata"]["generation"] == 2


async def test_the_old_word_for_cascading_is_accepted(server: Embedded) -> None:
    await server.seed(CONFIGMAPS, a_map(finalizers=["example.com/hold"]))
    answer = await server.ask("DELETE", f"{MAPS}/m", {"orphanDependents": False})
    assert (answer.code, answer.body["kind"]) == (202, "ConfigMap")


async def test_a_namespace_terminates(server: Embedded) -> None:
    await server.seed(NAMESPACES, namespace("x"))
    answer = await server.ask("DELETE", "/api/v1/namespaces/x")
    assert (answer.code, answer.body["kind"]) == (200, "Namespace")
    assert answer.body["status"]["phase"] == "Terminating"
    assert answer.body["metadata"]["deletionTimestamp"] == STAMP
    again = await server.ask("DELETE", "/api/v1/namespaces/x")
    assert (again.code, again.body) == (200, answer.body)


async def test_an_immortal_namespace(server: Embedded) -> None:
    await server.seed(NAMESPACES, namespace("default"))
    answer = await server.ask("DELETE", "/api/v1/namespaces/default")
    assert (answer.code, answer.body["reason"]) == (403, "Forbidden")
    assert answer.message == 'namespaces "default" is forbidden: this namespace may not be deleted'
    assert answer.body["details"] == {"name": "default", "kind": "namespaces"}


async def test_finalizing_takes_a_namespace_out(server: Embedded) -> None:
    await server.seed(NAMESPACES, namespace("x"))
    body = (await server.ask("DELETE", "/api/v1/namespaces/x")).body
    answer = await server.ask("PUT", "/api/v1/namespaces/x/finalize", {**body, "spec": {"finalizers": []}})
    assert answer.code == 200
    assert server.stored(NAMESPACES, "x") is None


async def test_system_priority_classes_stay(server: Embedded) -> None:
    answer = await server.ask("DELETE", PRIORITYCLASSES.object_path("system-node-critical"))
    assert answer.code == 403
    assert answer.message == (
        'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: '
        "this is a system priority class and cannot be deleted"
    )
