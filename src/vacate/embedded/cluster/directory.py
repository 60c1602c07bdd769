"""The folder of a local cluster: what lies in it, and that only one process uses it."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from vacate.embedded.cluster.foldersafety import make_private_file, require_safe_content, require_safe_folder
from vacate.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Folder:
    """Paths below the cluster's folder."""

    root: Path

    @property
    def database(self) -> Path:
        """All objects and their history."""
        return self.root / "cluster.db"

    @property
    def pki(self) -> Path:
        """Certificates and keys."""
        return self.root / "pki"

    @property
    def kubeconfig(self) -> Path:
        """How the administrator's kubectl gets in."""
        return self.root / "kubeconfig"

    @property
    def tokens(self) -> Path:
        """Static bearer tokens, where someone put them."""
        return self.root / "tokens.csv"

    @property
    def lock(self) -> Path:
        """Held while a process serves the folder; its text is that process's id."""
        return self.root / "lock"


class FolderLock:
    """Keeps a second process out. The kernel lets go of it when the process dies, however it dies."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        """Take the folder, creating it where it is missing, or ConfigError."""
        root = self._folder.root
        try:
            root.mkdir(parents=True, exist_ok=True, mode=0o700)
            require_safe_folder(root)
            require_safe_content(root)
            make_private_file(self._folder.lock)
            file = self._folder.lock.open("a+", encoding="ascii")
        except OSError as error:
            why = error.strerror
            raise ConfigError(f"--dir: {root} cannot be used: {why}; choose another folder") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            file.close()
            raise ConfigError(
                f"--dir: a cluster is running in {root} already (process {holder}); "
                "stop it, or choose another folder"
            ) from None
        make_private_file(self._folder.database)  # SQLite gives its further files the same mode
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        self._file = file

    def release(self) -> None:
        """Let the next process in."""
        if self._file is not None:
            self._file.close()
            self._file = None
