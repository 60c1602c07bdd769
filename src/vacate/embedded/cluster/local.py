"""A whole cluster in one process and one folder: what `vacate up` runs."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import errno
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from multidict import CIMultiDict

from vacate.admission.pods.forcedeletion import Guard
from vacate.api.identity import MASTERS, StatusAuthority
from vacate.client.config import ClusterConfig
from vacate.client.http import HttpTransport
from vacate.client.http import Limits as ClientLimits
from vacate.client.kubeconfigwriter import KubeconfigEntry, write_kubeconfig
from vacate.clock import PassiveClock, SystemClock
from vacate.embedded.apiserver.auth.authentication import read_token_file
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.embedded.apiserver.server import ApiServer
from vacate.embedded.bootstrap.identities import ADMIN, node
from vacate.embedded.cluster import PROCESS, SIMULATED
from vacate.embedded.cluster.apiserver import ServerParts, open_server
from vacate.embedded.cluster.certificates import Pki
from vacate.embedded.cluster.controlplane import HOOKS, ControlPlane
from vacate.embedded.cluster.directory import Folder, FolderLock
from vacate.embedded.nodes.nodeobjects import shapes
from vacate.embedded.nodes.settings import NodeSettings
from vacate.embedded.store.compaction import Compactor, Retention
from vacate.embedded.store.sqlite import SqliteLog
from vacate.entropy import system_entropy
from vacate.errors import ConfigError
from vacate.eviction.callers import DEFAULT_WAIT
from vacate.features import FeatureGates
from vacate.httpclient.addresses import Network
from vacate.httpserver.connection import Limits
from vacate.httpserver.listener import HttpListener
from vacate.interceptors.hooks.allowlistfile import AllowListFile
from vacate.interceptors.hooks.names import HOOKS_INTERCEPTOR
from vacate.metrics import Metrics
from vacate.nodeagent.agent import NodeAgent
from vacate.nodeagent.settings import AgentSettings
from vacate.nodeagent.volumes.storage import log_files
from vacate.pki.issue import KeyPair
from vacate.pki.tls import server_ssl_context
from vacate.wire.message import Query, Request, Response, Stream
from vacate.wiring.components import ComponentContext, ControllerDescriptor
from vacate.wiring.controllers import enabled
from vacate.wiring.hooks import hook_controllers
from vacate.wiring.nodeagent import build_agent, container_environment

HOST = "127.0.0.1"
FENCING_JOB_NAMESPACE = "kube-system"
"""Where PodTemplates of FencingPolicies are, and their Jobs: only administrators may write there."""
HOLDER = "vacate-up"
"""Who holds the Lease of the manager where Vacate's controllers run in here. Always the same: a cluster
that was killed has it again at once."""
STORAGE_QUOTA = 512 * 1024 * 1024
LISTENER_LIMITS = Limits(connections=2_000, requests=1_000, all_body_bytes=128 * 1024 * 1024)
"""Far above what one machine's clients need; without limits strangers could fill the memory."""


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """What a person may choose."""

    folder: Path
    port: int = 6443  # 0 takes any free one
    nodes: int = 3
    gates: FeatureGates = field(default_factory=FeatureGates)
    behaviour: NodeSettings = field(default_factory=NodeSettings)
    controllers: bool = True  # without them only the API server runs
    evictions: bool = True  # without them a manager beside the cluster attends to eviction requests
    allowed_interceptors: tuple[str, ...] = ()  # below k8s.io, beside those of Kubernetes itself
    guard_force_deletion: bool = True  # in namespaces that have no label about it
    runtime: str = SIMULATED  # or PROCESS: pods are processes of this machine
    throw_away: bool = False  # processes of its pods end with it, also if it is killed
    # Accounts that interceptors are bound to, by the interceptors' names.
    interceptor_accounts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bridge_wait: dt.timedelta = DEFAULT_WAIT  # of the eviction bridge, for callers that stop asking
    storage_quota: int = STORAGE_QUOTA  # bytes of objects that the store takes
    fencing_addresses: tuple[Network, ...] = ()  # see Dependencies
    hooks: Path | None = None  # the allow-list of the hooks interceptor, which runs inside where there is one

    @property
    def authority(self) -> StatusAuthority:
        """Who writes the status of requests. A manager beside the cluster uses our kubeconfig."""
        beside = () if self.evictions else (ADMIN.name,)
        accounts = dict(self.interceptor_accounts)
        if self.hooks is not None:  # nobody else reports that a hook is done, unless the user says so
            accounts[HOOKS_INTERCEPTOR] = (HOOKS.name, *accounts.get(HOOKS_INTERCEPTOR, ()))
        return StatusAuthority((*StatusAuthority().controllers, *beside), accounts)


class LocalCluster:
    """Started once, stopped once. Whatever `start` had begun when it failed is undone."""

    def __init__(self, settings: LocalSettings) -> None:
        self.settings = settings
        self.folder = Folder(settings.folder)
        self.port = 0
        self._clock = SystemClock()
        self._metrics = Metrics(per_request=True)  # its readers have a name and a right
        self._undo = contextlib.AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []
        self._plane: ControlPlane | None = None
        self._agents: list[NodeAgent] = []

    @property
    def address(self) -> str:
        """Where the API server listens."""
        return f"https://{HOST}:{self.port}"

    @property
    def evictions(self) -> bool:
        """Whether Vacate's controllers run in here."""
        return self.settings.evictions and bool(enabled(self.settings.gates))

    async def start(self) -> None:
        """Bring everything up; return when the API is served. ConfigError names what is in the way."""
        try:
            await self._start()
        except BaseException:
            await self._undo.aclose()
            raise

    async def wait_ready(self) -> None:
        """Return when controllers and nodes run."""
        if self._plane is not None:
            await self._plane.wait_ready()
        for agent in self._agents:
            await agent.wait_ready()

    async def run(self) -> None:
        """Run until cancelled; raise when a part fails."""
        forever: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done, _ = await asyncio.wait([forever, *self._tasks], return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()

    async def stop(self) -> None:
        """Stop the parts, then the listener, then the store: nothing that was acknowledged is lost."""
        await self._undo.aclose()

    async def _start(self) -> None:
        hooks = self._hooks()  # first: a list that is refused leaves no folder behind
        lock = FolderLock(self.folder)
        lock.acquire()
        self._undo.callback(lock.release)
        server = await self._open_server()
        await self._listen(server)
        self._run_parts(server, hooks)

    async def _open_server(self) -> ApiServer:
        tokens = read_token_file(self.folder.tokens) if self.folder.tokens.exists() else {}
        parts = ServerParts(
            SqliteLog(self.folder.database),
            self._clock,
            system_entropy(),
            self._metrics,
            self.settings.gates,
            tokens,
            self.settings.allowed_interceptors,
            self.settings.authority,
            Guard(unlabelled=self.settings.guard_force_deletion),
            self.settings.bridge_wait,
            self.settings.storage_quota,
            Pki(self.folder.pki, self._clock).token_key(),
        )
        server = await open_server(parts)
        store = server.storage.store
        self._undo.push_async_callback(store.aclose)
        self._in_background(Compactor(store, self._clock, Retention()).run())
        return server

    async def _listen(self, server: ApiServer) -> None:
        pki = Pki(self.folder.pki, self._clock)
        pki.server()
        context = server_ssl_context(pki.file("server"), pki.authority.certificate_pem)
        listener = HttpListener(server.handle, context, LISTENER_LIMITS)
        self._undo.push_async_callback(listener.stop)
        try:
            await listener.start(HOST, self.settings.port)
        except OSError as error:
            raise _cannot_listen(self.settings.port, error) from error
        self.port = listener.port
        admin = pki.client("admin", ADMIN.name, ADMIN.groups)
        entry = KubeconfigEntry(
            self.address, pki.authority.certificate_pem, admin.certificate_pem, admin.key_pem
        )
        write_kubeconfig(self.folder.kubeconfig, entry)
        asks = pki.client("kubelet-client", "kube-apiserver-kubelet-client", (MASTERS,))
        server.storage.node_logs = NodeLogs(asks, self._clock)

    def _run_parts(self, server: ApiServer, hooks: Sequence[ControllerDescriptor]) -> None:
        if not self.settings.controllers:
            return
        around = ComponentContext(
            self._clock,
            system_entropy(),
            self._metrics,
            self.settings.gates,
            fencing_job_namespace=FENCING_JOB_NAMESPACE,
            fencing_addresses=self.settings.fencing_addresses,
        )
        self._plane = ControlPlane(
            lambda peer: InProcessTransport(server, peer),
            around,
            shapes(self.settings.nodes if self.settings.runtime == SIMULATED else 0),
            self.settings.behaviour,
            evictions=self.evictions,
            hooks=hooks,
            shown_by=HOLDER,
        )
        server.health.add_ready("controllers", self._plane.not_ready)
        self._in_background(self._plane.run())
        if self.settings.runtime == PROCESS:
            self._run_agents(server, around)

    def _hooks(self) -> Sequence[ControllerDescriptor]:
        if self.settings.hooks is None:
            return ()
        allowed = AllowListFile(self.settings.hooks, "--hooks")
        return hook_controllers(allowed.current, self.settings.gates)

    def _run_agents(self, server: ApiServer, around: ComponentContext) -> None:
        """Nodes whose pods are processes; these end with the cluster, as on a machine that goes down."""
        nodes = self.folder.root.absolute() / "nodes"
        server.storage.logs = lambda name, uid, container: log_files(nodes / name, uid, container)
        for shape in shapes(self.settings.nodes):
            settings = AgentSettings(
                shape.name,
                nodes / shape.name,
                HOST,
                loopback_pods=True,
                taint=False,
                stop_pods=True,
                throw_away=self.settings.throw_away,
                take_over=True,
                labels={"topology.kubernetes.io/zone": shape.zone},
                base_env=container_environment(self.address),
            )
            agent = build_agent(InProcessTransport(server, node(shape.name)), settings, around)
            self._agents.append(agent)
            self._in_background(agent.run())

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.append(task)
        self._undo.push_async_callback(_ended, task)


async def _ended(task: asyncio.Task[None]) -> None:
    """Cancel the task and wait until it is gone; its failure, if any, was raised by `run`."""
    task.cancel()
    await asyncio.wait([task])


def _cannot_listen(port: int, error: OSError) -> ConfigError:
    if error.errno == errno.EADDRINUSE:
        return ConfigError(
            f"--port: {port} is taken by another program; choose another, or 0 for any free one"
        )
    return ConfigError(f"--port: cannot listen on {HOST}:{port}: {error.strerror}")


_MAX_SILENT_SECONDS = 365 * 86_400.0  # a container may print nothing for as long as it likes


class NodeLogs:
    """Asks nodes, with the API server's certificate as a client."""

    def __init__(self, identity: KeyPair, clock: PassiveClock) -> None:
        self._identity, self._clock = identity, clock

    async def __call__(self, host: str, port: int, path: str, query: Query) -> Response:
        """What the node answers; TransportError where it does not."""
        name = f"[{host}]" if ":" in host else host
        config = ClusterConfig(
            f"https://{name}:{port}",
            insecure=True,
            client_certificate=self._identity.certificate_pem,
            client_key=self._identity.key_pem,
        )
        transport = HttpTransport(config, self._clock, ClientLimits(silence_seconds=_MAX_SILENT_SECONDS))
        try:
            answer = await transport.send(Request("GET", path, query, CIMultiDict(), b""))
        except BaseException:
            await transport.aclose()
            raise
        if isinstance(answer.body, bytes):
            await transport.aclose()
            return Response(answer.status, answer.body, answer.content_type)
        return Response(answer.status, _Passed(answer.body, transport), answer.content_type)


class _Passed:
    """A stream from a node; its connection is closed with it."""

    def __init__(self, stream: Stream, transport: HttpTransport) -> None:
        self._stream, self._transport = stream, transport

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            yield chunk

    async def aclose(self) -> None:
        """Close both."""
        await self._stream.aclose()
        await self._transport.aclose()
