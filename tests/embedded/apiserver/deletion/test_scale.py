"""The scale subresource through the server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.embedded import Answer, Embedded, embedded
from vacate.api.kinds import DEPLOYMENTS, REPLICASETS, STATEFULSETS, Kind
from vacate.api.objects import Obj

pytestmark = pytest.mark.unit

MERGE = "application/merge-patch+json"


@pytest.fixture
async def server() -> AsyncIterator[Embedded]:
    async with embedded() as one:
        for kind in (DEPLOYMENTS, REPLICASETS, STATEFULSETS):
            await one.seed(kind, a_workload())
        yield one


def a_workload() -> Obj:
    labels = {"app": "web"}
    return {
        "metadata": {
            "name": "w",
            "namespace": "d",
            "uid": "u",
            "generation": 1,
            "creationTimestamp": "2026-03-01T11:00:00Z",
            "labels": labels,
        },
        "spec": {
            "replicas": 3,
            # As stored by a server that has filled them in; other kinds ignore them.
            "serviceName": "",
            "podManagementPolicy": "OrderedReady",
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
            "selector": {
                "matchLabels": labels,
                "matchExpressions": [{"key": "tier", "operator": "In", "values": ["b", "a"]}],
            },
            "template": {
                "metadata": {"labels": {"app": "web", "tier": "a"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
        "status": {"replicas": 2},
    }


async def scale(
    server: Embedded, method: str = "GET", body: Any = None, *, kind: Kind = DEPLOYMENTS, **more: Any
) -> Answer:
    return await server.ask(method, kind.object_path("w", "d", "scale"), body, **more)


def stored(server: Embedded, kind: Kind = DEPLOYMENTS) -> Obj:
    obj = server.stored(kind, "w")
    assert obj is not None
    return obj


@pytest.mark.parametrize("kind", [DEPLOYMENTS, REPLICASETS, STATEFULSETS])
async def test_the_scale_is_a_window(server: Embedded, kind: Kind) -> None:
    answer = await scale(server, kind=kind)
    assert answer.code == 200
    assert answer.body == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": "w",
            "namespace": "d",
            "uid": "u",
            "resourceVersion": stored(server, kind)["metadata"]["resourceVersion"],
            "creationTimestamp": "2026-03-01T11:00:00Z",
        },
        "spec": {"replicas": 3},
        "status": {"replicas": 2, "selector": "app=web,tier in (a,b)"},
    }


async def test_a_missing_workload(server: Embedded) -> None:
    answer = await server.ask("GET", DEPLOYMENTS.object_path("x", "d", "scale"))
    assert (answer.code, answer.message) == (404, 'deployments.apps "x" not found')


@pytest.mark.parametrize("kind", [DEPLOYMENTS, REPLICASETS, STATEFULSETS])
async def test_an_update_sets_the_replicas_and_nothing_else(server: Embedded, kind: Kind) -> None:
    body = (await scale(server, kind=kind)).body
    body["spec"]["replicas"] = 5
    body["status"] = {"replicas": 99}
    body["metadata"]["labels"] = {"ignored": "yes"}
    answer = await scale(server, "PUT", body, kind=kind)
    assert (answer.code, answer.body["kind"], answer.body["spec"]) == (200, "Scale", {"replicas": 5})
    after = stored(server, kind)
    assert after["spec"]["replicas"] == 5
    assert after["metadata"]["labels"] == {"app": "web"}
    assert after["metadata"]["generation"] == 2
    assert after["status"]["replicas"] == 2
    assert answer.body["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]


async def test_nothing_to_scale_to_is_zero(server: Embedded) -> None:
    answer = await scale(server, "PUT", {"metadata": {"name": "w"}})
    assert (answer.code, answer.body["spec"]) == (200, {})
    assert stored(server)["spec"]["replicas"] == 0


@pytest.mark.parametrize(
    ("patch", "form"),
    [
        ({"spec": {"replicas": 7}}, MERGE),
        ({"spec": {"replicas": 7}}, "application/strategic-merge-patch+json"),
        ([{"op": "replace", "path": "/spec/replicas", "value": 7}], "application/json-patch+json"),
    ],
)
async def test_patches(server: Embedded, patch: Any, form: str) -> None:
    answer = await scale(server, "PATCH", patch, content_type=form)
    assert (answer.code, answer.body["spec"]) == (200, {"replicas": 7})
    assert stored(server)["spec"]["replicas"] == 7


async def test_a_stale_version_conflicts(server: Embedded) -> None:
    body = (await scale(server)).body
    await scale(server, "PATCH", {"spec": {"replicas": 4}}, content_type=MERGE)
    body["spec"]["replicas"] = 9
    answer = await scale(server, "PUT", body)
    assert (answer.code, answer.body["reason"]) == (409, "Conflict")
    assert "the object has been modified" in answer.message
    patch = {"metadata": {"resourceVersion": "1"}, "spec": {"replicas": 9}}
    assert (await scale(server, "PATCH", patch, content_type=MERGE)).code == 409
    assert stored(server)["spec"]["replicas"] == 4


async def test_another_uid_conflicts(server: Embedded) -> None:
    answer = await scale(server, "PUT", {"metadata": {"name": "w", "uid": "v"}, "spec": {"replicas": 1}})
    assert answer.code == 409
    assert answer.message == (
        'Operation cannot be fulfilled on deployments/scale.apps "w": '
        "Precondition failed: UID in precondition: v, UID in object meta: u"
    )


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (
            {"metadata": {"name": "w"}, "spec": {"replicas": -1}},
            422,
            (
                'Scale.autoscaling "w" is invalid: spec.replicas: Invalid value: -1: '
                "must be greater than or equal to 0"
            ),
        ),
        (
            {"metadata": {"name": "w"}, "spec": {"replicas": "5"}},
            400,
            (
                'Scale in version "v1" cannot be handled as a Scale: spec.replicas: '
                "expected a 32-bit integer, got a string"
            ),
        ),
        (
            {"metadata": {"name": "w"}, "spec": {"replicas": 2**31}},
            400,
            (
                'Scale in version "v1" cannot be handled as a Scale: spec.replicas: '
                "expected a 32-bit integer, got 2147483648"
            ),
        ),
        (
            {"metadata": {"name": "x"}},
            400,
            "the name of the object (x) does not match the name on the URL (w)",
        ),
        (
            {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "w"}},
            400,
            "Deployment in version",
        ),
        (b"{", 400, "json parse error"),
    ],
)
async def test_bodies_that_are_refused(server: Embedded, body: Any, code: int, message: str) -> None:
    revision = server.store.revision
    answer = await scale(server, "PUT", body)
    assert answer.code == code
    assert message in answer.message
    assert server.store.revision == revision


async def test_a_dry_run_scales_nothing(server: Embedded) -> None:
    body = {"metadata": {"name": "w"}, "spec": {"replicas": 8}}
    answer = await scale(server, "PUT", body, query={"dryRun": "All"})
    assert (answer.code, answer.body["spec"]) == (200, {"replicas": 8})
    assert stored(server)["spec"]["replicas"] == 3


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_other_methods(server: Embedded, method: str) -> None:
    assert (await scale(server, method)).code == 405
