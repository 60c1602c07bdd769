"""The fencing controller on a real API server: a program as agent, its credentials from a Secret.

It has the account of an installation, with its role and under the policies that confine it. There are no
kubelets here: the test plays them. It renews the Leases of the nodes that live, and one is lost.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import datetime as dt
import os
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from support.arms.kube import KUBECONFIG, KubeArm
from support.realcluster.definitions import installed, until
from vacate.api.identity import service_account_user
from vacate.api.installednames import MANAGER
from vacate.api.kinds import (
    FENCINGPOLICIES,
    LEASES,
    NODES,
    ROLEBINDINGS,
    ROLES,
    SECRETS,
    SERVICEACCOUNTS,
    SUBJECTACCESSREVIEWS,
)
from vacate.api.objects import Obj
from vacate.api.times import format_micro_time, format_time
from vacate.client.client import Client
from vacate.client.http import HttpTransport
from vacate.client.kubeconfig import load_cluster
from vacate.clock import SystemClock
from vacate.controllers.fencing import controller, fencer, stepresults
from vacate.controllers.projections import PROJECTIONS
from vacate.crds.definition import definition_for
from vacate.entropy import system_entropy
from vacate.errors import ApiError, NotFound
from vacate.install.manifests.confinement import confinement
from vacate.install.manifests.roles import roles
from vacate.install.settings import Settings
from vacate.metrics import Metrics
from vacate.wiring.components import ComponentContext, component_manager
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
LOST, SECOND = "fence-lost", "fence-lost-too"
ADDRESS = "10.255.0.7"


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    config = load_cluster([Path(os.environ[KUBECONFIG])])
    transport = HttpTransport(config, SystemClock())
    try:
        yield Client(transport)
    finally:
        await transport.aclose()


@pytest.fixture
async def manager(client: Client) -> AsyncIterator[Client]:
    """With the token of the manager's account, once its rights and the policies about it are in force."""
    path, settings = Path(os.environ[KUBECONFIG]), Settings(namespace="default")
    made = [*roles(settings), *_may_read_secrets(), *confinement(settings)]
    async with contextlib.AsyncExitStack() as stack:
        arm = KubeArm(path)
        stack.push_async_callback(arm.aclose)
        await stack.enter_async_context(installed(arm, definition_for(FENCINGPOLICIES), made))
        body = {"spec": {"expirationSeconds": 3600}}
        issued = await arm.call("POST", SERVICEACCOUNTS.object_path(MANAGER, "default", "token"), body=body)
        token = issued.ok(201)["status"]["token"]
        config = replace(load_cluster([path]), client_certificate=b"", client_key=b"", token=token)
        transport = HttpTransport(config, SystemClock())
        stack.push_async_callback(transport.aclose)
        manager = Client(transport)
        await until(lambda: _may(client, "patch", "nodes"))
        await until(lambda: _may(client, "get", "secrets", namespace="default", name=f"bmc-{LOST}"))
        with contextlib.suppress(NotFound):
            await client.delete(NODES, "fence-probe")
        await client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "fence-probe"}})
        try:
            await until(lambda: _is_confined(manager))
            yield manager
        finally:
            await client.delete(NODES, "fence-probe")


def _may_read_secrets() -> list[Obj]:
    """What the reference tells administrators to create."""
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    rule["resourceNames"] = [f"bmc-{name}" for name in (LOST, SECOND)]
    meta = {"name": "fencing-secrets", "namespace": "default"}
    bound = {
        "roleRef": {"apiGroup": ROLES.group, "kind": ROLES.kind, "name": "fencing-secrets"},
        "subjects": [{"kind": "ServiceAccount", "name": MANAGER, "namespace": "default"}],
    }
    return [
        {"apiVersion": ROLES.api_version, "kind": ROLES.kind, "metadata": meta, "rules": [rule]},
        {"apiVersion": ROLEBINDINGS.api_version, "kind": ROLEBINDINGS.kind, "metadata": meta, **bound},
    ]


async def _may(client: Client, verb: str, resource: str, **more: str) -> bool:
    attributes = {"group": "", "verb": verb, "resource": resource, **more}
    spec = {"user": service_account_user("default", MANAGER), "resourceAttributes": attributes}
    kind = SUBJECTACCESSREVIEWS
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec}
    return bool((await client.create(kind, body))["status"]["allowed"])


async def _is_confined(manager: Client) -> bool:
    """Whether a mark of people, which its role would let it write, is refused; another one each time."""
    try:
        mark = {"metadata": {"annotations": {"vacate.dev/fence-requested": system_entropy().uid()}}}
        await manager.patch(NODES, "fence-probe", mark)
    except ApiError as error:
        return "ValidatingAdmissionPolicy" in str(error)
    return False


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
    condition = {"type": "Ready", "status": ready, "reason": "Played", "message": "by a test"}
    moment = {"lastHeartbeatTime": format_time(since), "lastTransitionTime": format_time(since)}
    status = {"conditions": [{**condition, **moment}]}
    await client.patch(NODES, name, {"status": status}, subresource="status")
    await lease(client, name)


async def secret(client: Client, password: str, name: str = LOST) -> None:
    with contextlib.suppress(NotFound):
        await client.delete(SECRETS, f"bmc-{name}", "default")
    data = {"passwd": password, "ip": ADDRESS}
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    meta = {"name": f"bmc-{name}", "namespace": "default"}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": encoded}
    await client.create(SECRETS, body, "default")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The nodes here report every second, and not every ten."""
    monkeypatch.setattr(controller, "OBSERVE_LEASES_FOR", 4.0)
    monkeypatch.setattr(controller, "RECHECK_AFTER", 5.0)
    monkeypatch.setattr(fencer, "CONFIRM_WITHIN", 8.0)
    monkeypatch.setattr(stepresults, "FIRST_RETRY", 3.0)


@contextlib.asynccontextmanager
async def living(
    client: Client,
    manager: Client,
    controllers: int = 1,
    reporting: Callable[[], Sequence[str]] = lambda: ALIVE,
) -> AsyncIterator[None]:
    """The nodes that report renew their Leases; so many controllers run."""

    async def renew() -> None:
        while True:
            for one in reporting():
                await lease(client, one)
            await asyncio.sleep(1)

    around = ComponentContext(SystemClock(), system_entropy(), Metrics())
    row = next(one for one in CONTROLLERS if one.component == "fencing-controller")
    managers = [
        component_manager(manager._transport, "vacate-manager", [row], around, PROJECTIONS)
        for _ in range(controllers)
    ]
    tasks = [asyncio.create_task(one) for one in (renew(), *(manager.run() for manager in managers))]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def cluster(client: Client, password: str, *lost: str, **more: object) -> AsyncIterator[None]:
    """Nodes that live, nodes that are lost and that a person wants to be fenced, and a policy."""
    long_ago = SystemClock().now() - dt.timedelta(hours=1)
    try:
        for name in ALIVE:
            await node(client, name, "True", long_ago)
        for name in lost:
            await node(client, name, "Unknown", long_ago)
            asked = {"metadata": {"annotations": {"vacate.dev/fence-requested": "a test"}}}
            await client.patch(NODES, name, asked)
            await secret(client, password, name)
        ref = {"namespace": "default", "name": "bmc-$(NODE)"}
        agent = {"command": {"program": "fence_reallab", "secretRef": ref}}
        spec = {"when": "Always", "agent": agent, "minHealthy": 2, **more}
        kind = {"apiVersion": FENCINGPOLICIES.api_version, "kind": FENCINGPOLICIES.kind}
        await client.create(FENCINGPOLICIES, {**kind, "metadata": {"name": "rack"}, "spec": spec})
        yield
    finally:
        for name in (*ALIVE, *lost):
            with contextlib.suppress(NotFound):
                await client.delete(NODES, name)


async def phase(client: Client) -> tuple[str, str]:
    found = await client.get(FENCINGPOLICIES, "rack")
    rows: list[Obj] = (found.get("status") or {}).get("nodes") or []
    row = next((one for one in rows if one["name"] == LOST), {})
    return str(row.get("phase", "")), str(row.get("message", ""))


async def until_phase(client: Client, wanted: str) -> str:
    """The message of the lost node's row, when it has come so far."""

    async def reached() -> bool:
        return (await phase(client))[0] == wanted

    await until(reached)
    return (await phase(client))[1]


async def test_a_lost_node_is_fenced_only_with_the_right_credentials(
    client: Client, manager: Client, machine: Path
) -> None:
    async with cluster(client, "wrong-s3cret", LOST), living(client, manager):
        message = await until_phase(client, "Failed")
        assert "login with *** failed" in message
        assert "Nothing was released" in message
        assert not await tainted(client)
        await secret(client, "right")
        await until_phase(client, "Fenced")
        assert await tainted(client)
        assert (machine / "power").read_text() == "off\n"
        assert f"off {ADDRESS} \n" in (machine / "calls").read_text()  # nothing on the command line


async def test_an_agent_that_switches_off_another_machine_releases_nothing(
    client: Client, manager: Client, machine: Path
) -> None:
    def reporting() -> Sequence[str]:
        return ALIVE if is_on(machine) else ALIVE[:1]

    async with cluster(client, "right", LOST, minHealthy=1), living(client, manager, reporting=reporting):
        message = await until_phase(client, "Failed")
        assert f"{ALIVE[1]} fell silent at the same time" in message
        assert not await tainted(client)


async def test_a_node_that_reports_while_it_is_fenced_is_not_released(
    client: Client, manager: Client, machine: Path
) -> None:
    def reporting() -> Sequence[str]:
        return ALIVE if is_on(machine) else (*ALIVE, LOST)

    async with cluster(client, "right", LOST), living(client, manager, reporting=reporting):
        message = await until_phase(client, "Failed")
        assert "has reported while it was fenced" in message
        assert not await tainted(client)


async def test_two_controllers_fence_one_of_two_nodes(client: Client, manager: Client, machine: Path) -> None:
    async with cluster(client, "right", LOST, SECOND, minHealthy=2), living(client, manager, controllers=2):

        async def one_is_fenced() -> bool:
            return await tainted(client) or await tainted(client, SECOND)

        async def the_other_is_held() -> bool:
            rows = (await client.get(FENCINGPOLICIES, "rack"))["status"]["nodes"]
            return any("at most 1 may be" in row.get("message", "") for row in rows)

        await until(one_is_fenced)
        await until(the_other_is_held)
        assert not (await tainted(client) and await tainted(client, SECOND))
        # A call whose record was lost to the other controller's write is repeated, for the same node.
        switched = {line for line in (machine / "calls").read_text().splitlines() if line.startswith("off")}
        assert len(switched) == 1


def is_on(machine: Path) -> bool:
    return (machine / "power").read_text() == "on\n"


async def tainted(client: Client, name: str = LOST) -> bool:
    found = await client.get(NODES, name)
    return any("out-of-service" in one["key"] for one in found["spec"].get("taints") or [])
