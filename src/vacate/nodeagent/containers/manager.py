"""Starts and ends the containers of held pods."""

from __future__ import annotations

import datetime as dt
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass

from vacate.api.events import NORMAL, WARNING
from vacate.api.objects import dig
from vacate.errors import VacateError
from vacate.nodeagent.containers.probes import ContainerProbes
from vacate.nodeagent.decisions import failures_after
from vacate.nodeagent.environment import Sources, command_line, environment
from vacate.nodeagent.lifecycle.hooks import PRE_STOP, run_hook
from vacate.nodeagent.lifecycle.reason import deliver
from vacate.nodeagent.lifecycle.stages import ContainerTermination
from vacate.nodeagent.lifecycle.termination import Hook, Termination
from vacate.nodeagent.model import Exit, Progress, Run, TerminationCause, Waiting
from vacate.nodeagent.podworker import PodWorker
from vacate.nodeagent.recovery import labels_of, run_of
from vacate.nodeagent.runtime.protocol import (
    ContainerError,
    ContainerRuntime,
    ContainerSpec,
    ContainerState,
    RuntimeLost,
)
from vacate.nodeagent.settings import AgentSettings
from vacate.nodeagent.view import AgentContainer, AgentPod
from vacate.nodeagent.volumes.storage import binds, volume_variables
from vacate.runtime.dependencies import Dependencies

log = logging.getLogger(__name__)

RETRY_SECONDS = 10.0
LOST_RETRY_SECONDS = 1.0
POST_START_SECONDS = 600.0
START_ERROR_CODE = 128


@dataclass(eq=False)
class ContainerManager:
    """Carries out what `decisions` decided, in the background; each change wakes the pod's reconciler."""

    deps: Dependencies
    runtime: ContainerRuntime
    settings: AgentSettings
    wake: Callable[[PodWorker], None]

    def __post_init__(self) -> None:
        self._probes = ContainerProbes(self.deps, self.runtime, self.settings, self.wake, self.stop)

    def start(self, held: PodWorker, name: str) -> None:
        """Start a container, unless that is under way."""
        state = held.progress.of(name)
        if not state.starting and not state.running:
            state.starting, state.retry_at = True, None
            held.spawn(self._start(held, name), f"start {name}")

    def stop(self, held: PodWorker, name: str, cause: TerminationCause) -> None:
        """End a container; where it is ending already, a shorter grace overtakes."""
        under_way = held.terminations.get(name)
        if under_way is not None:
            under_way.shorten(cause.grace_seconds)
            return
        run = held.progress.of(name).run
        if run is None or run.exit is not None:
            return
        container = held.pod.container(name) if held.pod is not None else None
        hooked = container is not None and container.lifecycle.pre_stop is not None and cause.run_hook
        reason = f" (reason: {cause.reason})" if cause.reason else ""
        held.note(NORMAL, "Killing", f"{cause.message}{reason}")
        held.record.terminations[run.id] = ContainerTermination(
            self.deps.clock.monotonic(), cause.grace_seconds, cause.reason, hooked, cause.within
        )
        held.save()
        self._begin(held, name, run)

    def go_on(self, held: PodWorker) -> None:
        """Go on with what an agent before this one has begun to terminate."""
        for name, state in held.progress.containers.items():
            if state.run is not None and state.running and state.run.id in held.record.terminations:
                self._begin(held, name, state.run)

    def _begin(self, held: PodWorker, name: str, run: Run) -> None:
        record = held.record.terminations[run.id]
        held.progress.of(name).stopping = True
        container = held.pod.container(name) if held.pod is not None else None
        termination = held.terminations[name] = Termination(
            self.runtime,
            self.deps.clock,
            run.id,
            record,
            self._pre_stop(held, container, run, record.reason) if record.hook else None,
            lambda error: held.note(WARNING, "FailedPreStopHook", f"PreStopHook failed: {error}"),
            held.save,
        )
        held.spawn(self._terminate(held, name, termination), f"stop {name}")

    def resume(self, held: PodWorker) -> None:
        """Take up containers that ran before this agent did: ask them again how they are."""
        if held.pod is None:
            return
        for container in held.pod.all_containers:
            state = held.progress.of(container.name)
            if state.running and container.name not in held.probes:
                held.spawn(self._resume(held, container), f"resume {container.name}")

    def ended(self, held: PodWorker, name: str, ended: Run) -> None:
        """A run is over, with all its processes."""
        state = held.progress.of(name)
        if state.run is None or state.run.id != ended.id:
            return
        state.run = ended
        state.ready = state.started = state.stopping = False
        held.end_probes(name)
        held.terminations.pop(name, None)
        held.record.terminations.pop(ended.id, None)
        self.wake(held)

    async def _terminate(self, held: PodWorker, name: str, termination: Termination) -> None:
        try:
            await termination.run()
        finally:
            if held.terminations.get(name) is termination:
                del held.terminations[name]
            self.wake(held)

    async def _start(self, held: PodWorker, name: str) -> None:
        assert held.pod is not None
        pod, state = held.pod, held.progress.of(name)
        container = pod.container(name)
        assert container is not None
        try:
            await self._run(held, pod, container, state)
        except Exception as error:
            # Whatever it is: without a pause it would be tried again at once, for ever.
            if not isinstance(error, (VacateError, OSError)):
                log.exception("pod %s: %s cannot be started", held.key, name)
            state.waiting = _why_waiting(error)
            state.retry_at = self.deps.clock.now() + dt.timedelta(seconds=RETRY_SECONDS)
            held.note(WARNING, "Failed", f"Error: {state.waiting.message}")
        finally:
            state.starting = False
            self.wake(held)

    async def _run(self, held: PodWorker, pod: AgentPod, container: AgentContainer, state: Progress) -> None:
        sources = await held.volumes.make(pod, held.fields)
        attempt = 0 if state.run is None else state.run.attempt + 1
        failures = failures_after(state)
        spec = self._spec(held, container, sources, attempt, failures)
        held.save()  # before anything runs that an agent of later would have to end
        if state.before is not None and state.before.id:
            await self.runtime.remove(state.before.id)
        try:
            run = run_of(await self._started(held, state, spec))
        except ContainerError as error:
            now = self.deps.clock.now()
            ended = Exit(START_ERROR_CODE, now, f"cannot start {spec.argv[0]!r}: {error}", "StartError")
            run = Run(spec.id, attempt, now, failures, ended)
            held.note(WARNING, "Failed", f"Error: {ended.message}")
        state.before, state.run, state.waiting = state.run, run, None
        if run.exit is not None:
            return
        held.note(NORMAL, "Started", f"Container {container.name} started")
        if await self._post_start(held, container, run):
            self._probes.begin(held, container, run)

    async def _started(self, held: PodWorker, state: Progress, spec: ContainerSpec) -> ContainerState:
        """Start it. Where the answer is lost it may run, so that it is asked for until that is known."""
        lost = False
        while True:
            try:
                return await self.runtime.start(spec)
            except (RuntimeLost, OSError) as error:
                if not lost and not isinstance(error, RuntimeLost):
                    raise
                if not lost:
                    held.note(WARNING, "Failed", f"Error: {error}")
                lost, state.waiting = True, Waiting("ContainerCreating", str(error))
            self.wake(held)
            await self.deps.clock.sleep(LOST_RETRY_SECONDS)

    async def _post_start(self, held: PodWorker, container: AgentContainer, run: Run) -> bool:
        handler = container.lifecycle.post_start
        if handler is None:
            return True
        try:
            target = held.target(run, container, held.record.environments[container.name])
            await run_hook(self.runtime, self.deps.clock, target, handler, POST_START_SECONDS)
        except (RuntimeLost, OSError) as error:
            # As after a restart of the agent: it may have run, and is not repeated.
            log.warning("pod %s: how the hook of %s ended is lost: %s", held.key, container.name, error)
        except ContainerError as error:
            held.note(WARNING, "FailedPostStartHook", f"PostStartHook failed: {error}")
            assert held.pod is not None
            self.stop(held, container.name, TerminationCause("FailedPostStartHook", held.pod.grace_seconds))
            return False
        return True

    async def _resume(self, held: PodWorker, container: AgentContainer) -> None:
        while (run := held.progress.of(container.name).run) is not None and run.exit is None:
            try:
                await self._restore(held, container, run)
            except ContainerError as error:  # such as a config map that is gone: it runs on without
                log.warning("pod %s: the environment of %s is lost: %s", held.key, container.name, error)
            except (VacateError, OSError) as error:  # such as a server that is away, or a full disk
                log.warning("pod %s: %s is not probed yet: %s", held.key, container.name, error)
                await self.deps.clock.sleep(RETRY_SECONDS)
                continue
            self._probes.begin(held, container, run)
            self.wake(held)
            return

    def _spec(
        self, held: PodWorker, container: AgentContainer, sources: Sources, attempt: int, failures: int
    ) -> ContainerSpec:
        """The spec of one run; its environment is kept for probes and hooks."""
        assert held.pod is not None
        pod = held.pod
        mounts = binds(container, pod, held.folder)
        honoured = self.runtime.honours_mount_paths
        folder = held.folder.working_folder(container.name)
        base = {
            **self.settings.base_env,
            "HOME": str(folder),
            "HOSTNAME": pod.spec.hostname or pod.metadata.name,
            "VACATE_POD_IP": held.where.pod,
            **volume_variables(mounts, container, honoured=honoured),
        }
        env = environment(container, sources, held.fields, base)
        if (user := user_of(pod, container, os.geteuid())) is not None:
            os.chown(folder, *user)
        spec = ContainerSpec(
            id=f"{pod.metadata.uid}.{container.name}.{attempt}",
            argv=command_line(container, env),
            env=env,
            folder=folder,
            log=held.folder.log(container.name, attempt),
            cwd=container.working_dir,
            binds=mounts if honoured else (),
            user=user,
            labels=labels_of(pod, container.name, attempt, failures),
        )
        held.record.environments[container.name] = dict(spec.env)
        return spec

    async def _restore(self, held: PodWorker, container: AgentContainer, run: Run) -> None:
        """Take up a container of an earlier agent: its volumes are kept up to date from now on."""
        assert held.pod is not None
        sources = await held.volumes.make(held.pod, held.fields)
        if container.name not in held.record.environments:
            self._spec(held, container, sources, run.attempt, run.failures)

    def _pre_stop(
        self, held: PodWorker, container: AgentContainer | None, run: Run, reason: str
    ) -> Hook | None:
        handler = container.lifecycle.pre_stop if container is not None else None
        if handler is None or container is None or held.pod is None:
            return None
        extras = deliver(held.pod, container, handler, reason)
        if extras.problem:
            log.error("pod %s, container %s: %s", held.key, container.name, extras.problem)

        async def hook(timeout: float, ago: float | None) -> None:
            env = dict(self.settings.base_env)
            try:
                if container.name not in held.record.environments:
                    await self._restore(held, container, run)
                env = held.record.environments[container.name]
            except (VacateError, OSError) as error:
                # Such as a config map that is gone, or a full disk: a hook with less is better than none.
                log.warning("pod %s: the environment of %s is lost: %s", held.key, container.name, error)
            target = held.target(run, container, env)
            await run_hook(
                self.runtime, self.deps.clock, target, handler, timeout, extras, once=PRE_STOP, ago=ago
            )

        return hook


def _why_waiting(error: Exception) -> Waiting:
    if isinstance(error, VacateError):
        config = isinstance(error, ContainerError)
        return Waiting("CreateContainerConfigError" if config else "ContainerCreating", str(error))
    why = str(error) or type(error).__name__
    if isinstance(error, OSError):  # such as a full disk
        why = f"{error.filename or 'disk'}: {error.strerror}"
    return Waiting("CreateContainerError", why)


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
