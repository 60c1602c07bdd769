"""Servers for the arms: started once for a test session, on free ports, without controllers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hack.kubelab.control_plane import running
from hack.kubelab.obtain import ASSETS

from support.arms.arm import Arm
from support.arms.kube import ALONE, KUBECONFIG, REAL, KubeArm
from support.arms.kubectl import KubectlArm
from support.arms.transport import Compact, TransportArm
from support.kubectl import kubectl_or_reason
from vacate.client.config import ClusterConfig
from vacate.client.http import HttpTransport
from vacate.client.kubeconfigwriter import KubeconfigEntry, write_kubeconfig
from vacate.clock import SystemClock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.embedded.apiserver.server import ApiServer
from vacate.embedded.bootstrap.identities import ADMIN
from vacate.embedded.cluster.apiserver import ServerParts, open_server
from vacate.embedded.cluster.certificates import Pki
from vacate.embedded.store.log import Log
from vacate.embedded.store.memory import MemoryLog
from vacate.embedded.store.sqlite import SqliteLog
from vacate.embedded.store.store import Store
from vacate.entropy import system_entropy
from vacate.features import parse_feature_gates
from vacate.httpserver.listener import HttpListener
from vacate.pki.tls import server_ssl_context

HOST = "127.0.0.1"
GATES = parse_feature_gates("EvacuationAPI=true,LifecycleAPI=true")
"""Every kind is served, also those that are off by default."""
EMBEDDED = ("memory", "sqlite", "https-memory", "https-sqlite", "kubectl")
USUAL = ("memory",)
"""In process without a disk. Tests that start clusters have HTTPS and disks, and thorough runs every arm."""
ALL_ARMS = "VACATE_ARMS"
"""Set to `all`, every arm runs, as in `.ci/run`."""


def arm_names() -> tuple[str, ...]:
    """Every arm of this run."""
    embedded = EMBEDDED if os.environ.get(ALL_ARMS) == "all" else USUAL
    return (*embedded, REAL) if os.environ.get(KUBECONFIG) else embedded


def arms_left_out() -> tuple[str, ...]:
    """The arms of the embedded server that do not run this time."""
    return tuple(name for name in EMBEDDED if name not in arm_names())


def why_missing(name: str) -> str:
    """Why an arm cannot run here, or nothing."""
    return kubectl_or_reason()[1] if name == "kubectl" else ""


@asynccontextmanager
async def open_arm(name: str, folder: Path) -> AsyncIterator[Arm]:
    """An arm and, except for a real cluster, the server behind it."""
    if name == REAL:
        real = KubeArm(Path(os.environ[KUBECONFIG]))
        try:
            yield real
        finally:
            await real.aclose()
        return
    if name == ALONE:
        async with _alone(folder) as alone:
            yield alone
        return
    log: Log = MemoryLog() if name.endswith("memory") else SqliteLog(folder / "state.db")
    server = await open_server(ServerParts(log, SystemClock(), system_entropy(), gates=GATES))
    try:
        if name in ("memory", "sqlite"):
            yield _in_process(name, server)
            return
        async with _listening(server, folder) as entry:
            arm = _over_https(name, server, entry)
            yield _kubectl(arm, entry, folder) if name == "kubectl" else arm
            await arm.aclose()
    finally:
        await server.storage.store.aclose()


@asynccontextmanager
async def _alone(folder: Path) -> AsyncIterator[Arm]:
    with running(Path(os.environ[ASSETS]), folder, controllers=False) as plane:

        async def compact() -> None:
            plane.forget_history()

        real = KubeArm(plane.kubeconfig, compact)
        try:
            yield real
        finally:
            await real.aclose()


def _in_process(name: str, server: ApiServer) -> TransportArm:
    admin, anonymous = InProcessTransport(server, ADMIN), InProcessTransport(server)
    return TransportArm(name, admin, anonymous, _compact(server.storage.store))


@asynccontextmanager
async def _listening(server: ApiServer, folder: Path) -> AsyncIterator[KubeconfigEntry]:
    pki = Pki(folder / "pki", SystemClock())
    pki.server()
    edge = HttpListener(server.handle, server_ssl_context(pki.file("server"), pki.authority.certificate_pem))
    await edge.start(HOST, 0)
    admin = pki.client("admin", ADMIN.name, ADMIN.groups)
    address = f"https://{HOST}:{edge.port}"
    try:
        yield KubeconfigEntry(address, pki.authority.certificate_pem, admin.certificate_pem, admin.key_pem)
    finally:
        await edge.stop()


def _over_https(name: str, server: ApiServer, entry: KubeconfigEntry) -> TransportArm:
    config = ClusterConfig(
        entry.server,
        entry.certificate_authority,
        client_certificate=entry.client_certificate,
        client_key=entry.client_key,
    )
    return _https_arm(name, config, _compact(server.storage.store))


def _https_arm(name: str, config: ClusterConfig, compact: Compact | None) -> TransportArm:
    nobody = ClusterConfig(config.server, config.ca_data, config.insecure, config.tls_server_name)
    clock = SystemClock()
    return TransportArm(name, HttpTransport(config, clock), HttpTransport(nobody, clock), compact)


def _kubectl(arm: TransportArm, entry: KubeconfigEntry, folder: Path) -> KubectlArm:
    found, _ = kubectl_or_reason()
    assert found is not None
    write_kubeconfig(folder / "kubeconfig", entry)
    return KubectlArm(arm.name, found, folder, arm)


def _compact(store: Store) -> Compact:
    async def compact() -> None:
        await store.compact(store.revision)
        await asyncio.sleep(0)

    return compact
