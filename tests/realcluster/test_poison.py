"""Bad values on a real API server: which ones the definition refuses, and what becomes of stored ones."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.arms import objects as make
from support.arms.arm import MERGE_PATCH, Obj
from support.arms.kube import KUBECONFIG, KubeArm
from support.hostile.poison import BAD_TIMES, bad_statuses
from support.processes.manager import managing
from support.processes.screens import run
from support.realcluster.crd_steps import request
from support.realcluster.definitions import installed, until
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.kinds import NAMESPACES, PODS
from vacate.api.times import is_time
from vacate.crds.definition import definition
from vacate.crds.schema.formats import is_date_time

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("labs")]

TIMES = (
    *BAD_TIMES,
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00-00:00",
    "9998-12-31T23:59:59.9999999-23:59",
    "9999-01-01T00:00:00Z",
    "2026-08-20T12:00:00.123456789012Z",
    "2026-08-20t12:00:00z",
    "2026-08-20T12:00:00,5Z",
    "2026-08-20T12:00:00+14:00",
    "2026-08-20T24:00:00Z",
    "2026-02-29T00:00:00Z",
    "2028-02-29T00:00:00Z",
)
ADMITTED = {"annotations": {"vacate.dev/admitted": "true"}}


@pytest.fixture
async def arm() -> AsyncIterator[KubeArm]:
    one = KubeArm(Path(os.environ[KUBECONFIG]))
    try:
        yield one
    finally:
        await one.aclose()


def without_rules() -> Obj:
    """The definition as if a status were nobody's affair."""
    made = copy.deepcopy(definition())
    schema = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema.pop("x-kubernetes-validations", None)
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema["properties"] |= {"spec": anything, "status": anything}
    made["spec"]["versions"][0].pop("additionalPrinterColumns", None)
    return made


async def test_the_definition_takes_the_times_that_everyone_can_hold(arm: KubeArm) -> None:
    async with installed(arm, definition()):
        made = (await arm.call("POST", KIND.collection_path("default"), body=request())).ok(201)
        where = KIND.object_path(made["metadata"]["name"], "default", "status")
        for text in TIMES:
            step = {"status": {"expectedInterceptorFinishTime": text}}
            answer = await arm.call("PATCH", where, body=step, content_type=MERGE_PATCH)
            assert answer.code == (200 if is_time(text) else 422), (text, answer)
            if not is_time(text):
                format_error = any("must be of type date-time" in one for one in answer.field_errors)
                assert format_error == (not is_date_time(text)), (text, answer.field_errors)


async def test_the_rest_of_the_cluster_is_drained_on_time(arm: KubeArm) -> None:
    kubeconfig = Path(os.environ[KUBECONFIG])
    statuses = [one for one in bad_statuses() if isinstance(one, dict)]
    namespace = "poison"
    async with installed(arm, without_rules()), _namespace(arm, namespace):
        bad = [await _requested(arm, namespace, f"bad-{n}", with_=True) for n in range(len(statuses))]
        for name, status in zip(bad, statuses, strict=True):
            await _report(arm, namespace, name, status)
        with managing(
            kubeconfig, "--feature-gates=NodeMaintenance=false,Descheduling=false,Fencing=false"
        ) as manager:  # some are listed and others watched
            for name, status in zip(bad[::2], statuses[::2], strict=True):
                await _report(arm, namespace, name, {**status, "message": 7})
            good = [await _requested(arm, "default", f"good-{n}") for n in range(5)]
            try:
                await until(lambda: _gone(arm, "default", "good-"))
            except TimeoutError:
                pytest.fail(f"{manager.get('/readyz?verbose')}\n{manager.output[-4000:]}")
            assert manager.get("/readyz")[0] == 200
            assert 'vacate_informer_unreadable_objects{name="' in manager.get("/metrics")[1]
            assert "cannot be decoded" in manager.output
            assert "Traceback" not in manager.output
            around = {"KUBECONFIG": str(kubeconfig)}
            shown = await asyncio.to_thread(run, "status", "-A", variables=around)
            assert shown.code == 0, shown.plain
            assert "Unreadable" in shown.plain
            await _report(arm, namespace, bad[0], dict.fromkeys([*statuses[0], "message"]))
            await until(lambda: _active(arm, namespace, bad[0]))
        for name in good:
            await arm.call("DELETE", KIND.object_path(name, "default"))


@contextlib.asynccontextmanager
async def _namespace(arm: KubeArm, name: str) -> AsyncIterator[None]:
    (await arm.call("POST", NAMESPACES.collection_path(), body={"metadata": {"name": name}})).ok(201)
    try:
        yield
    finally:
        await arm.call("DELETE", KIND.collection_path(name))
        await arm.call("DELETE", NAMESPACES.object_path(name))


async def _requested(arm: KubeArm, namespace: str, pod: str, *, with_: bool = False) -> str:
    """A pod that no node takes, and a request for it; perhaps with an interceptor that never answers."""
    body = make.pod(pod, nodeSelector={"no": "node"})
    made = (await arm.call("POST", PODS.collection_path(namespace), body=body)).ok(201)
    name = str(made["metadata"]["uid"])
    spec: Obj = {"target": {"podRef": {"name": pod, "uid": name}}}
    wanted = request(**spec, interceptors=[{"name": "silent.example.com"}] if with_ else None)
    wanted["metadata"] = {"name": name, **ADMITTED}
    (await arm.call("POST", KIND.collection_path(namespace), body=wanted)).ok(201)
    return name


async def _report(arm: KubeArm, namespace: str, name: str, status: Any) -> None:
    where = KIND.object_path(name, namespace, "status")
    (await arm.call("PATCH", where, body={"status": status}, content_type=MERGE_PATCH)).ok()


async def _gone(arm: KubeArm, namespace: str, prefix: str) -> bool:
    await asyncio.sleep(0)
    listed = (await arm.call("GET", PODS.collection_path(namespace))).ok()["items"]
    return not [one for one in listed if one["metadata"]["name"].startswith(prefix)]


async def _active(arm: KubeArm, namespace: str, name: str) -> bool:
    found = (await arm.call("GET", KIND.object_path(name, namespace))).ok()
    return bool((found.get("status") or {}).get("activeInterceptorName"))
