"""Starts and ends the containers of held pods."""

from __future__ import annotations

import datetime as dt
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass

from vacate.api.events import NORMAL, WARNING, EventNote, regarding
from vacate.api.kinds import PODS
from vacate.api.objects import dig
from vacate.errors import VacateError
from vacate.nodeagent.adopt import labels_of, run_of
from vacate.nodeagent.decisions import failures_after
from vacate.nodeagent.environment import Sources, command_line, environment
from vacate.nodeagent.held import HeldPod
from vacate.nodeagent.lifecycle.hooks import HookTarget, run_hook
from vacate.nodeagent.lifecycle.probes import (
    LIVENESS,
    READINESS,
    STARTUP,
    ProbeLoop,
    ProbeState,
    ProbeTarget,
)
from vacate.nodeagent.lifecycle.reason import deliver
from vacate.nodeagent.lifecycle.termination import Hook, Termination
from vacate.nodeagent.model import Exit, Progress, Run, Waiting
from vacate.nodeagent.runtime.protocol import ContainerError, ContainerRuntime, ContainerSpec
from vacate.nodeagent.settings import AgentSettings
from vacate.nodeagent.view import AgentContainer, AgentPod, Probe
from vacate.nodeagent.volumes.storage import binds, volume_variables
from vacate.runtime.dependencies import Deps

log = logging.getLogger(__name__)

RETRY_SECONDS = 10.0
POST_START_SECONDS = 600.0
START_ERROR_CODE = 128


@dataclass(frozen=True, slots=True)
class EndCause:
    """Why a container ends."""

    message: str
    grace_seconds: float
    run_hook: bool = True
    reason: str = ""  # for the hook; empty where nobody gave one


class ContainerManager:
    """Carries out what `decisions` decided, in the background; each change wakes the pod's reconciler."""

    def __init__(
        self, deps: Deps, runtime: ContainerRuntime, settings: AgentSettings, wake: Callable[[HeldPod], None]
    ) -> None:
        self._deps = deps
        self._clock = deps.clock
        self._runtime = runtime
        self._settings = settings
        self._wake = wake

    def start(self, held: HeldPod, name: str) -> None:
        """Start a container, unless that is under way."""
        state = held.progress.of(name)
        if not state.starting and not state.running:
            state.starting, state.retry_at = True, None
            held.spawn(self._start(held, name), f"start {name}")

    def stop(self, held: HeldPod, name: str, cause: EndCause) -> None:
        """End a container; where it is ending already, a shorter grace overtakes."""
        under_way = held.terminations.get(name)
        if under_way is not None:
            under_way.shorten(cause.grace_seconds)
            return
        run = held.progress.of(name).run
        if run is None or run.exit is not None:
            return
        held.progress.of(name).stopping = True
        container = held.pod.container(name) if held.pod is not None else None
        self._note(held, NORMAL, "Killing", cause.message or f"Stopping container {name}")
        termination = held.terminations[name] = Termination(
            self._runtime,
            self._clock,
            run.id,
            cause.grace_seconds,
            self._pre_stop(held, container, run, cause),
            lambda error: self._note(held, WARNING, "FailedPreStopHook", f"PreStopHook failed: {error}"),
        )
        held.spawn(self._terminate(held, name, termination), f"stop {name}")

    def resume(self, held: HeldPod) -> None:
        """Take up containers that ran before this agent did: ask them again how they are."""
        if held.pod is None:
            return
        for container in held.pod.all_containers:
            state = held.progress.of(container.name)
            if state.running and container.name not in held.probes:
                held.spawn(self._resume(held, container), f"resume {container.name}")

    def ended(self, held: HeldPod, name: str, ended: Run) -> None:
        """A run is over, with all its processes."""
        state = held.progress.of(name)
        if state.run is None or state.run.id != ended.id:
            return
        state.run = ended
        state.ready = state.started = state.stopping = False
        held.end_probes(name)
        held.terminations.pop(name, None)
        self._wake(held)

    async def _terminate(self, held: HeldPod, name: str, termination: Termination) -> None:
        try:
            await termination.run()
        finally:
            if held.terminations.get(name) is termination:
                del held.terminations[name]
            self._wake(held)

    async def _start(self, held: HeldPod, name: str) -> None:
        assert held.pod is not None
        pod, state = held.pod, held.progress.of(name)
        container = pod.container(name)
        assert container is not None
        try:
            await self._run(held, pod, container, state)
        except VacateError as error:
            reason = (
                "CreateContainerConfigError" if isinstance(error, ContainerError) else "ContainerCreating"
            )
            state.waiting = Waiting(reason, str(error))
            state.retry_at = self._clock.now() + dt.timedelta(seconds=RETRY_SECONDS)
            self._note(held, WARNING, "Failed", f"Error: {error}")
        except OSError as error:  # such as a full disk
            state.waiting = Waiting("CreateContainerError", f"{error.filename or 'disk'}: {error.strerror}")
            state.retry_at = self._clock.now() + dt.timedelta(seconds=RETRY_SECONDS)
            self._note(held, WARNING, "Failed", f"Error: {state.waiting.message}")
        finally:
            state.starting = False
            self._wake(held)

    async def _run(self, held: HeldPod, pod: AgentPod, container: AgentContainer, state: Progress) -> None:
        sources = await held.volumes.make(pod, held.fields)
        attempt, failures = state.next_attempt, failures_after(state)
        spec = self._spec(held, pod, container, sources, attempt, failures)
        held.envs[container.name] = dict(spec.env)
        if state.before is not None and state.before.id:
            await self._runtime.remove(state.before.id)
        try:
            started = await self._runtime.start(spec)
            run = run_of(started)
        except ContainerError as error:
            now = self._clock.now()
            ended = Exit(START_ERROR_CODE, now, f"cannot start {spec.argv[0]!r}: {error}", "StartError")
            run = Run(spec.id, attempt, now, failures, ended)
            self._note(held, WARNING, "Failed", f"Error: {ended.message}")
        state.before, state.run, state.waiting = state.run, run, None
        if run.exit is not None:
            return
        self._note(held, NORMAL, "Started", f"Container {container.name} started")
        if await self._post_start(held, container, run):
            self._begin_probes(held, container, run)

    def _spec(
        self,
        held: HeldPod,
        pod: AgentPod,
        container: AgentContainer,
        sources: Sources,
        attempt: int,
        failures: int,
    ) -> ContainerSpec:
        mounts = binds(container, pod, held.folder)
        honoured = self._runtime.honours_mount_paths
        folder = held.folder.working_folder(container.name)
        base = {
            **self._settings.base_env,
            "HOME": str(folder),
            "HOSTNAME": pod.spec.hostname or pod.metadata.name,
            "VACATE_POD_IP": held.where.pod,
            **volume_variables(mounts, container, honoured=honoured),
        }
        env = environment(container, sources, held.fields, base)
        return ContainerSpec(
            id=f"{pod.metadata.uid}.{container.name}.{attempt}",
            argv=command_line(container, env),
            env=env,
            folder=folder,
            log=held.folder.log(container.name, attempt),
            cwd=container.working_dir,
            binds=mounts if honoured else (),
            user=user_of(pod, container, os.geteuid()),
            labels=labels_of(pod, container.name, attempt, failures),
        )

    async def _post_start(self, held: HeldPod, container: AgentContainer, run: Run) -> bool:
        handler = container.lifecycle.post_start
        if handler is None:
            return True
        try:
            target = HookTarget(run.id, container, held.envs[container.name], held.where.pod)
            await run_hook(self._runtime, self._clock, target, handler, POST_START_SECONDS)
        except ContainerError as error:
            self._note(held, WARNING, "FailedPostStartHook", f"PostStartHook failed: {error}")
            assert held.pod is not None
            self.stop(held, container.name, EndCause("FailedPostStartHook", held.pod.grace_seconds))
            return False
        return True

    async def _resume(self, held: HeldPod, container: AgentContainer) -> None:
        while (run := held.progress.of(container.name).run) is not None and run.exit is None:
            try:
                await self._environment_of(held, container, run)
            except ContainerError as error:  # such as a config map that is gone: it runs on without
                log.warning("pod %s: the environment of %s is lost: %s", held.key, container.name, error)
            except (VacateError, OSError) as error:  # such as a server that is away, or a full disk
                log.warning("pod %s: %s is not probed yet: %s", held.key, container.name, error)
                await self._clock.sleep(RETRY_SECONDS)
                continue
            self._begin_probes(held, container, run)
            self._wake(held)
            return

    def _pre_stop(
        self, held: HeldPod, container: AgentContainer | None, run: Run, cause: EndCause
    ) -> Hook | None:
        handler = container.lifecycle.pre_stop if container is not None else None
        if handler is None or container is None or held.pod is None or not cause.run_hook:
            return None
        delivery = deliver(held.pod, container, handler, cause.reason)
        if delivery.problem:
            log.error("pod %s, container %s: %s", held.key, container.name, delivery.problem)

        async def hook(timeout: float) -> None:
            try:
                env = await self._environment_of(held, container, run)
            except (VacateError, OSError) as error:
                # Such as a config map that is gone, or a full disk: a hook with less is better than none.
                log.warning("pod %s: the environment of %s is lost: %s", held.key, container.name, error)
                env = dict(self._settings.base_env)
            target = HookTarget(run.id, container, env, held.where.pod)
            await run_hook(self._runtime, self._clock, target, handler, timeout, delivery.extras)

        return hook

    async def _environment_of(self, held: HeldPod, container: AgentContainer, run: Run) -> dict[str, str]:
        """What the container was started with; after a crash of the agent it is found anew."""
        if container.name not in held.envs:
            assert held.pod is not None
            sources = await held.volumes.make(held.pod, held.fields)
            spec = self._spec(held, held.pod, container, sources, run.attempt, run.failures)
            held.envs[container.name] = dict(spec.env)
        return held.envs[container.name]

    def _begin_probes(self, held: HeldPod, container: AgentContainer, run: Run) -> None:
        state = held.progress.of(container.name)
        if state.run is None or state.run.id != run.id or state.run.exit is not None:
            return
        target = ProbeTarget(
            run.id, container, held.envs.get(container.name, self._settings.base_env), held.where.pod
        )
        held.end_probes(container.name)
        held.probes[container.name] = []
        if container.startup_probe is None:
            self._begin_later_probes(held, container, target)
            return
        loop = self._loop(held, target, STARTUP, container.startup_probe)
        held.probes[container.name].append(
            held.spawn(self._startup(held, container, target, loop), f"startup probe {container.name}")
        )

    async def _startup(
        self, held: HeldPod, container: AgentContainer, target: ProbeTarget, loop: ProbeLoop
    ) -> None:
        await loop.run(until_healthy=True)
        self._begin_later_probes(held, container, target)

    def _begin_later_probes(self, held: HeldPod, container: AgentContainer, target: ProbeTarget) -> None:
        state = held.progress.of(container.name)
        state.started, state.ready = True, container.readiness_probe is None
        for kind, probe in ((LIVENESS, container.liveness_probe), (READINESS, container.readiness_probe)):
            if probe is not None:
                work = self._loop(held, target, kind, probe).run()
                held.probes[container.name].append(held.spawn(work, f"{kind} probe {container.name}"))
        self._wake(held)

    def _loop(self, held: HeldPod, target: ProbeTarget, kind: str, probe: Probe) -> ProbeLoop:
        def changed(state: ProbeState, why: str) -> None:
            self._probed(held, target, kind, probe, state, why)

        return ProbeLoop(self._runtime, self._clock, self._deps.entropy, target, probe, changed)

    def _probed(
        self, held: HeldPod, target: ProbeTarget, kind: str, probe: Probe, state: ProbeState, why: str
    ) -> None:
        progress = held.progress.of(target.container.name)
        if why and not progress.stopping:
            self._note(held, WARNING, "Unhealthy", f"{kind} probe failed: {why}")
        if kind == READINESS:
            healthy = bool(state.healthy)
            if progress.ready is not healthy:
                progress.ready = healthy
                self._wake(held)
        elif state.healthy is False and not progress.stopping and held.pod is not None:
            own = probe.termination_grace_period_seconds
            grace = float(own) if own is not None else held.pod.grace_seconds
            what = f"Container {target.container.name} failed {kind.lower()} probe, will be restarted"
            self.stop(held, target.container.name, EndCause(what, grace))

    def _note(self, held: HeldPod, type_: str, reason: str, message: str) -> None:
        if held.pod is not None:
            self._deps.recorder.record(EventNote(regarding(PODS, held.pod), type_, reason, message))


def user_of(pod: AgentPod, container: AgentContainer, own: int) -> tuple[int, int] | None:
    """As whom the container runs, where it asks; only root can become someone else."""
    contexts = (container.security_context, pod.spec.security_context)

    def asked(key: str) -> int | None:
        return next((value for one in contexts if isinstance(value := dig(one, key), int)), None)

    uid, gid = asked("runAsUser"), asked("runAsGroup")
    if uid is None and gid is None:
        if own == 0 and any(dig(one, "runAsNonRoot") is True for one in contexts):
            raise ContainerError(
                f"container {container.name} must not run as root (runAsNonRoot): set runAsUser"
            )
        return None
    wanted = (own if uid is None else uid, gid if gid is not None else (uid or 0))
    if own != 0:
        if uid in (None, own):
            return None
        raise ContainerError(
            f"container {container.name} asks for user {uid}; only an agent run by root can do that"
        )
    return wanted
