"""The probes of running containers, what their results come to, and what follows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from vacate.api.events import WARNING
from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.errors import VacateError
from vacate.nodeagent.environment import expand
from vacate.nodeagent.lifecycle.hooks import HttpGet, address_of, tcp_connect
from vacate.nodeagent.model import Run, RunningContainer, TerminationCause
from vacate.nodeagent.podworker import PodWorker
from vacate.nodeagent.runtime.protocol import ContainerError, ContainerRuntime, RuntimeLost
from vacate.nodeagent.settings import AgentSettings
from vacate.nodeagent.view import AgentContainer, Probe
from vacate.runtime.dependencies import Dependencies

LIVENESS, READINESS, STARTUP = "Liveness", "Readiness", "Startup"


@dataclass(eq=False)
class ContainerProbes:
    """Probes containers in the background. `stop` ends one that failed, `wake` tells of one that turned."""

    deps: Dependencies
    runtime: ContainerRuntime
    settings: AgentSettings
    wake: Callable[[PodWorker], None]
    stop: Callable[[PodWorker, str, TerminationCause], None]

    def begin(self, held: PodWorker, container: AgentContainer, run: Run) -> None:
        """Probe the container for as long as this run lasts: first whether it has started, if it says how."""
        state = held.progress.of(container.name)
        if state.run is None or state.run.id != run.id or state.run.exit is not None:
            return
        env = held.record.environments.get(container.name, self.settings.base_env)
        target = held.target(run, container, env)
        held.end_probes(container.name)
        held.probes[container.name] = []
        if container.startup_probe is None:
            self._begin_later(held, target)
        else:
            startup = self._startup(held, target, container.startup_probe)
            held.probes[container.name].append(held.spawn(startup, f"startup probe {container.name}"))

    async def _startup(self, held: PodWorker, target: RunningContainer, probe: Probe) -> None:
        await self._loop(held, target, STARTUP, probe).run(until_healthy=True)
        self._begin_later(held, target)

    def _begin_later(self, held: PodWorker, target: RunningContainer) -> None:
        container = target.container
        state = held.progress.of(container.name)
        state.started, state.ready = True, container.readiness_probe is None
        for kind, probe in ((LIVENESS, container.liveness_probe), (READINESS, container.readiness_probe)):
            if probe is not None:
                work = self._loop(held, target, kind, probe).run()
                held.probes[container.name].append(held.spawn(work, f"{kind} probe {container.name}"))
        self.wake(held)

    def _loop(self, held: PodWorker, target: RunningContainer, kind: str, probe: Probe) -> ProbeLoop:
        changed = functools.partial(self._probed, held, target, kind, probe)
        return ProbeLoop(self.runtime, self.deps.clock, self.deps.entropy, target, probe, changed)

    def _probed(
        self, held: PodWorker, target: RunningContainer, kind: str, probe: Probe, state: ProbeState, why: str
    ) -> None:
        progress = held.progress.of(target.container.name)
        if why and not progress.stopping:
            held.note(WARNING, "Unhealthy", f"{kind} probe failed: {why}")
        if kind == READINESS:
            healthy = bool(state.healthy)
            if progress.ready is not healthy:
                progress.ready = healthy
                self.wake(held)
        elif state.healthy is False and not progress.stopping and held.pod is not None:
            own = probe.termination_grace_period_seconds
            grace = float(own) if own is not None else held.pod.grace_seconds
            what = f"Container {target.container.name} failed {kind.lower()} probe, will be restarted"
            self.stop(held, target.container.name, TerminationCause(what, grace))


@dataclass(frozen=True, slots=True)
class ProbeState:
    """What the results so far come to; None before any threshold is reached."""

    healthy: bool | None
    row: int = 0  # equal results in a row
    last: bool | None = None


def next_state(state: ProbeState, probe: Probe, *, succeeded: bool) -> ProbeState:
    """PURE. The state after one more result: it turns only when its threshold is reached."""
    row = state.row + 1 if state.last is succeeded else 1
    threshold = max(probe.success_threshold if succeeded else probe.failure_threshold, 1)
    return ProbeState(succeeded if row >= threshold else state.healthy, row, succeeded)


async def ask(runtime: ContainerRuntime, target: RunningContainer, probe: Probe) -> None:
    """Ask once; ContainerError says why the answer is no."""
    timeout = float(max(probe.timeout_seconds, 1))
    if probe.exec is not None:
        argv = [expand(str(one), target.env) for one in probe.exec.get("command") or ()]
        result = await runtime.exec(target.id, argv, target.env, timeout)
        if result.timed_out:
            raise ContainerError(f"command {argv[0]} took longer than {timeout:g} s")
        if result.code != 0:
            raise ContainerError(result.output.strip()[:1024] or f"command exited with {result.code}")
    elif probe.http_get is not None:
        code = await HttpGet(probe.http_get, target).send(timeout)
        if not 200 <= code < 400:
            raise ContainerError(f"HTTP probe failed with statuscode: {code}")
    elif probe.tcp_socket is not None:
        await tcp_connect(*address_of(probe.tcp_socket, target), timeout)
    else:
        raise ContainerError("this node knows no gRPC probes; use exec, httpGet or tcpSocket")


@dataclass(eq=False)
class ProbeLoop:
    """Asks one container again and again; `changed` is called for each result with the state and why."""

    runtime: ContainerRuntime
    clock: Clock
    entropy: Entropy
    target: RunningContainer
    probe: Probe
    changed: Callable[[ProbeState, str], None]

    async def run(self, *, until_healthy: bool = False) -> None:
        """Ask until cancelled, or until the container has proved healthy."""
        period = float(max(self.probe.period_seconds, 1))
        # Spread over the period, so that a restarted agent does not ask a hundred pods at the same moment.
        first = self.entropy.uniform(0.0, min(period, 1.0)) / 10
        await self.clock.sleep(self.probe.initial_delay_seconds + first)
        state = ProbeState(None)
        while True:
            why = ""
            try:
                await ask(self.runtime, self.target, self.probe)
            except (RuntimeLost, OSError):
                await self.clock.sleep(1.0)  # that is not the container's fault
                continue
            except VacateError as error:
                why = str(error) or "no answer"
            state = next_state(state, self.probe, succeeded=not why)
            self.changed(state, why)
            if until_healthy and state.healthy:
                return
            await self.clock.sleep(period)
