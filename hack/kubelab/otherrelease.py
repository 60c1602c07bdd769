"""A module for another release of Kubernetes than the pinned one, made as `hack/kube` was.

Its sums are not recorded here: it is for trials by hand, such as of the oldest supported release.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

from hack.kubelab.golang import choose_go, install_go
from hack.kubelab.recipe import read_module
from hack.kubelab.release import MODULE, KubeError, Release, release_of

_NAMED = re.compile(r"v?1\.(\d+\.\d+)")
_REQUIRED = re.compile(r"^\s+(\S+) (v\S+)(?: // indirect)?$", re.MULTILINE)
_GO = re.compile(r"^(?:go|godebug) .*$", re.MULTILINE)
_UNRELEASED = "v0.0.0"  # how Kubernetes requires the modules that are released with it


def other_release(name: str, cache: Path) -> Release:
    """The release of that name, `1.33.13` or with a `v`; its module is made in the cache where it is not."""
    named = _NAMED.fullmatch(name)
    if named is None:
        raise KubeError(f"KUBE={name} is no release of Kubernetes, such as 1.33.13")
    module = cache / "modules" / f"v1.{named[1]}"
    if not (module / "go.sum").exists():
        module.mkdir(parents=True, exist_ok=True)
        _make(module, named[1])
    return release_of(module)


def _make(module: Path, version: str) -> None:
    go = choose_go(read_module(MODULE).oldest_go)
    program = str(go.program or install_go(module / "golang"))
    (module / "go.mod").write_text("module vacate.dev/hack/kube\n")
    answer = _run(program, module, "mod", "download", "-json", f"k8s.io/kubernetes@v1.{version}")
    theirs = Path(json.loads(answer)["GoMod"]).read_text()
    (module / "go.mod").write_text(module_text((MODULE / "go.mod").read_text(), theirs, version))
    _run(program, module, "mod", "tidy")
    shutil.rmtree(module / "golang", ignore_errors=True)


def module_text(pinned: str, theirs: str, version: str) -> str:
    """The go.mod that builds our tools at that version: what the release requires, of one release."""
    tools = pinned[pinned.index("tool (") : pinned.index("require (")]
    required = [*_REQUIRED.findall(theirs), ("k8s.io/kubernetes", f"v1.{version}")]
    lines = ["module vacate.dev/hack/kube", "", *_GO.findall(theirs), "", tools, "require ("]
    lines += [f"\t{module} {release}" for module, release in required]
    lines += [")", "", "replace ("]
    lines += [f"\t{one} => {one} v0.{version}" for one, release in required if release == _UNRELEASED]
    return "\n".join([*lines, ")", ""])


def _run(program: str, folder: Path, *arguments: str) -> str:
    environment = {"GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    command = ["env", *(f"{key}={value}" for key, value in environment.items()), program, *arguments]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise KubeError(f"go {' '.join(arguments)} failed:\n{(ran.stderr or ran.stdout).strip()}")
    return ran.stdout
