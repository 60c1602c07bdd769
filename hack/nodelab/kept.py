"""Folders that are made once and used again. One that is not whole never gets its name."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from hack.kubelab.obtain import cache_folder

_UNFINISHED = "making-"


def home() -> Path:
    """Where all of it is."""
    folder = cache_folder() / "node"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def kept(kind: str, key: str, make: Callable[[Path], None]) -> Path:
    """The folder of that key, filled by one caller while the others wait; older ones of its kind go."""
    folder = home() / f"{kind}-{key}"
    with (home() / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            _discard([*home().glob(f"{_UNFINISHED}*"), *home().glob(f"{kind}-*")])
            _make(folder, make)
    return folder


def _make(folder: Path, make: Callable[[Path], None]) -> None:
    work = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=home()))
    try:
        ready = work / "ready"
        ready.mkdir()
        make(ready)
        ready.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _discard(folders: list[Path]) -> None:
    for one in folders:
        shutil.rmtree(one, ignore_errors=True)
