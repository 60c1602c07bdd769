"""Objects of an installation on a real API server, there as long as a test needs them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from support import arms_objects as make
from support.arms import Obj
from support.arms_kube import KubeArm
from vacate.api.kinds import CLUSTERROLEBINDINGS, Kind
from vacate.api.objectnames import REQUESTER
from vacate.crds.definition import defined_kind
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
        for obj in reversed(others):
            await arm.call("DELETE", path_of(obj))
        await arm.call("DELETE", path_of(definition))
        await until(lambda: _gone(arm, definition))


def asking(user: str) -> list[Obj]:
    """The role of requesters, for this user; without the right to delete pods."""
    roles = [role for role in user_roles() if role["metadata"]["name"] == REQUESTER]
    binding = make.binding(REQUESTER, "ClusterRole", REQUESTER, user)
    identity = {"apiVersion": CLUSTERROLEBINDINGS.api_version, "kind": CLUSTERROLEBINDINGS.kind}
    return [*roles, {**identity, **binding}]


async def until(holds: Callable[[], Awaitable[bool]], seconds: float = 30.0) -> None:
    """Wait for what a server tells nobody."""
    async with asyncio.timeout(seconds):
        while not await holds():  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.05)


async def _gone(arm: KubeArm, definition: Obj) -> bool:
    return (await arm.call("GET", path_of(definition))).code == 404


async def _served(arm: KubeArm, kind: Kind) -> bool:
    """Established, and known to the part of the server that answers."""
    found = await arm.call("GET", f"{DEFINITIONS}/{kind.resource}")
    conditions = found.ok().get("status", {}).get("conditions") or []
    established = any(one["type"] == "Established" and one["status"] == "True" for one in conditions)
    return established and not (await arm.call("GET", kind.collection_path("default"))).failed
