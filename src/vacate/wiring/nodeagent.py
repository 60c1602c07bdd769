"""A node agent with its client, caches and recorder, for `vacate node` and the nodes of `vacate up`."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from vacate.client.hedging import HedgingTransport
from vacate.client.transport import Transport
from vacate.nodeagent.agent import NodeAgent
from vacate.nodeagent.runtime.process import ProcessRuntime
from vacate.nodeagent.runtime.supervisor.procfs import boot_id
from vacate.nodeagent.settings import AgentSettings
from vacate.nodeagent.shutdown.collector import ShutdownCollector
from vacate.nodeagent.shutdown.logind import DBusLogind
from vacate.wiring.components import ComponentContext, component_dependencies

_INHERITED = ("PATH", "LANG", "LC_ALL", "TZ")


def build_agent(transport: Transport, settings: AgentSettings, around: ComponentContext) -> NodeAgent:
    """The agent over a transport, with local processes as containers."""
    deps, recorder = component_dependencies(HedgingTransport(transport), "kubelet", around)
    runtime = ProcessRuntime(settings.runtime_folder, ends_with_agent=settings.throw_away, clock=around.clock)
    agent = NodeAgent(deps, settings, runtime, [recorder])
    agent.logind = DBusLogind(drop_ins=settings.logind_drop_ins, node=settings.name)
    if settings.shutdown.enabled:
        manager = agent.add_shutdown(agent.logind, runtime, boot_id())
        around.metrics.show("graceful node shutdown", ShutdownCollector(manager))
    return agent


def container_environment(server: str, own: Mapping[str, str] | None = None) -> dict[str, str]:
    """What every container has in its environment: where programs are found, and the API server."""
    values = os.environ if own is None else own
    made = {name: values[name] for name in _INHERITED if name in values}
    made.setdefault("PATH", os.defpath)
    address = urlsplit(server)
    if address.hostname:
        made["KUBERNETES_SERVICE_HOST"] = address.hostname
        made["KUBERNETES_SERVICE_PORT"] = str(address.port or 443)
    return made


def own_address() -> str:
    """The address by which this machine reaches others, or loopback where it reaches none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address of documentation; nothing is sent
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])
