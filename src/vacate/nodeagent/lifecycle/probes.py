"""Probes: what the last results come to, and the loops that ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.errors import VacateError
from vacate.nodeagent.environment import expand
from vacate.nodeagent.lifecycle.http import http_get, port_of, tcp_connect
from vacate.nodeagent.model import RunningContainer
from vacate.nodeagent.runtime.protocol import ContainerError, ContainerRuntime, RuntimeLost
from vacate.nodeagent.view import Probe

LIVENESS, READINESS, STARTUP = "Liveness", "Readiness", "Startup"


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
        address = str(probe.http_get.get("host") or target.address)
        port = port_of(probe.http_get, target.container)
        code = await http_get(address, port, probe.http_get, (), timeout)
        if not 200 <= code < 400:
            raise ContainerError(f"HTTP probe failed with statuscode: {code}")
    elif probe.tcp_socket is not None:
        address = str(probe.tcp_socket.get("host") or target.address)
        await tcp_connect(address, port_of(probe.tcp_socket, target.container), timeout)
    else:
        raise ContainerError("this node knows no gRPC probes; use exec, httpGet or tcpSocket")


class ProbeLoop:
    """Asks one container again and again; `changed` is called for each result with the state and why."""

    def __init__(
        self,
        runtime: ContainerRuntime,
        clock: Clock,
        entropy: Entropy,
        target: RunningContainer,
        probe: Probe,
        changed: Callable[[ProbeState, str], None],
    ) -> None:
        self._runtime, self._clock, self._entropy = runtime, clock, entropy
        self._target, self._probe, self._changed = target, probe, changed

    async def run(self, *, until_healthy: bool = False) -> None:
        """Ask until cancelled, or until the container has proved healthy."""
        period = float(max(self._probe.period_seconds, 1))
        # Spread over the period, so that a restarted agent does not ask a hundred pods at the same moment.
        first = self._entropy.uniform(0.0, min(period, 1.0)) / 10
        await self._clock.sleep(self._probe.initial_delay_seconds + first)
        state = ProbeState(None)
        while True:
            why = ""
            try:
                await ask(self._runtime, self._target, self._probe)
            except (RuntimeLost, OSError):
                await self._clock.sleep(1.0)  # that is not the container's fault
                continue
            except VacateError as error:
                why = str(error) or "no answer"
            state = next_state(state, self._probe, succeeded=not why)
            self._changed(state, why)
            if until_healthy and state.healthy:
                return
            await self._clock.sleep(period)
