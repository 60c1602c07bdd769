"""The main program of interceptors: connects, runs until a signal, and ends in good order."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vacate.api.options import ListOptions
from vacate.client.client import Client
from vacate.client.config import ClusterConfig
from vacate.client.serverclock import ServerClock
from vacate.clock import Clock, SystemClock
from vacate.entropy import Entropy, system_entropy
from vacate.errors import ConfigError, NotFound, VacateError
from vacate.eviction.dialects.registry import dialect_named
from vacate.metrics import Metrics
from vacate.runtime.dependencies import Dependencies, InformerFactory
from vacate.runtime.leaderelection import LeaderElector
from vacate.runtime.loop import loop_factory
from vacate.runtime.manager import Manager, Runnable
from vacate.runtime.recorder import EventRecorder
from vacate.sdk.connection import connected, find_cluster
from vacate.sdk.health import health_endpoint
from vacate.sdk.interceptors.controller import interceptor_controllers
from vacate.sdk.interceptors.interceptor import Interceptor

log = logging.getLogger(__name__)

ALL_NAMESPACES = "*"


def run_interceptors(
    *interceptors: Interceptor,
    kubeconfig: str | Path | None = None,
    context: str | None = None,
    namespace: str = ALL_NAMESPACES,
    lease: str = "",
    health_port: int | None = None,
    verbose: bool = False,
) -> None:
    """Run the interceptors until SIGTERM or SIGINT; what a program's main calls.

    Connects with the kubeconfig, else KUBECONFIG or ~/.kube/config where there is one, else as the pod that
    it runs in. `namespace` is for interceptors that name none; empty means the one of the connection. With
    a `lease` ("namespace/name") only one of several copies works. Handlers are cancelled at the end and
    their turns kept, so that the next start resumes. What cannot be used ends the program with one line.
    """
    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(level=level, format="%(asctime)s %(levelname).1s %(name)s: %(message)s")
    # What is served, and how turns end, is for everyone who reads the program's log.
    logging.getLogger("vacate.sdk").setLevel(logging.INFO)
    try:
        check_interceptors(interceptors)
        if lease:
            _lease_of(lease)
        config = find_cluster(kubeconfig, context)
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            placed = _placed(interceptors, namespace, config)
            runner.run(_until_signalled(config, placed, lease=lease, health_port=health_port))
    except VacateError as error:
        raise SystemExit(f"error: {error}") from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None


async def serve_interceptors(
    client: Client,
    interceptors: Sequence[Interceptor],
    *,
    clock: Clock | None = None,
    entropy: Entropy | None = None,
    metrics: Metrics | None = None,
    lease: str = "",
    health_port: int | None = None,
) -> None:
    """Run the interceptors over a client until cancelled."""
    clock, entropy, metrics = clock or SystemClock(), entropy or system_entropy(), metrics or Metrics()
    check_interceptors(interceptors)
    if lease:
        _lease_of(lease)
    await _check_requests_readable(client, interceptors)
    for one in interceptors:
        log.info("serving interceptor %s", one.described)
    first = interceptors[0].name
    recorder = EventRecorder(client, clock, entropy, component=first, host=socket.gethostname())
    informers = InformerFactory(client, clock, entropy, metrics=metrics, name=first)
    deps = Dependencies(client, clock, entropy, metrics, recorder, informers)
    beside: list[Runnable] = [recorder]
    manager = Manager(
        informers,
        interceptor_controllers(deps, interceptors),
        runnables=beside,
        elector=_elector(lease, deps) if lease else None,
    )
    async with contextlib.AsyncExitStack() as stack:
        if health_port is not None:
            await stack.enter_async_context(health_endpoint(health_port, metrics, manager.not_ready))
        await manager.run()


async def _until_signalled(
    config: ClusterConfig, interceptors: Sequence[Interceptor], **options: Any
) -> None:
    """Serve until a signal; the next signal ends the process as signals do."""
    loop = asyncio.get_running_loop()
    metrics = Metrics()
    clock = ServerClock(SystemClock(), metrics)  # heartbeats are compared with the server's clock
    async with connected(config, user_agent="vacate-sdk/interceptors", server_clock=clock) as client:
        log.info("connecting to %s", config.server)
        serving = serve_interceptors(client, interceptors, clock=clock, metrics=metrics, **options)
        task = loop.create_task(serving)

        def ask() -> None:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)
            task.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, ask)
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()


def check_interceptors(interceptors: Sequence[object]) -> None:
    """ConfigError where there are none, or something else is among them."""
    if not interceptors:
        raise ConfigError("there are no interceptors to run")
    for one in interceptors:
        if not isinstance(one, Interceptor):
            name = getattr(one, "__name__", repr(one))
            raise ConfigError(f'{name} is not an interceptor: put @interceptor("NAME") above the function')


async def _check_requests_readable(client: Client, interceptors: Sequence[Interceptor]) -> None:
    """Fail at once, with one line, where requests cannot be read: watches would try again for ever."""
    for namespace, api in dict.fromkeys((one.namespace, api) for one in interceptors for api in one.apis):
        kind = dialect_named(api).kind
        try:
            await client.list(kind, namespace, ListOptions(limit=1))
        except NotFound:
            raise ConfigError(
                f"this cluster serves no {kind.several} ({kind.api_version}): install Vacate with "
                f"`vacate install --image IMAGE`, or open its feature gate {kind.gate}"
            ) from None


def _lease_of(lease: str) -> tuple[str, str]:
    namespace, slash, name = lease.partition("/")
    if not slash or not namespace or not name:
        raise ConfigError(f"lease {lease!r}: write it as namespace/name")
    return namespace, name


def _elector(lease: str, deps: Dependencies) -> LeaderElector:
    namespace, name = _lease_of(lease)
    identity = f"{socket.gethostname()}_{deps.entropy.uid()}"
    return LeaderElector(
        deps.client,
        deps.clock,
        deps.entropy,
        deps.metrics,
        name=name,
        namespace=namespace,
        identity=identity,
    )


def _placed(interceptors: Sequence[Interceptor], namespace: str, config: ClusterConfig) -> list[Interceptor]:
    """The interceptors, each with a namespace where it named none; empty stands for all."""
    where = "" if namespace == ALL_NAMESPACES else namespace or config.namespace
    return [one if one.namespace else replace(one, namespace=where) for one in interceptors]
