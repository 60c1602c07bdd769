"""The probes of running containers, and what follows from their results."""

from __future__ import annotations

from collections.abc import Callable

from vacate.nodeagent.containers.events import ContainerEvents
from vacate.nodeagent.lifecycle.probes import (
    LIVENESS,
    READINESS,
    STARTUP,
    ProbeLoop,
    ProbeState,
)
from vacate.nodeagent.model import Run, RunningContainer, TerminationCause
from vacate.nodeagent.podworker import PodWorker
from vacate.nodeagent.runtime.protocol import ContainerRuntime
from vacate.nodeagent.settings import AgentSettings
from vacate.nodeagent.view import AgentContainer, Probe
from vacate.runtime.dependencies import Dependencies


class ContainerProbes:
    """Probes containers in the background. `stop` ends one that failed, `wake` tells of one that turned."""

    def __init__(
        self,
        deps: Dependencies,
        runtime: ContainerRuntime,
        settings: AgentSettings,
        wake: Callable[[PodWorker], None],
        stop: Callable[[PodWorker, str, TerminationCause], None],
    ) -> None:
        self._clock = deps.clock
        self._entropy = deps.entropy
        self._events = ContainerEvents(deps.recorder)
        self._runtime = runtime
        self._settings = settings
        self._wake = wake
        self._stop = stop

    def begin(self, held: PodWorker, container: AgentContainer, run: Run) -> None:
        """Probe the container for as long as this run lasts: first whether it has started, if it says how."""
        state = held.progress.of(container.name)
        if state.run is None or state.run.id != run.id or state.run.exit is not None:
            return
        target = RunningContainer(
            run.id,
            container,
            held.record.environments.get(container.name, self._settings.base_env),
            held.where.pod,
        )
        held.end_probes(container.name)
        held.probes[container.name] = []
        if container.startup_probe is None:
            self._begin_later(held, container, target)
            return
        loop = self._loop(held, target, STARTUP, container.startup_probe)
        held.probes[container.name].append(
            held.spawn(self._startup(held, container, target, loop), f"startup probe {container.name}")
        )

    async def _startup(
        self, held: PodWorker, container: AgentContainer, target: RunningContainer, loop: ProbeLoop
    ) -> None:
        await loop.run(until_healthy=True)
        self._begin_later(held, container, target)

    def _begin_later(self, held: PodWorker, container: AgentContainer, target: RunningContainer) -> None:
        state = held.progress.of(container.name)
        state.started, state.ready = True, container.readiness_probe is None
        for kind, probe in ((LIVENESS, container.liveness_probe), (READINESS, container.readiness_probe)):
            if probe is not None:
                work = self._loop(held, target, kind, probe).run()
                held.probes[container.name].append(held.spawn(work, f"{kind} probe {container.name}"))
        self._wake(held)

    def _loop(self, held: PodWorker, target: RunningContainer, kind: str, probe: Probe) -> ProbeLoop:
        def changed(state: ProbeState, why: str) -> None:
            self._probed(held, target, kind, probe, state, why)

        return ProbeLoop(self._runtime, self._clock, self._entropy, target, probe, changed)

    def _probed(
        self, held: PodWorker, target: RunningContainer, kind: str, probe: Probe, state: ProbeState, why: str
    ) -> None:
        progress = held.progress.of(target.container.name)
        if why and not progress.stopping:
            self._events.warning(held, "Unhealthy", f"{kind} probe failed: {why}")
        if kind == READINESS:
            healthy = bool(state.healthy)
            if progress.ready is not healthy:
                progress.ready = healthy
                self._wake(held)
        elif state.healthy is False and not progress.stopping and held.pod is not None:
            own = probe.termination_grace_period_seconds
            grace = float(own) if own is not None else held.pod.grace_seconds
            what = f"Container {target.container.name} failed {kind.lower()} probe, will be restarted"
            self._stop(held, target.container.name, TerminationCause(what, grace))
