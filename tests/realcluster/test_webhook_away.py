"""Webhook configurations with nobody behind them: only EvictionRequests feel it, and not all of theirs."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from support.arms.arm import MERGE_PATCH, Answer, As, Obj
from support.arms.kube import KUBECONFIG, KubeArm
from support.arms.objects import pod
from support.realcluster.crd_steps import A, B, at, complete, named, request, status, turn
from support.realcluster.definitions import installed, until
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.kinds import PODS
from vacate.crds.definition import definition
from vacate.entropy import system_entropy
from vacate.install import Settings
from vacate.install.manifests.webhooks import NAMESPACE_CONTROLLERS, webhook_configurations
from vacate.install.objectkinds import path_of

pytestmark = [
    pytest.mark.kube,
    pytest.mark.xdist_group("labs"),
    pytest.mark.asyncio(loop_scope="module"),
]

COLLECTION = KIND.collection_path("default")
FORBID = status(evictionRequestCancellationPolicy="Forbid")
RULES = "rules: []"
REGISTERS = {"interceptor.evictionrequest.coordination.k8s.io/priority_a.example.com": "1"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def away() -> AsyncIterator[KubeArm]:
    """A real server that would like to ask a webhook, where nobody listens."""
    arm = KubeArm(Path(os.environ[KUBECONFIG]))
    settings = Settings(webhook_url="https://127.0.0.1:1", pod_rules=RULES)

    try:
        async with installed(arm, definition()):
            hooks = webhook_configurations(settings)
            try:
                await in_force(arm, hooks)
                yield arm
            finally:
                for one in hooks:
                    await arm.call("DELETE", path_of(one))
    finally:
        await arm.aclose()


async def made(arm: KubeArm, *steps: Obj, finalizers: tuple[str, ...] = (), **spec: object) -> str:
    """The path of a request that is there: written while the webhook was not asked for."""
    hooks = webhook_configurations(Settings(webhook_url="https://127.0.0.1:1", pod_rules=RULES))
    for one in hooks:
        (await arm.call("DELETE", path_of(one))).ok()
    obj = request(**spec)
    obj["metadata"]["finalizers"] = list(finalizers)

    async def written() -> bool:
        return not (await arm.call("POST", COLLECTION, body=obj)).failed

    await until(written)
    path = KIND.object_path(obj["metadata"]["name"], "default")
    for step in steps:
        (await patched(arm, path, step)).ok()
    await in_force(arm, hooks)
    return path


async def in_force(arm: KubeArm, hooks: list[Obj]) -> None:
    """Create the configurations one by one; return when the server goes by both.

    The validating one comes first: with the mutating one nobody would ever ask it about a request.
    """
    for one, verb in zip(reversed(hooks), ("validate", "mutate"), strict=True):
        (await arm.call("POST", path_of(one, collection=True), body=one)).ok(201)

        async def asks(name: str = f'failed calling webhook "evictionrequests.{verb}.') -> bool:
            answer = await arm.call("POST", COLLECTION, body=request(), query={"dryRun": "All"})
            return name in (answer.message or "")

        await until(asks)


async def patched(arm: KubeArm, path: str, step: Obj) -> Answer:
    where = f"{path}/status" if "status" in step else path
    return await arm.call("PATCH", where, body=step, content_type=MERGE_PATCH)


def refused(answer: Answer, name: str) -> None:
    assert answer.failed
    assert answer.message is not None
    assert f'failed calling webhook "{name}' in answer.message


async def test_new_requests_are_refused(away: KubeArm) -> None:
    refused(await away.call("POST", COLLECTION, body=request()), "evictionrequests.mutate.vacate.dev")


async def test_heartbeats_and_ends_get_through(away: KubeArm) -> None:
    path = await made(away, turn(B, 0), interceptors=named(A, B))
    (await patched(away, path, status(heartbeatTime=at(5)))).ok()
    refused(await patched(away, path, {"spec": {"requesters": []}}), "evictionrequests.mutate.vacate.dev")
    (await patched(away, path, complete())).ok()
    (await away.call("DELETE", path)).ok()


async def test_a_guarded_request_stays_but_for_its_namespace(away: KubeArm) -> None:
    path = await made(away, FORBID)
    refused(await away.call("DELETE", path), "deletion.evictionrequests.validate.vacate.dev")
    controller = As(NAMESPACE_CONTROLLERS[0], ("system:serviceaccounts", "system:masters"))
    (await away.call("DELETE", path, as_user=controller)).ok()


async def test_a_finished_request_goes_whatever_its_policy(away: KubeArm) -> None:
    path = await made(away, FORBID, complete())
    (await away.call("DELETE", path)).ok()


async def test_a_request_on_its_way_out_gets_rid_of_its_finalizers(away: KubeArm) -> None:
    path = await made(away, finalizers=("example.com/stays",))
    (await away.call("DELETE", path)).ok()
    refused(await patched(away, path, {"spec": {"requesters": []}}), "evictionrequests.mutate.vacate.dev")
    stamped = {"metadata": {"annotations": {"vacate.dev/admitted": "true"}}}
    refused(await patched(away, path, stamped), "evictionrequests.mutate.vacate.dev")
    (await patched(away, path, {"metadata": {"finalizers": []}})).ok()
    assert (await away.call("GET", path)).code == 404


@pytest.mark.parametrize("annotations", [{}, REGISTERS], ids=["plain", "registers"])
async def test_pods_come_and_go(away: KubeArm, annotations: dict[str, str]) -> None:
    name = f"p-{system_entropy().uid()[:8]}"
    wanted = pod(name)
    wanted["metadata"] = {**wanted["metadata"], "annotations": annotations}
    (await away.call("POST", PODS.collection_path("default"), body=wanted)).ok(201)
    path = PODS.object_path(name, "default")
    step = {"metadata": {"annotations": {"interceptor.evictionrequest.coordination.k8s.io/priority_b": "2"}}}
    (await patched(away, path, step)).ok()
    (await away.call("DELETE", path, query={"gracePeriodSeconds": "0"})).ok()
