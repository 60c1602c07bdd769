"""The shutdown agent with its client, caches and recorder, for `vacate shutdown-agent`."""

from __future__ import annotations

from vacate.api.installednames import SHUTDOWN_AGENT
from vacate.client.client import Client
from vacate.client.hedging import HedgingTransport
from vacate.client.transport import Transport
from vacate.nodeagent.shutdown.collector import ShutdownCollector
from vacate.nodeagent.shutdown.protocol import LockHolder, Logind
from vacate.nodeagent.shutdownagent.agent import ShutdownAgent, ShutdownAgentSettings
from vacate.wiring.components import ComponentContext, component_dependencies

COMPONENT = SHUTDOWN_AGENT


def build_shutdown_agent(
    transport: Transport,
    kubelet: Transport,
    settings: ShutdownAgentSettings,
    logind: Logind,
    holder: LockHolder,
    around: ComponentContext,
) -> ShutdownAgent:
    """The agent over two transports: to the API server, and to the kubelet of its node."""
    deps, recorder = component_dependencies(HedgingTransport(transport), COMPONENT, around)
    own = Client(kubelet, user_agent=f"vacate/{COMPONENT}")
    agent = ShutdownAgent(deps, settings, logind, holder, own, [recorder])
    around.metrics.show("graceful node shutdown", ShutdownCollector(agent.shutdown))
    return agent
