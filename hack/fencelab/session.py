"""Run a command beside a real fence agent and a real Redfish service, both kept in .cache.

    python -m hack.fencelab.session -- COMMAND…
    python -m hack.fencelab.session --missing      prints what is missing here, or nothing

The agent is Debian's fence_redfish, unpacked and not installed; the service is sushy-emulator, from
locked requirements. The command finds fence_redfish on its PATH, and the service's program below the folder
that VACATE_REDFISH_LAB names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
LOCK = REPOSITORY / "requirements/redfish.lock"
HOME = REPOSITORY / ".cache/fencelab"
LAB = "VACATE_REDFISH_LAB"
_SECONDS = 600.0
# The agent does not start without a password, which the service does not look at.
_WRAPPER = """#!/bin/sh
PYTHONPATH={root}/usr/share/fence
export PYTHONPATH
{{ cat; echo passwd=unused; }} | {python} -tt {root}/usr/sbin/fence_redfish "$@"
"""


def missing() -> str:
    """What is missing here, or nothing."""
    absent = [name for name in ("apt-get", "dpkg-deb", "openssl") if not shutil.which(name)]
    if absent:
        return f"a real fence agent needs {', '.join(absent)} (Debian or a relative of it)"
    try:
        obtain()
    except (subprocess.SubprocessError, OSError, StopIteration) as error:
        return f"the fence agent or the Redfish service cannot be obtained: {error}"
    return ""


def obtain() -> Path:
    """The folder with the programs; made once."""
    bin_folder = HOME / "venv/bin"
    if not (HOME / "done").exists():
        HOME.mkdir(parents=True, exist_ok=True)
        _run(sys.executable, "-m", "venv", str(HOME / "venv"))
        pip = (str(bin_folder / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        _run(*pip, "--require-hashes", "-r", str(LOCK))
        with tempfile.TemporaryDirectory(prefix="vacate-fence-") as scratch:
            _download(scratch)
            package = next(Path(scratch).glob("*.deb"))
            _run("dpkg-deb", "--extract", str(package), str(HOME / "root"))
        wrapper = HOME / "bin/fence_redfish"
        wrapper.parent.mkdir(exist_ok=True)
        wrapper.write_text(_WRAPPER.format(root=HOME / "root", python=bin_folder / "python"))
        wrapper.chmod(0o755)
        (HOME / "done").touch()
    return HOME


def _download(folder: str) -> None:
    """By the machine's lists of packages; where these are missing or too old, by lists of its own."""
    quiet = ("-q", "-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=true")
    try:
        _run("apt-get", *quiet, "download", "fence-agents", folder=folder)
    except subprocess.CalledProcessError:
        (HOME / "lists/partial").mkdir(parents=True, exist_ok=True)
        own = (*quiet, "-o", f"Dir::State::lists={HOME / 'lists'}")
        _run("apt-get", *own, "update")
        _run("apt-get", *own, "download", "fence-agents", folder=folder)


def _run(*command: str, folder: str | None = None) -> None:
    # What they print is no answer of this program.
    subprocess.run(command, cwd=folder, check=True, timeout=_SECONDS, stdout=sys.stderr)


def main() -> int:
    """The exit code of the command."""
    if why := missing():
        print(why)
        return 0 if "--missing" in sys.argv else 1
    if "--missing" in sys.argv:
        return 0
    home = obtain()
    path = f"{home / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, LAB: str(home), "PATH": path}
    command = sys.argv[sys.argv.index("--") + 1 :]
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
