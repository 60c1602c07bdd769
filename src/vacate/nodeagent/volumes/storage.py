"""Volumes on the disk, below the pod's folder."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from vacate.api.objects import Obj, dig
from vacate.nodeagent.runtime.protocol import Bind, ContainerError
from vacate.nodeagent.runtime.supervisor.logtimes import SUFFIX
from vacate.nodeagent.view import AgentContainer, AgentPod
from vacate.nodeagent.volumes.content import File

_READ_ONLY = ("persistentVolumeClaim", "readOnly")
_FROM_API = ("configMap", "secret", "downwardAPI", "projected")


class PodFolder:
    """What a pod has on this machine's disk: volumes, working folders and logs."""

    def __init__(self, root: Path, uid: str) -> None:
        self.root = root / uid
        self.claimed: dict[str, Path] = {}  # by the volume's name: where the claimed volume lies

    def make(self) -> None:
        """Create the folder. Others on this machine do not look into it."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o711)

    def working_folder(self, container: str) -> Path:
        """The container's own folder, which outlives its restarts."""
        path = self.root / "containers" / container
        path.mkdir(parents=True, exist_ok=True)
        return path

    def log(self, container: str, attempt: int) -> Path:
        """Where a run writes; the run before stays readable, older ones go."""
        folder = self.root / "logs" / container
        folder.mkdir(parents=True, exist_ok=True)
        for suffix in ("", ".1", SUFFIX):
            (folder / f"{attempt - 2}.log{suffix}").unlink(missing_ok=True)
        return folder / f"{attempt}.log"

    def volume(self, name: str) -> Path:
        """Where the volume lies."""
        return self.root / "volumes" / name

    def make_volume(self, volume: Obj) -> bool:
        """Create the volume; whether its files come from the API."""
        name = str(volume.get("name", ""))
        if name in self.claimed:
            return False
        if path := dig(volume, "hostPath", "path"):
            _existing(name, str(path))
            return False
        from_api = any(isinstance(volume.get(key), dict) for key in _FROM_API)
        if not from_api and volume.get("emptyDir") is None:
            known = ", ".join(("emptyDir", "hostPath", "persistentVolumeClaim", *_FROM_API))
            raise ContainerError(f'volume "{name}" is of a kind that this node cannot offer; it has {known}')
        path = self.volume(name)
        path.mkdir(parents=True, exist_ok=True)
        if not from_api:
            path.chmod(0o777)
        return from_api

    def claim(self, name: str, path: str) -> None:
        """A claimed volume lies there."""
        self.claimed[name] = _existing(name, path)

    def write(self, name: str, files: Mapping[str, File]) -> None:
        """Bring the volume's files up to date, each replaced as a whole; what is no longer wanted goes."""
        root = self.volume(name)
        for path, file in files.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.is_file() or target.read_bytes() != file.content:
                fresh = target.with_name(f".{target.name}.new")
                fresh.write_bytes(file.content)
                fresh.chmod(file.mode)
                fresh.replace(target)
        for found in root.rglob("*"):
            if found.is_file() and found.relative_to(root).as_posix() not in files:
                found.unlink()

    def remove(self) -> None:
        """Release everything. What cannot be removed now is tried again by the caller."""
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self.root)


def _existing(volume: str, path: str) -> Path:
    if not Path(path).exists():
        raise ContainerError(f'volume "{volume}": {path} does not exist on this machine')
    return Path(path)


def log_files(agent_folder: Path, uid: str, container: str) -> list[Path]:
    """What the runs of a container printed to, the newest last; empty where nothing is known of it."""
    folder = agent_folder / "pods" / uid / "logs" / container
    found = [one for one in folder.glob("*.log") if one.stem.isdigit()]
    return sorted(found, key=lambda one: int(one.stem))


def binds(container: AgentContainer, pod: AgentPod, folder: PodFolder) -> list[Bind]:
    """Where the container sees its volumes, if it has a view of its own."""
    volumes = {str(one.get("name", "")): one for one in pod.spec.volumes}
    made = []
    for mount in container.volume_mounts:
        volume = volumes.get(mount.name)
        if volume is None:
            raise ContainerError(
                f'container {container.name} mounts volume "{mount.name}", which is not there'
            )
        host = dig(volume, "hostPath", "path")
        source = Path(str(host)) if host else folder.volume(mount.name)
        source = folder.claimed.get(mount.name, source)
        if mount.sub_path:
            if ".." in mount.sub_path.split("/"):
                raise ContainerError(f'subPath "{mount.sub_path}" leads out of volume "{mount.name}"')
            source = source / mount.sub_path
            if not source.exists():
                source.mkdir(parents=True)
        writable = bool(host) or volume.get("emptyDir") is not None or mount.name in folder.claimed
        read_only = mount.read_only or not writable or dig(volume, *_READ_ONLY) is True
        made.append(Bind(source, mount.mount_path, read_only))
    return made


def volume_variables(found: list[Bind], container: AgentContainer, *, honoured: bool) -> dict[str, str]:
    """`VACATE_VOLUME_NAME`: where each volume is found, also where mount paths cannot be honoured."""
    named = zip(container.volume_mounts, found, strict=True)
    return {
        f"VACATE_VOLUME_{mount.name.upper().replace('-', '_').replace('.', '_')}": mount.mount_path
        if honoured
        else os.fspath(bind.source)
        for mount, bind in named
    }
