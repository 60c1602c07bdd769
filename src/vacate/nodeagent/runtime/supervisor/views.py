"""A container's own view of the file system: an overlay of the machine's, with volumes where they belong.

It is made inside a mount namespace of the container, so that every mount of it goes when its last process
ends: nothing has to be undone, whichever process crashes.
"""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Any

_NEWNS = 0x20000
_RDONLY, _REMOUNT, _BIND, _REC, _PRIVATE = 1, 32, 4096, 16384, 1 << 18

_libc: ctypes.CDLL | None = None


def library() -> ctypes.CDLL:
    """The C library, loaded before the first fork so that children need not."""
    global _libc  # noqa: PLW0603  loaded once
    if _libc is None:
        _libc = ctypes.CDLL(None, use_errno=True)
    return _libc


def become_subreaper() -> None:
    """Adopt orphans among the descendants of this process."""
    library().prctl(36, 1, 0, 0, 0)


def enter_new(view: dict[str, Any]) -> None:
    """Give the calling process the view: `root` is where it is put together, `scratch` holds its changes.

    `binds` are pairs of source and target with a third value that says whether it is read-only.
    """
    _check(library().unshare(_NEWNS), "unshare")
    os.umask(0o022)  # the root of the view and what is mounted in it are for the container's user
    _mount("none", "/", flags=_REC | _PRIVATE)
    root, scratch = view["root"], view["scratch"]
    _overlay(root, scratch)
    for point in _mount_points(root):
        # One that holds the view itself must not be bound with what is below it.
        holds_view = root.startswith(f"{point}/")
        _mount(point, root + point, flags=_BIND if holds_view else _BIND | _REC)
    for source, target, read_only in view["binds"]:
        _bind(source, _inside(root, target), read_only=read_only)
    os.chroot(root)


def enter_existing(pid: int) -> None:
    """Give the calling process the view of another one."""
    root = os.open(f"/proc/{pid}/root", os.O_RDONLY | os.O_DIRECTORY)
    namespace = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY)
    _check(library().setns(namespace, _NEWNS), "setns")
    os.fchdir(root)
    os.chroot(".")


def _overlay(root: str, scratch: str) -> None:
    try:
        _mount_overlay(root, scratch)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        # An overlay cannot keep its changes on another overlay, as in a container: keep them in memory.
        _mount("tmpfs", scratch, "tmpfs", data="size=256m")
        _mount_overlay(root, scratch)


def _mount_overlay(root: str, scratch: str) -> None:
    for name in ("upper", "work"):
        os.makedirs(f"{scratch}/{name}", exist_ok=True)  # noqa: PTH103
    data = f"lowerdir=/,upperdir={scratch}/upper,workdir={scratch}/work"
    _mount("overlay", root, "overlay", data=data)


def _mount_points(root: str) -> list[str]:
    """The topmost mounts of the machine below `/`: an overlay does not show what is mounted in its layers."""
    found: list[str] = []
    with open("/proc/self/mountinfo", encoding="utf-8") as file:  # noqa: PTH123
        points = sorted(_unescaped(line.split()[4]) for line in file)
    for point in points:
        below = any(point == one or point.startswith(f"{one}/") for one in found)
        if not below and point not in ("/", "/tmp", root):  # noqa: S108  each view has a /tmp of its own
            found.append(point)
    return [point for point in found if not point.startswith(f"{root}/")]


def _unescaped(text: str) -> str:
    return text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")


def _inside(root: str, target: str) -> str:
    """The target below the root, with symbolic links read as the container will read them."""
    path = root
    for part in target.split("/"):
        if part in ("", "."):
            continue
        step = f"{path}/{part}"
        if os.path.islink(step):  # noqa: PTH114
            link = os.readlink(step)  # noqa: PTH115
            step = _inside(root, link if link.startswith("/") else f"{path.removeprefix(root)}/{link}")
        elif part == "..":
            step = path if path == root else os.path.dirname(path)  # noqa: PTH120
        path = step
    return path


def _bind(source: str, target: str, *, read_only: bool) -> None:
    if os.path.isdir(source):  # noqa: PTH112
        os.makedirs(target, exist_ok=True)  # noqa: PTH103
    elif not os.path.exists(target):  # noqa: PTH110
        os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103,PTH120
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    _mount(source, target, flags=_BIND | _REC)
    if read_only:
        _mount(source, target, flags=_BIND | _REMOUNT | _RDONLY)


def _mount(source: str, target: str, kind: str = "none", *, flags: int = 0, data: str = "") -> None:
    result = library().mount(
        source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode() or None
    )
    _check(result, f"mount {target}")


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
