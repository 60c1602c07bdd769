"""POST pods/NAME/binding through the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.embedded import POD_PATH, Answer, Embedded, a_pod, embedded, namespace
from vacate.api.kinds import NAMESPACES, PODS
from vacate.api.objects import Obj

pytestmark = pytest.mark.unit

FREE: Obj = {"spec": {"nodeName": ""}, "status": {"phase": "Pending", "conditions": []}}


@pytest.fixture
async def server() -> AsyncIterator[Embedded]:
    async with embedded() as one:
        yield one


def a_binding(node: Any = "n2", **meta: Any) -> Obj:
    return {
        "kind": "Binding",
        "apiVersion": "v1",
        "metadata": {"name": "p", "namespace": "d", **meta},
        "target": {"kind": "Node", "name": node},
    }


async def bind(server: Embedded, body: Any = None, **query: str) -> Answer:
    sent = a_binding() if body is None else body
    return await server.ask("POST", f"{POD_PATH}/p/binding", sent, query=query)


async def test_a_pod_is_put_on_a_node(server: Embedded) -> None:
    status = {"phase": "Pending", "conditions": [], "nominatedNodeName": "n3"}
    await server.seed(
        PODS, a_pod(meta={"annotations": {"a": "1", "b": "1"}}, spec={"nodeName": ""}, status=status)
    )
    answer = await bind(server, a_binding(annotations={"b": "2"}, labels={"zone": "z", "app": "api"}))
    assert answer.code == 201
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": 201,
    }
    pod = server.stored(PODS, "p")
    assert pod is not None
    assert pod["spec"]["nodeName"] == "n2"
    assert pod["metadata"]["annotations"] == {"a": "1", "b": "2"}
    assert pod["metadata"]["labels"] == {"app": "api", "zone": "z"}
    assert pod["metadata"]["generation"] == 1
    assert "nominatedNodeName" not in pod["status"]
    assert pod["status"]["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": "2026-03-01T12:00:00Z",
        }
    ]


async def test_a_false_condition_becomes_true(server: Embedded) -> None:
    unschedulable = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/3 nodes are available",
        "lastTransitionTime": "2026-03-01T11:00:00Z",
    }
    await server.seed(
        PODS, a_pod(spec={"nodeName": ""}, status={"phase": "Pending", "conditions": [unschedulable]})
    )
    assert (await bind(server)).code == 201
    pod = server.stored(PODS, "p")
    assert pod is not None
    (condition,) = pod["status"]["conditions"]
    assert (condition["status"], condition["lastTransitionTime"]) == ("True", "2026-03-01T12:00:00Z")
    assert "reason" not in condition


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, 'pod p is already assigned to node "n1"'),
        (
            {"meta": {"deletionTimestamp": "2026-03-01T12:00:20Z"}},
            "pod p is being deleted, cannot be assigned to a host",
        ),
        (
            {"spec": {"nodeName": "", "schedulingGates": [{"name": "example.com/wait"}]}},
            "pod p has non-empty .spec.schedulingGates",
        ),
    ],
)
async def test_pods_that_are_not_free(server: Embedded, changes: Obj, why: str) -> None:
    await server.seed(PODS, a_pod(**changes))
    answer = await bind(server)
    assert (answer.code, answer.body["reason"]) == (409, "Conflict")
    assert answer.message == f'Operation cannot be fulfilled on pods/binding "p": {why}'
    assert answer.body["details"] == {"name": "p", "kind": "pods/binding"}


@pytest.mark.parametrize(
    ("meta", "precondition"),
    [
        ({"uid": "other"}, "UID in precondition: other, UID in object meta: uid-p"),
        ({"resourceVersion": "1"}, "ResourceVersion in precondition: 1, ResourceVersion in object meta: 3"),
    ],
)
async def test_preconditions(server: Embedded, meta: Obj, precondition: str) -> None:
    pod = await server.seed(PODS, a_pod(**FREE))
    answer = await bind(server, a_binding(**meta))
    version = pod["metadata"]["resourceVersion"]
    assert answer.code == 409
    assert answer.message == (
        'Operation cannot be fulfilled on pods "p": StorageError: invalid object, Code: 4, '
        "Key: /registry/pods/d/p, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
        + precondition.replace("meta: 3", f"meta: {version}")
    )
    good = a_binding(uid="uid-p", resourceVersion=version)
    assert (await bind(server, good)).code == 201


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (
            {**a_binding(), "metadata": {"name": "q"}},
            400,
            "name in URL does not match name in Binding object",
        ),
        (a_binding(namespace="e"), 400, "the namespace of the provided object does not match"),
        ({**a_binding(), "target": {}}, 500, "target.name: Required value"),
        (
            {**a_binding(), "target": {"kind": "Pod", "name": "x"}},
            500,
            'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
        ),
        (a_binding("Not A Node"), 500, 'target.name: Invalid value: "Not A Node": a lowercase RFC 1123'),
        (a_binding(3), 400, "target.name: expected a string, got 3"),
        ({**a_binding(), "target": []}, 400, "target: expected an object, got a list"),
        (a_binding(annotations={"a": 1}), 400, "metadata.annotations.a: expected a string, got 1"),
        ({**a_binding(), "kind": "Pod"}, 400, "Pod in version"),
        (b"[", 400, "json parse error"),
    ],
)
async def test_bodies_that_are_refused(server: Embedded, body: Any, code: int, message: str) -> None:
    await server.seed(PODS, a_pod(**FREE))
    revision = server.store.revision
    answer = await bind(server, body)
    assert answer.code == code
    assert message in answer.message
    assert server.store.revision == revision


async def test_a_missing_pod(server: Embedded) -> None:
    answer = await bind(server)
    assert (answer.code, answer.message) == (404, 'pods "p" not found')


async def test_a_dry_run_binds_nothing(server: Embedded) -> None:
    await server.seed(PODS, a_pod(**FREE))
    revision = server.store.revision
    assert (await bind(server, dryRun="All")).code == 201
    assert server.store.revision == revision


async def test_a_namespace_on_its_way_out(server: Embedded) -> None:
    await server.seed(NAMESPACES, namespace("t", phase="Terminating"))
    body = {"metadata": {"name": "p"}, "target": {"name": "n1"}}
    answer = await server.ask("POST", "/api/v1/namespaces/t/pods/p/binding", body)
    assert answer.code == 403
    assert answer.body["details"]["causes"][0]["reason"] == "NamespaceTerminating"


async def test_of_two_schedulers_one_wins() -> None:
    async with embedded(slow=3) as server:
        await server.seed(PODS, a_pod(**FREE))
        answers = await asyncio.gather(*(bind(server, a_binding(f"n{number}")) for number in range(5)))
        assert sorted(answer.code for answer in answers) == [201, 409, 409, 409, 409]
        winner = next(number for number, answer in enumerate(answers) if answer.code == 201)
        pod = server.stored(PODS, "p")
        assert pod is not None
        assert pod["spec"]["nodeName"] == f"n{winner}"
