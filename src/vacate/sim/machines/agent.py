"""The real node agent as a process of a simulation."""

from __future__ import annotations

from vacate.client.hedging import HedgingTransport
from vacate.client.transport import Transport
from vacate.nodeagent.agent import NodeAgent
from vacate.nodeagent.settings import AgentSettings
from vacate.nodeagent.shutdown.protocol import Logind
from vacate.sim.machines.machine import Machine
from vacate.sim.machines.runtime import SimRuntime
from vacate.wiring.components import ComponentContext, component_dependencies


class AgentProgram:
    """One life of an agent on a machine."""

    def __init__(
        self,
        machine: Machine,
        settings: AgentSettings,
        transport: Transport,
        around: ComponentContext,
        *,
        runtime: SimRuntime | None = None,
        logind: Logind | None = None,
    ) -> None:
        deps, recorder = component_dependencies(HedgingTransport(transport), "kubelet", around)
        runtime = runtime or SimRuntime(machine)
        boot = f"{machine.name}-boot-{machine.boots}"
        self.agent = NodeAgent(deps, settings, runtime, [recorder], boot)
        if logind is not None:
            self.agent.add_shutdown(logind, runtime, boot)

    async def run(self) -> None:
        """Until cancelled."""
        await self.agent.run()

    async def wait_ready(self) -> None:
        """Return when it attends to its pods."""
        await self.agent.wait_ready()

    def stop(self) -> None:
        """End in good order."""
        self.agent.manager.stop()
