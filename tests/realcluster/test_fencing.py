"""The fencing controller on a real API server: a program as agent, its credentials from a Secret.

There are no kubelets here: the test plays them. It renews the Leases of the nodes that live, and one is lost.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import datetime as dt
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.arms.kube import KUBECONFIG
from support.realcluster.definitions import serving, until
from vacate.api.kinds import FENCINGPOLICIES, LEASES, NODES
from vacate.api.objects import Obj
from vacate.api.times import format_micro_time, format_time
from vacate.client.client import Client
from vacate.client.http import HttpTransport
from vacate.client.kubeconfig import load_cluster
from vacate.clock import SystemClock
from vacate.controllers.projections import PROJECTIONS
from vacate.entropy import system_entropy
from vacate.errors import NotFound
from vacate.fenceagents.configured import SECRETS
from vacate.metrics import Metrics
from vacate.wiring.components import Environment, component_manager
from vacate.wiring.controllers import CONTROLLERS

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("labs")]

AGENT = """#!/bin/sh
dir=$(dirname "$0")
while IFS= read -r line; do
  case $line in
    action=*) action=${line#action=};; passwd=*) passwd=${line#passwd=};; ip=*) ip=${line#ip=};;
  esac
done
echo "$action $ip $*" >> "$dir/calls"
[ "$passwd" = right ] || { echo "login with $passwd failed"; exit 1; }
case $action in
  off) echo off > "$dir/power";;
  on) echo on > "$dir/power";;
  status) [ "$(cat "$dir/power")" = on ] || exit 2;;
esac
"""
ALIVE = ("fence-alive-1", "fence-alive-2")
LOST = "fence-lost"


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    config = load_cluster([Path(os.environ[KUBECONFIG])])
    transport = HttpTransport(config, SystemClock())
    try:
        yield Client(transport)
    finally:
        await transport.aclose()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "power").write_text("on\n")
    (tmp_path / "fence_reallab").write_text(AGENT)
    (tmp_path / "fence_reallab").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


async def lease(client: Client, name: str) -> None:
    now = format_micro_time(SystemClock().now())
    spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now}
    try:
        await client.patch(LEASES, name, {"spec": spec}, "kube-node-lease")
    except NotFound:
        meta = {"name": name, "namespace": "kube-node-lease"}
        body = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": meta, "spec": spec}
        await client.create(LEASES, body, "kube-node-lease")


async def node(client: Client, name: str, ready: str, since: dt.datetime) -> None:
    with contextlib.suppress(NotFound):
        await client.delete(NODES, name)
    await client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    told = {"type": "Ready", "status": ready, "reason": "Played", "message": "by a test"}
    moment = {"lastHeartbeatTime": format_time(since), "lastTransitionTime": format_time(since)}
    await client.patch(NODES, name, {"status": {"conditions": [{**told, **moment}]}}, subresource="status")
    await lease(client, name)


async def secret(client: Client, password: str) -> None:
    with contextlib.suppress(NotFound):
        await client.delete(SECRETS, f"bmc-{LOST}", "default")
    data = {"passwd": password, "ip": "10.0.0.7"}
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    meta = {"name": f"bmc-{LOST}", "namespace": "default"}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": encoded}
    await client.create(SECRETS, body, "default")


@contextlib.asynccontextmanager
async def living(client: Client, name: str) -> AsyncIterator[None]:
    """The nodes that live renew their Leases; the controller runs."""

    async def renew() -> None:
        while True:
            for one in ALIVE:
                await lease(client, one)
            await asyncio.sleep(2)

    around = Environment(SystemClock(), system_entropy(), Metrics())
    row = next(one for one in CONTROLLERS if one.component == name)
    manager = component_manager(client._transport, "vacate-manager", [row], around, PROJECTIONS)
    tasks = [asyncio.create_task(renew()), asyncio.create_task(manager.run())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def phase(client: Client) -> tuple[str, str]:
    found = await client.get(FENCINGPOLICIES, "rack")
    rows: list[Obj] = (found.get("status") or {}).get("nodes") or []
    row = next((one for one in rows if one["name"] == LOST), {})
    return str(row.get("phase", "")), str(row.get("message", ""))


async def test_a_lost_node_is_fenced_only_with_the_right_credentials(client: Client, machine: Path) -> None:
    long_ago = SystemClock().now() - dt.timedelta(hours=1)
    async with serving(FENCINGPOLICIES):
        try:
            for name in ALIVE:
                await node(client, name, "True", long_ago)
            await node(client, LOST, "Unknown", long_ago)
            await secret(client, "wrong-s3cret")
            ref = {"namespace": "default", "name": "bmc-$(NODE)"}
            agent = {"command": {"program": "fence_reallab", "secretRef": ref}}
            spec = {"when": "Always", "agent": agent, "minHealthy": 2}
            meta = {"name": "rack"}
            kind = {"apiVersion": FENCINGPOLICIES.api_version, "kind": FENCINGPOLICIES.kind}
            await client.create(FENCINGPOLICIES, {**kind, "metadata": meta, "spec": spec})
            asked = {"metadata": {"annotations": {"vacate.dev/fence-requested": "a test"}}}
            await client.patch(NODES, LOST, asked)
            async with living(client, "fencing-controller"):

                async def failed() -> bool:
                    return (await phase(client))[0] == "Failed"

                async def fenced() -> bool:
                    return (await phase(client))[0] == "Fenced"

                await until(failed, 120)
                message = (await phase(client))[1]
                assert "login with *** failed" in message
                assert "Nothing was released" in message
                assert not await tainted(client)
                await secret(client, "right")
                await until(fenced, 240)
            assert await tainted(client)
            assert (machine / "power").read_text() == "off\n"
            assert "off 10.0.0.7 \n" in (machine / "calls").read_text()  # nothing on the command line
        finally:
            for name in (*ALIVE, LOST):
                with contextlib.suppress(NotFound):
                    await client.delete(NODES, name)


async def tainted(client: Client) -> bool:
    found = await client.get(NODES, LOST)
    return any("out-of-service" in one["key"] for one in found["spec"].get("taints") or [])
