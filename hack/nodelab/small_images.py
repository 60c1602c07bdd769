"""The images that are made by hand: a pause for sandboxes, and busybox for everything else."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from hack.nodelab.archive import Image, write_archive
from hack.nodelab.settings import BUSYBOX, PAUSE

_PROGRAM = Path("usr/bin/busybox")


def write_small_images(tools: Path, folder: Path) -> list[Path]:
    """Their archives in the folder."""
    root = folder / "busybox-root"
    _fill(root, tools / _PROGRAM)
    path = {"PATH": "/bin"}
    images = {
        "pause.tar": Image(PAUSE, ["/bin/sleep", "infinity"], path),
        "busybox.tar": Image(BUSYBOX, ["/bin/sh"], path),
    }
    for name, image in images.items():
        write_archive(image, root, folder / name)
    return [folder / name for name in images]


def _fill(root: Path, busybox: Path) -> None:
    (root / "bin").mkdir(parents=True)
    (root / "tmp").mkdir(mode=0o1777)
    shutil.copy2(busybox, root / "bin/busybox")
    listed = subprocess.run([busybox, "--list"], capture_output=True, text=True, timeout=20, check=True)
    for name in listed.stdout.split():
        if name != "busybox":
            (root / "bin" / name).symlink_to("busybox")
