"""A Secret in a folder, as a kubelet keeps it: all of its files change at once, by one link."""

from __future__ import annotations

import base64
import shutil
import tempfile
from pathlib import Path

from support.arms.arm import Obj

_DATA = "..data"


def mount(secret: Obj, folder: Path) -> None:
    """Write the Secret's files, or change them all at once."""
    before = (folder / _DATA).resolve() if (folder / _DATA).exists() else None
    fresh = Path(tempfile.mkdtemp(prefix="..", dir=folder))
    for name, value in secret["data"].items():
        (fresh / name).write_bytes(base64.b64decode(value))
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(Path(_DATA) / name)
    link = folder / "..data_tmp"
    link.symlink_to(fresh.name)
    link.replace(folder / _DATA)
    if before is not None:
        shutil.rmtree(before)
