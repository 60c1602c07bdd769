"""The commands about evictions on a real API server that serves lifecycle.k8s.io, without and with Vacate."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from hack.kubelab.control_plane import running
from hack.kubelab.obtain import ASSETS

from support.arms import objects as make
from support.arms.arm import Obj
from support.arms.kube import KubeArm
from support.processes.cluster import environment, vacate
from support.realcluster.definitions import until
from vacate.api.kinds import LIFECYCLE_EVICTIONS, LIFECYCLE_REQUESTS, NODES, PODS
from vacate.crds.catalogue import DECLARATIONS
from vacate.crds.definition import definition_for
from vacate.install.objectkinds import path_of

pytestmark = [
    pytest.mark.kube,
    pytest.mark.xdist_group("labs"),
    pytest.mark.asyncio(loop_scope="module"),
]

NODE = "node-1"
BACKUP = "backup.example.com/backup"
GATES = "--feature-gates=LifecycleAPI=true"


class Place:
    """A cluster with one node, whose pods are gone as soon as they are deleted."""

    def __init__(self, arm: KubeArm, kubeconfig: Path) -> None:
        self.arm = arm
        self.kubeconfig = kubeconfig

    async def pod(self, name: str, *responders: str) -> None:
        listed = [{"name": one, "priority": 20_000} for one in responders]
        made = make.pod(name, node=NODE, terminationGracePeriodSeconds=0, evictionResponders=listed)
        (await self.arm.call("POST", PODS.collection_path("default"), body=made)).ok(201)

    async def vacate(self, *words: str) -> tuple[int, str, str]:
        where = ("--kubeconfig", str(self.kubeconfig))
        done = await asyncio.to_thread(vacate, *words, *where)
        return done.returncode, done.stdout, done.stderr

    async def is_there(self, name: str) -> bool:
        return not (await self.arm.call("GET", PODS.object_path(name, "default"))).failed

    async def statuses(self) -> list[Obj]:
        found = (await self.arm.call("GET", LIFECYCLE_EVICTIONS.collection_path("default"))).ok()
        return [one.get("status", {}) for one in found["items"]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    folder = tmp_path_factory.mktemp("plane")
    with running(Path(os.environ[ASSETS]), folder, controllers=False, lifecycle=True) as plane:
        arm = KubeArm(plane.kubeconfig)
        try:
            (await arm.call("POST", NODES.collection_path(), body={"metadata": {"name": NODE}})).ok(201)
            yield Place(arm, plane.kubeconfig)
        finally:
            await arm.aclose()


async def test_without_vacate_evictions_are_requested_by_what_is_served(place: Place) -> None:
    await place.pod("alone", BACKUP)
    code, out, err = await place.vacate("status", "-A")
    assert (code, out) == (0, "")
    assert "No eviction requests" in err
    assert "gate" not in err
    code, out, err = await place.vacate("explain", "alone")
    assert (code, BACKUP in out) == (0, True), err
    code, out, err = await place.vacate("evict", "alone")
    assert (code, err) == (0, "")
    assert out.startswith("pod/alone eviction requested")
    (request,) = (await place.arm.call("GET", LIFECYCLE_REQUESTS.collection_path("default"))).ok()["items"]
    assert request["spec"]["intent"] == "Eviction"
    code, out, err = await place.vacate("evict", "alone", "--api", "evacuation")
    assert (code, "evacuation" in err) == (1, True)
    (await place.arm.call("DELETE", PODS.object_path("alone", "default"))).ok()


async def test_with_vacate_a_drain_evicts_pods_and_waits_for_those_with_responders(place: Place) -> None:
    for one in DECLARATIONS:
        definition = definition_for(one.kind)
        (await place.arm.call("POST", path_of(definition, collection=True), body=definition)).ok(201)

        async def is_served(
            path: str = one.kind.collection_path("default" if one.kind.namespaced else ""),
        ) -> bool:
            return not (await place.arm.call("GET", path)).failed

        await until(is_served)
    manager = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "vacate", "manager", "--kubeconfig", str(place.kubeconfig), GATES,
        "--metrics-port", "0", env=environment(),
    )  # fmt: skip
    try:
        await place.pod("prepared", BACKUP)
        await place.pod("plain")
        code, out, err = await place.vacate(
            "drain", NODE, "--api", "lifecycle", "--force", "--pod-selector", "app!=none", "--timeout", "60s"
        )
        assert (code, await place.is_there("plain")) == (4, False), (out, err)
        assert await place.is_there("prepared")  # its responder has not answered
        assert any(BACKUP in str(one) for one in await place.statuses())
        code, out, err = await place.vacate("drain", NODE, "--cancel")
        assert code == 0, err

        async def is_withdrawn() -> bool:
            return any("CanceledDueToNoRequesters" in str(one) for one in await place.statuses())

        await until(is_withdrawn)
        assert await place.is_there("prepared")
    finally:
        manager.terminate()
        await manager.wait()
