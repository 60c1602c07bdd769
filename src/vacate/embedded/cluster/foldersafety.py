"""Whether a folder that holds keys is safe from other users of the machine.

A user who can write into it can plant a key of their own, or a link that leads writes elsewhere. So the
folder is looked at first: where it is nobody else's, what lies in it cannot change between look and use.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from vacate.errors import ConfigError

_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def require_safe_folder(root: Path) -> None:
    """ConfigError where others own the folder, may write into it, or could put another in its place."""
    link = root.lstat()
    if stat.S_ISLNK(link.st_mode) and not _trusted(link):
        raise ConfigError(f"--dir: {root} is a link that another user has made; name the folder itself")
    real = root.resolve(strict=True)
    _check(real, "--dir", "choose another folder")
    for parent in real.parents:
        mode = parent.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise ConfigError(
                f"--dir: {parent} may be written by every user, who could put another folder in the place of "
                f"{root}; choose another folder, or chmod o-w {parent}"
            )


def require_safe_content(root: Path) -> None:
    """ConfigError where something in it is a link, or belongs to others, or may be written by them.

    Files that users write, such as tokens.csv, have what mode their editor gives them. In a folder that
    others cannot even enter it does no harm; keys have a strict mode from the beginning, and must keep it.
    """
    entered = root.stat().st_mode & (stat.S_IXGRP | stat.S_IXOTH)
    for path in sorted(root.iterdir()):
        keys = path.name == "pki"
        _check(path, "--dir", "remove it, or choose another folder", modes=bool(entered) or keys)
        if keys and not path.is_dir():
            raise ConfigError(f"--dir: {path} is not a folder of keys; remove it, or choose another folder")
        for key in sorted(path.iterdir()) if keys else ():
            _check(key, "--dir", "remove it, and a new one is made at the next start")


def make_private_file(path: Path) -> None:
    """See that the file is there, and that only its owner may read what is written into it."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise ConfigError(f"--dir: {path} cannot be used: {error.strerror}; remove it") from error


def _check(path: Path, option: str, remedy: str, *, modes: bool = True) -> None:
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise ConfigError(f"{option}: {path} is a link, and links are not followed here; {remedy}")
    if not _trusted(found):
        raise ConfigError(f"{option}: {path} belongs to another user (uid {found.st_uid}); {remedy}")
    if modes and found.st_mode & _OTHERS_MAY_WRITE:
        raise ConfigError(f"{option}: {path} may be written by other users; chmod go-w it, or {remedy}")


def _trusted(found: os.stat_result) -> bool:
    """Root can read and write everything anyway."""
    return found.st_uid in (os.geteuid(), 0)
