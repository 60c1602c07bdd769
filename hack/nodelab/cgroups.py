"""Control groups of a node: one below the machine's in each hierarchy, in which everything of it happens."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from hack.kubelab.release import KubeError
from hack.nodelab.chroot import mount

PREFIX = "vacate-node-"
_CONTROL = Path("/sys/fs/cgroup")
_UNIFIED = "cgroup2"
_EMPTY_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """One tree of groups, and how it is mounted."""

    place: Path
    kind: str
    options: str


def hierarchies(mounts: str | None = None) -> list[Hierarchy]:
    """Of this machine, as /proc/self/mountinfo shows them."""
    text = Path("/proc/self/mountinfo").read_text() if mounts is None else mounts
    found = [_hierarchy(line) for line in text.splitlines()]
    known = [one for one in found if one is not None]
    old = {one.place: one for one in known if one.kind == "cgroup"}  # the last one lies on top
    return list(old.values()) or [one for one in known if one.place == _CONTROL][-1:]


def _hierarchy(line: str) -> Hierarchy | None:
    before, _, after = line.partition(" - ")
    place, (kind, _, options) = Path(before.split()[4]), after.split()[:3]
    if kind not in ("cgroup", _UNIFIED) or not place.is_relative_to(_CONTROL):
        return None
    wanted = [one for one in options.split(",") if one not in ("rw", "ro", "xattr", "noprefix")]
    named = [f"none,{one}" if one.startswith("name=") else one for one in wanted]
    return Hierarchy(place, kind, ",".join(named) if kind == "cgroup" else "")


def make_groups(name: str) -> list[Path]:
    """One in every hierarchy, ready to take processes; leftovers of killed supervisors are removed first."""
    trees = hierarchies()
    if not trees:
        raise KubeError("no control groups are mounted below /sys/fs/cgroup")
    for tree in trees:
        for left in tree.place.glob(f"{PREFIX}*"):
            if not Path("/proc", left.name.removeprefix(PREFIX)).exists():
                remove_groups([left])  # its last processes may still be ending
    return [_make(tree, name) for tree in trees]


def _make(tree: Hierarchy, name: str) -> Path:
    group = tree.place / name
    group.mkdir()
    for needed in ("cpuset.cpus", "cpuset.mems"):
        if tree.kind == "cgroup" and (group / needed).exists():
            (group / needed).write_text((tree.place / needed).read_text())
    return group


def mount_groups() -> None:
    """Inside of the namespace: the node's groups are the roots, and nothing above them can be seen."""
    trees = hierarchies()
    if trees[0].kind == _UNIFIED:
        mount("-t", _UNIFIED, "none", _CONTROL)
        _hand_down()
        return
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", _CONTROL)
    for tree in trees:
        tree.place.mkdir()
        mount("-t", "cgroup", "-o", tree.options, "cgroup", tree.place)


def _hand_down() -> None:
    """In one tree, processes live in leaves, and controllers are handed down by name."""
    leaf = _CONTROL / "programs"
    leaf.mkdir()
    for process in (_CONTROL / "cgroup.procs").read_text().split():
        (leaf / "cgroup.procs").write_text(process)
    names = (_CONTROL / "cgroup.controllers").read_text().split()
    (_CONTROL / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in names))


def remove_groups(groups: list[Path]) -> None:
    """Remove the groups and all below them, once their processes are gone."""
    end = time.monotonic() + _EMPTY_SECONDS
    for group in groups:
        while _processes(group) and time.monotonic() < end:
            time.sleep(0.05)
        _remove(group)


def _processes(group: Path) -> bool:
    listed = (Path(folder) / "cgroup.procs" for folder, _, _ in os.walk(group))
    with contextlib.suppress(OSError):
        return any(one.read_text().strip() for one in listed)
    return True


def _remove(group: Path) -> None:
    for folder, _, _ in os.walk(group, topdown=False):
        with contextlib.suppress(OSError):
            Path(folder).rmdir()
