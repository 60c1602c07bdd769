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
from collections.abc import Callable, Collection, Sequence
from functools import cache
from pathlib import Path

from hack.kubelab.release import KubeError
from hack.nodelab.kept import home, kept

# The shell and its tools, and what the distribution's other packages silently rely on.
_GROUND = ("base-files", "dash", "coreutils", "ca-certificates", "netbase")
_FILE = re.compile(r"^'(?P<address>[^']+)' (?P<name>\S+) \d+ (?P<digest>\S+)$", re.MULTILINE)
_MERGED = ("bin", "sbin", "lib", "lib64")
_SECONDS = 900.0
# Kept folders of another making are not used again.
_MAKING = 2


@cache
def root_of(kind: str, names: tuple[str, ...]) -> Path:
    """A folder with these packages and all that they need, for this machine."""
    with tempfile.TemporaryDirectory(prefix="vacate-apt-") as scratch:
        apt = Apt(Path(scratch), home() / "lists")
        return kept_root(kind, apt, [*_GROUND, *names], str(_MAKING))


def kept_root(
    kind: str, apt: Apt, names: Sequence[str], making: str, finish: Callable[[Path], None] = lambda _: None
) -> Path:
    """The same of exactly these, for the architecture of the package manager; `finish` comes last."""
    files = apt.choose(names)
    key = hashlib.sha256("\n".join([making, *sorted(files)]).encode()).hexdigest()[:12]
    return kept(kind, key, lambda folder: _fill(folder, apt, finish))


class Apt:
    """The package manager, as if nothing were installed and without touching what is.

    It reads the machine's lists of packages; where these are missing or too old, lists of its own.
    """

    def __init__(
        self, scratch: Path, lists: Path, architecture: str = "", without: Collection[str] = ()
    ) -> None:
        """Of an architecture, with lists of its own; `without` those that only set others up."""
        self._scratch = scratch
        self._lists = lists
        self._architecture = architecture
        self._without = without
        self._names: list[str] = []
        self._own_lists = False
        (scratch / "status").touch()
        (scratch / "archives/partial").mkdir(parents=True)

    def choose(self, names: Sequence[str]) -> list[str]:
        """The files of these packages and of all that they need, with their digests."""
        self._names = list(names)
        output = self._install("--print-uris")
        found = (one for one in _FILE.finditer(output) if _package(one["name"]) not in self._without)
        return [f"{one['name']} {one['digest']}" for one in found]

    def download(self) -> list[Path]:
        """The chosen files, checked against the signed lists."""
        self._install("--download-only")
        found = sorted((self._scratch / "archives").glob("*.deb"))
        return [one for one in found if _package(one.name) not in self._without]

    def _install(self, how: str) -> str:
        ran = self._run("install", how, *self._names)
        for remedy in (self._turn_to_own_lists, self._renew_lists):
            if ran.returncode:
                remedy()
                ran = self._run("install", how, *self._names)
        if ran.returncode == 0:
            return ran.stdout
        raise KubeError(f"apt-get cannot get {' '.join(self._names)}:\n{ran.stderr.strip()}")

    def _turn_to_own_lists(self) -> None:
        self._own_lists = True
        if not self._lists.exists():
            self._renew_lists()

    def _renew_lists(self) -> None:
        (self._lists / "partial").mkdir(parents=True, exist_ok=True)
        self._run("update")

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
        if self._architecture:
            own |= {"APT::Architecture": self._architecture, "APT::Architectures": self._architecture}
        if self._own_lists:
            own["Dir::State::lists"] = self._lists
        options = [word for name, value in own.items() for word in ("-o", f"{name}={value}")]
        command = ["apt-get", "--yes", "-q", *options, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)


def _package(file: str) -> str:
    return file.partition("_")[0]


def _fill(folder: Path, apt: Apt, finish: Callable[[Path], None]) -> None:
    print("  unpacking packages of the distribution, once", file=sys.stderr, flush=True)
    _lay_out(folder)
    for package in apt.download():
        _unpack(package, folder)
    _finish(folder)
    finish(folder)


def _unpack(package: Path, folder: Path) -> None:
    """Through the links of merged folders, which `dpkg-deb --extract` would replace."""
    about = folder / "var/lib/dpkg/status.d" / _package(package.name)  # where scanners of images look
    about.parent.mkdir(parents=True, exist_ok=True)
    fields = subprocess.run(
        ["dpkg-deb", "--field", package], stdout=subprocess.PIPE, check=True, timeout=_SECONDS
    )
    about.write_bytes(fields.stdout)
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
    if not shell.exists() and (folder / "usr/bin/dash").exists():
        shell.symlink_to("dash")
