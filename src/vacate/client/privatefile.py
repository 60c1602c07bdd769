"""Files that only their owner may read, written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

OWNER_ONLY = 0o600


def write_private(path: Path, content: bytes, *, mode: int = OWNER_ONLY, sync: bool = True) -> None:
    """Put the content in place in one step; a crash leaves the old file or the new one, never a part.

    Without `sync` a loss of power may still leave either, or nothing.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    draft.unlink(missing_ok=True)
    try:
        _write(draft, content, mode, sync=sync)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    if sync:
        _sync_folder(path.parent)


def _write(path: Path, content: bytes, mode: int, *, sync: bool) -> None:
    # The mode is set at creation: there is no moment in which others could open the file.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        if sync:
            file.flush()
            os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
