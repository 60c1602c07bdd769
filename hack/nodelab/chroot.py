"""A chroot: namespaces of its own, in which a folder of packages is the root of what runs there.

All that is written goes to memory and is gone with the chroot; the folder of packages stays as it is.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from hack.kubelab.children import start_child

_SECONDS = 60.0
_GROUPS = Path("/sys/fs/cgroup")
InNamespace = Callable[[Sequence[str]], list[str]]
"""Makes a command one that runs in a namespace."""


def enter(*, network: bool) -> list[str]:
    """What stands before a command to give it namespaces of its own; all in them dies with it."""
    more = ["--net", "--uts", "--ipc", "--cgroup"] if network else []
    return [
        "unshare", "--mount", "--pid", *more,
        "--fork", "--kill-child", "--mount-proc", "--propagation", "private",
    ]  # fmt: skip


# A mere chroot would not do: who enters the namespace of a container would not find the container's root.
_MOVE_IN = """
cd "$1"; mkdir -p old; pivot_root . old
exec chroot . sh -ec 'umount -l /old; echo; exec sleep infinity'
"""


class Chroot:
    """Used inside of the namespaces. `place` is an empty folder; the root of the chroot will be below it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.root = place / "root"
        self._holder: subprocess.Popen[bytes] | None = None
        self._network: InNamespace | None = None

    def populate(self, packages: Path, network: InNamespace | None = None) -> None:
        """Make the root: the packages, over which all writes go to memory.

        `network` puts a command into another network namespace; then all that runs in the chroot is in it.
        """
        mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", self.place)
        for name in ("root", "upper", "work"):
            (self.place / name).mkdir()
        layers = f"lowerdir={packages},upperdir={self.place / 'upper'},workdir={self.place / 'work'}"
        mount("-t", "overlay", "-o", layers, "overlay", self.root)
        self._network = network
        for name in ("/proc", "/sys", "/dev"):
            if network is None or name != "/sys":
                mount("--rbind", name, self.inside(Path(name)))
        if network is not None:
            # It shows the devices of the namespace in which it is mounted.
            run(*network(["mount", "-t", "sysfs", "sysfs", str(self.root / "sys")]))
            mount("--rbind", _GROUPS, self.inside(_GROUPS))

    def share(self, path: Path, *, writable: bool = False) -> None:
        """Something of the machine, under the same name."""
        here = self.inside(path)
        if path.is_dir():
            here.mkdir(parents=True, exist_ok=True)
        else:
            here.parent.mkdir(parents=True, exist_ok=True)
            here.touch()
        mount("--bind", path, here)
        if not writable:
            mount("-o", "remount,bind,ro", here)

    def inside(self, path: Path) -> Path:
        """What the path is called outside of the chroot."""
        return self.root / path.relative_to("/")

    def close(self) -> None:
        """From now on it is a mount namespace of its own; what is mounted outside is not seen in it."""
        words = [
            "unshare",
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-ec",
            _MOVE_IN,
            "sh",
            str(self.root),
        ]
        self._holder = start_child(words, stdout=subprocess.PIPE, stderr=None)
        assert self._holder.stdout is not None
        if not self._holder.stdout.readline():
            raise OSError(f"{self.root} cannot be made the root of a namespace")

    def command(self, words: Sequence[str]) -> list[str]:
        """A command as it is run in the closed chroot."""
        assert self._holder is not None
        # The network first: nsenter itself is not in the chroot.
        entered = ["nsenter", f"--mount=/proc/{self._holder.pid}/ns/mnt", *words]
        return self._network(entered) if self._network is not None else entered


def mount(*arguments: str | Path) -> None:
    """The machine's mount."""
    run("mount", *arguments)


def run(*words: str | Path) -> None:
    """A short command that must succeed; its complaint is in the error."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
