"""Objects of an installation on a real API server, there as long as a test needs them."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

from support.arms import objects as make
from support.arms.arm import Obj
from support.arms.kube import KUBECONFIG, KubeArm
from support.waiting import LIMIT
from vacate.api.installednames import REQUESTER
from vacate.api.kinds import CLUSTERROLEBINDINGS, Kind
from vacate.crds.definition import defined_kind, definition_for
from vacate.install.manifests.roles import user_roles
from vacate.install.objectkinds import path_of

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@contextlib.asynccontextmanager
async def installed(arm: KubeArm, definition: Obj, others: Sequence[Obj] = ()) -> AsyncIterator[None]:
    """The definition and perhaps more; all of it goes at the end, and requests with it."""
    try:
        (await arm.call("POST", DEFINITIONS, body=definition)).ok(201)
        await until(lambda: _served(arm, defined_kind(definition)))
        for obj in others:
            (await arm.call("POST", path_of(obj, collection=True), body=obj)).ok(201)
        yield
    finally:
        await remove(arm, [*reversed(others), definition])


@contextlib.asynccontextmanager
async def serving(kind: Kind) -> AsyncIterator[KubeArm]:
    """The real server, with the definition of this kind."""
    arm = KubeArm(Path(os.environ[KUBECONFIG]))
    try:
        async with installed(arm, definition_for(kind)):
            yield arm
    finally:
        await arm.aclose()


async def remove(arm: KubeArm, objects: Sequence[Obj]) -> None:
    """Delete them where they are, and wait for definitions, whose objects the server removes first.

    The objects are listed before: kube-apiserver opens their storage on first use. Where that is the removal
    itself, its first attempt fails ("storage is (re)initializing"), the second, 5 ms later, may meet the
    status that the first wrote, and then nothing happens until a resync, minutes later.
    """
    for obj in objects:
        if path_of(obj, collection=True) == DEFINITIONS:
            await until(functools.partial(_listed_or_absent, arm, obj))
        answer = await arm.call("DELETE", path_of(obj))
        assert not answer.failed or answer.code == 404, answer
    left = [obj for obj in objects if path_of(obj, collection=True) == DEFINITIONS]

    async def gone() -> bool:
        left[:] = [obj for obj in left if (await arm.call("GET", path_of(obj))).code != 404]
        return not left

    try:
        await until(gone)
    except TimeoutError:
        found = [(await arm.call("GET", path_of(obj))).obj for obj in left]
        states = {one["metadata"]["name"]: [one["metadata"], one["status"]] for one in found}
        raise AssertionError(f"still there: {states}") from None


def asking(user: str) -> list[Obj]:
    """The role of requesters, for this user; without the right to delete pods."""
    roles = [role for role in user_roles() if role["metadata"]["name"] == REQUESTER]
    binding = make.binding(REQUESTER, "ClusterRole", REQUESTER, user)
    identity = {"apiVersion": CLUSTERROLEBINDINGS.api_version, "kind": CLUSTERROLEBINDINGS.kind}
    return [*roles, {**identity, **binding}]


async def until(holds: Callable[[], Awaitable[bool]], seconds: float = LIMIT) -> None:
    """Wait for what a server does not announce."""
    async with asyncio.timeout(seconds):
        while not await holds():  # noqa: ASYNC110 - the server does not announce it
            await asyncio.sleep(0.05)


async def _listed_or_absent(arm: KubeArm, definition: Obj) -> bool:
    listed = await arm.call("GET", defined_kind(definition).collection_path())
    return not listed.failed or (await arm.call("GET", path_of(definition))).code == 404


async def _served(arm: KubeArm, kind: Kind) -> bool:
    """Established, and known to the part of the server that answers."""
    found = await arm.call("GET", f"{DEFINITIONS}/{kind.resource}")
    conditions = found.ok().get("status", {}).get("conditions") or []
    established = any(one["type"] == "Established" and one["status"] == "True" for one in conditions)
    return established and not (await arm.call("GET", kind.collection_path())).failed
