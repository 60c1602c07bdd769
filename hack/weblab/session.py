"""Run a command with a real browser, its driver and axe-core, all kept in the user's cache.

    python -m hack.weblab.session -- COMMAND…
    python -m hack.weblab.session --missing      prints what is missing here, or nothing

The browser is Debian's Chromium without a window, unpacked and not installed, with the libraries that the
machine lacks. Playwright and axe-core come from locked requirements, into a folder of their own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from hack.kubelab.obtain import cache_folder, cached
from hack.kubelab.release import KubeError, architecture

REPOSITORY = Path(__file__).parents[2]
LOCK = REPOSITORY / "requirements/web.lock"
LAB = "VACATE_WEB_LAB"
BROWSER = "usr/lib/chromium/chromium-headless-shell"
_PACKAGES = ("chromium-headless-shell", "fonts-dejavu-core")
_SECONDS = 900.0
# Kept folders of another making are not used again.
_MAKING = 1


def missing() -> str:
    """What is missing here, or nothing."""
    absent = [name for name in ("apt-get", "dpkg-deb") if not shutil.which(name)]
    if absent:
        return f"a real browser needs {', '.join(absent)} (Debian or a relative of it)"
    try:
        obtain()
    except (subprocess.SubprocessError, OSError, KubeError) as error:
        return f"the browser or its driver cannot be obtained: {error}"
    return ""


def obtain() -> Path:
    """The folder: `root` with the browser, `python` with the driver; made once."""
    known = [str(_MAKING), *_PACKAGES, sys.version.split()[0], LOCK.read_text(), _release()]
    digest = hashlib.sha256("\n".join(known).encode()).hexdigest()[:12]
    return cached(cache_folder().parent / "web", f"{architecture()}-{digest}", _make, ["ready"])


def _release() -> str:
    known = Path("/etc/os-release")
    return known.read_text() if known.exists() else ""


def _make(work: Path) -> Path:
    print("obtaining Chromium, Playwright and axe-core: 150 MB, once", file=sys.stderr, flush=True)
    made = work / "made"
    (made / "root").mkdir(parents=True)
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    _run(*pip, "--require-hashes", "--no-deps", "--target", str(made / "python"), "-r", str(LOCK))
    for package in _download(work):
        _run("dpkg-deb", "--extract", str(package), str(made / "root"))
    if not (made / "root" / BROWSER).exists():  # the machine has it installed already
        shutil.rmtree(made / "root")
        (made / "root").symlink_to("/")
    if not (made / "root" / BROWSER).exists():
        raise KubeError(f"the packages {', '.join(_PACKAGES)} have no /{BROWSER}")
    ready = made / "ready"
    ready.write_text("#!/bin/sh\n")
    ready.chmod(0o755)
    return made


def _download(work: Path) -> list[Path]:
    """Those of the packages that the machine lacks; by lists of its own where the machine's are too old."""
    with tempfile.TemporaryDirectory(prefix="lists-", dir=work) as lists:
        own = ("-o", f"Dir::State::lists={lists}")
        try:
            _apt(work, "install", "--download-only", *_PACKAGES)
        except subprocess.CalledProcessError:
            (Path(lists) / "partial").mkdir()
            _apt(work, *own, "update")
            _apt(work, *own, "install", "--download-only", *_PACKAGES)
    return sorted((work / "archives").glob("*.deb"))


def _apt(work: Path, *arguments: str) -> None:
    (work / "archives/partial").mkdir(parents=True, exist_ok=True)
    own = {
        "Dir::Cache::archives": str(work / "archives"),
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",
        "Debug::NoLocking": "true",
    }
    options = [word for name, value in own.items() for word in ("-o", f"{name}={value}")]
    _run("apt-get", "--yes", "-qq", *options, *arguments)


def _run(*command: str) -> None:
    # What they print is no answer of this program.
    subprocess.run(command, check=True, timeout=_SECONDS, stdout=sys.stderr)


def main() -> int:
    """The exit code of the command."""
    if why := missing():
        print(why)
        return 0 if "--missing" in sys.argv else 1
    if "--missing" in sys.argv:
        return 0
    home = obtain()
    path = os.pathsep.join(filter(None, [str(home / "python"), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, LAB: str(home), "PYTHONPATH": path}
    command = sys.argv[sys.argv.index("--") + 1 :]
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
