"""The API server is cut off from etcd for longer than a node may be silent: nobody is fenced.

All parts are real but the kubelets, which the test plays: they report to the API as long as it answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import os
from pathlib import Path

import pytest
from hack.kubelab.control_plane import ControlPlane
from hack.kubelab.control_plane import running as real_cluster
from hack.kubelab.obtain import ASSETS

from support.arms.kube import KubeArm
from support.realcluster.definitions import installed, until
from vacate.api.kinds import FENCINGPOLICIES, LEASES, NODES, PODS
from vacate.api.times import format_micro_time, format_time
from vacate.api.types import Node
from vacate.client.client import Client
from vacate.client.http import HttpTransport
from vacate.client.kubeconfig import load_cluster
from vacate.clock import SystemClock
from vacate.controllers.projections import PROJECTIONS
from vacate.crds.definition import definition_for
from vacate.entropy import system_entropy
from vacate.errors import AlreadyExists, VacateError
from vacate.kube.nodes import readiness
from vacate.metrics import Metrics
from vacate.testing import pod
from vacate.wiring.components import ComponentContext, component_manager
from vacate.wiring.controllers import CONTROLLERS

pytestmark = [
    pytest.mark.kube,
    pytest.mark.thorough,
    pytest.mark.xdist_group("process-node"),
    pytest.mark.timeout(300),
]

NAMES = ("one", "two", "three")
SILENT_SECONDS = 60.0  # kube-controller-manager waits for 50
AGENT = """#!/bin/sh
cat >> "$(dirname "$0")/calls"
"""


async def report(client: Client, name: str) -> None:
    """What a kubelet does every ten seconds."""
    now = SystemClock().now()
    lease = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": format_micro_time(now)}
    await client.patch(LEASES, name, {"spec": lease}, "kube-node-lease")
    ready = {"type": "Ready", "status": "True", "reason": "Played", "message": "by a test"}
    ready |= {"lastHeartbeatTime": format_time(now), "lastTransitionTime": format_time(now)}
    await client.patch(NODES, name, {"status": {"conditions": [ready]}}, subresource="status")


async def join(client: Client, name: str) -> None:
    await client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    meta = {"name": name, "namespace": "kube-node-lease"}
    with contextlib.suppress(AlreadyExists):
        await client.create(
            LEASES,
            {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": meta},
            "kube-node-lease",
        )
    await report(client, name)
    placed = pod(f"on-{name}", spec={"nodeName": name, "tolerations": [{"operator": "Exists"}]})
    await client.create(PODS, placed, "default")


async def kubelets(client: Client) -> None:
    while True:
        for name in NAMES:
            with contextlib.suppress(VacateError, TimeoutError):
                async with asyncio.timeout(3):
                    await report(client, name)
        await asyncio.sleep(2)


async def test_nobody_is_fenced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fence_reallab").write_text(AGENT)
    (tmp_path / "fence_reallab").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with real_cluster(Path(os.environ[ASSETS]), tmp_path / "plane") as plane:
        transport = HttpTransport(load_cluster([plane.kubeconfig]), SystemClock())
        client, arm = Client(transport), KubeArm(plane.kubeconfig)
        try:
            async with installed(arm, definition_for(FENCINGPOLICIES)):
                for name in NAMES:
                    await join(client, name)
                spec = {
                    "when": "Always", "unreachableSeconds": 10, "minHealthy": 1, "maxFenced": 3,
                    "agent": {"command": {"program": "fence_reallab"}},
                }  # fmt: skip
                kind = {"apiVersion": FENCINGPOLICIES.api_version, "kind": FENCINGPOLICIES.kind}
                await client.create(FENCINGPOLICIES, {**kind, "metadata": {"name": "rack"}, "spec": spec})
                row = next(one for one in CONTROLLERS if one.component == "fencing-controller")
                around = ComponentContext(SystemClock(), system_entropy(), Metrics())
                manager = component_manager(transport, "vacate-manager", [row], around, PROJECTIONS)
                tasks = [asyncio.create_task(one) for one in (kubelets(client), manager.run())]
                try:
                    await _cut_off(client, plane)
                finally:
                    for task in tasks:
                        task.cancel()
                    await asyncio.gather(*tasks, return_exceptions=True)
                assert not (tmp_path / "calls").exists()
        finally:
            await arm.aclose()
            await transport.aclose()


async def _cut_off(client: Client, plane: ControlPlane) -> None:
    async def looked_at() -> bool:
        found = (await client.get(FENCINGPOLICIES, "rack")).get("status") or {}
        return bool(found.get("observedGeneration") == 1)

    await until(looked_at)
    before = SystemClock().now()
    plane.freeze_store()
    try:
        await asyncio.sleep(SILENT_SECONDS)
    finally:
        plane.thaw_store()

    async def all_is_well() -> bool:
        """The controller works again, after a wait as long as a fence would have taken."""
        nodes = (await client.list(NODES, into=Node)).items
        found = (await client.get(FENCINGPOLICIES, "rack"))["status"]
        waited = SystemClock().now() - before > dt.timedelta(seconds=SILENT_SECONDS + 20)
        return waited and found["observedGeneration"] == 2 and all(readiness(one) == "True" for one in nodes)

    change = {"spec": {"unreachableSeconds": 11}}

    async def changed() -> bool:
        with contextlib.suppress(VacateError):
            await client.patch(FENCINGPOLICIES, "rack", change)
            return True
        return False

    await until(changed)
    await until(all_is_well)
