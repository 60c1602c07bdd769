"""What the runtime is given to run a container: command, environment, volumes and user."""

from __future__ import annotations

import os

from vacate.api.objects import dig
from vacate.nodeagent.environment import Sources, command_line, environment
from vacate.nodeagent.model import Run
from vacate.nodeagent.podworker import PodWorker
from vacate.nodeagent.recovery import labels_of
from vacate.nodeagent.runtime.protocol import ContainerError, ContainerRuntime, ContainerSpec
from vacate.nodeagent.settings import AgentSettings
from vacate.nodeagent.view import AgentContainer, AgentPod
from vacate.nodeagent.volumes.storage import binds, volume_variables


class ContainerSpecs:
    """Makes them from a pod, its folder and what its volumes hold."""

    def __init__(self, runtime: ContainerRuntime, settings: AgentSettings) -> None:
        self._runtime = runtime
        self._settings = settings

    def make(
        self,
        held: PodWorker,
        pod: AgentPod,
        container: AgentContainer,
        sources: Sources,
        attempt: int,
        failures: int,
    ) -> ContainerSpec:
        """The spec of one run; its environment is kept for probes and hooks."""
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

    async def environment(self, held: PodWorker, container: AgentContainer, run: Run) -> dict[str, str]:
        """What the container was started with; it is found anew where no record has it."""
        if container.name not in held.record.environments:
            await self.resume(held, container, run)
        return held.record.environments[container.name]

    async def resume(self, held: PodWorker, container: AgentContainer, run: Run) -> None:
        """Take up a container of an earlier agent: its volumes are kept up to date from now on."""
        assert held.pod is not None
        sources = await held.volumes.make(held.pod, held.fields)
        if container.name not in held.record.environments:
            self.make(held, held.pod, container, sources, run.attempt, run.failures)


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
