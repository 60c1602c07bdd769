"""Programs of the machine's distribution, unpacked into a folder: nothing is installed on the machine.

The folder is a root file system of its own, with all libraries, so that what runs in it does not depend on
what the machine has.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hack.kubelab.release import KubeError
from hack.nodelab.kept import kept

# The shell and its tools, and what the distribution's other packages silently rely on.
_GROUND = ("base-files", "dash", "coreutils", "ca-certificates", "netbase")
_FILE = re.compile(r"^'(?P<address>[^']+)' (?P<name>\S+) \d+ (?P<digest>\S+)$", re.MULTILINE)
_MERGED = ("bin", "sbin", "lib", "lib64")
_SECONDS = 900.0
# Kept folders of another making are not used again.
_MAKING = 2


def root_of(kind: str, names: Sequence[str]) -> Path:
    """A folder with these packages and all that they need."""
    with tempfile.TemporaryDirectory(prefix="vacate-apt-") as scratch:
        apt = Apt(Path(scratch))
        files = apt.choose([*_GROUND, *names])
        key = hashlib.sha256("\n".join([str(_MAKING), *sorted(files)]).encode()).hexdigest()[:12]
        return kept(kind, key, lambda folder: _fill(folder, apt))


class Apt:
    """The package manager, as if nothing were installed and without touching what is."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._names: list[str] = []
        self._lists: list[str] = []
        (scratch / "status").touch()
        for folder in ("archives/partial", "lists/partial"):
            (scratch / folder).mkdir(parents=True)

    def choose(self, names: Sequence[str]) -> list[str]:
        """The files of these packages and of all that they need, with their digests."""
        self._names = list(names)
        said = self._install("--print-uris", fresh_lists_help=True)
        return [f"{one['name']} {one['digest']}" for one in _FILE.finditer(said)]

    def download(self) -> list[Path]:
        """The chosen files, checked against the signed lists."""
        self._install("--download-only", fresh_lists_help=True)
        return sorted((self._scratch / "archives").glob("*.deb"))

    def _install(self, how: str, *, fresh_lists_help: bool) -> str:
        ran = self._run("install", how, *self._names)
        if ran.returncode == 0:
            return ran.stdout
        if not fresh_lists_help or self._lists:
            raise KubeError(f"apt-get cannot get {' '.join(self._names)}:\n{ran.stderr.strip()}")
        self._lists = ["-o", f"Dir::State::lists={self._scratch / 'lists'}"]
        self._run("update")
        return self._install(how, fresh_lists_help=False)

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        own = {
            "Dir::State::status": self._scratch / "status",
            "Dir::Cache::archives": self._scratch / "archives",
            "Dir::Cache::pkgcache": "",
            "Dir::Cache::srcpkgcache": "",
            "APT::Install-Recommends": "false",
            "APT::Sandbox::User": "root",
            "Debug::NoLocking": "true",
        }
        options = [word for name, value in own.items() for word in ("-o", f"{name}={value}")]
        command = ["apt-get", "--yes", "-q", *options, *self._lists, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)


def _fill(folder: Path, apt: Apt) -> None:
    print("  unpacking packages of the distribution, once", file=sys.stderr, flush=True)
    _lay_out(folder)
    for package in apt.download():
        _unpack(package, folder)
    _finish(folder)


def _unpack(package: Path, folder: Path) -> None:
    """Through the links of merged folders, which `dpkg-deb --extract` would replace."""
    with tempfile.TemporaryFile() as files:
        subprocess.run(["dpkg-deb", "--fsys-tarfile", package], stdout=files, check=True, timeout=_SECONDS)
        files.seek(0)
        command = ["tar", "--extract", "--keep-directory-symlink", f"--directory={folder}"]
        subprocess.run(command, stdin=files, check=True, timeout=_SECONDS)


def _lay_out(folder: Path) -> None:
    """Packages still speak of /bin and /lib, which have moved to /usr."""
    for name in _MERGED:
        (folder / "usr" / name).mkdir(parents=True)
        (folder / name).symlink_to(f"usr/{name}")
    for name in ("proc", "sys", "dev", "run", "tmp", "root", "etc", "var/lib", "opt/cni"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "tmp").chmod(0o1777)


def _finish(folder: Path) -> None:
    """What the packages' own scripts would have done, as far as it is missed."""
    users = ("root:x:0:0:root:/root:/bin/sh", "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin")
    (folder / "etc/passwd").write_text("".join(f"{one}\n" for one in users))
    (folder / "etc/group").write_text("root:x:0:\nnogroup:x:65534:\n")
    authorities = sorted((folder / "usr/share/ca-certificates").glob("**/*.crt"))
    trusted = folder / "etc/ssl/certs/ca-certificates.crt"
    trusted.parent.mkdir(parents=True, exist_ok=True)
    trusted.write_text("".join(one.read_text() for one in authorities))
    shell = folder / "usr/bin/sh"
    if not shell.exists():
        shell.symlink_to("dash")
