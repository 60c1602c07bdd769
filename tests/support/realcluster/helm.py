"""Helm as its users know it: the program named by HELM, else that of `make peers`."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from hack.gen_deploy import chart, write
from hack.kubelab.peers import GIVEN

from support.yaml_text import yaml_documents
from vacate.api.objects import Obj
from vacate.install import Settings

Values = Mapping[str, Any]


@cache
def helm_or_reason() -> tuple[str | None, str]:
    """The program, or why there is none."""
    peers = os.environ.get(GIVEN)
    wanted = os.environ.get("HELM") or (f"{peers}/helm" if peers else "")
    found = shutil.which(wanted)
    return found, "" if found else f"no Helm: {GIVEN}=$(make --silent peers) builds and names one"


@cache
def chart_folder() -> Path:
    """The chart as users unpack it, for as long as the tests run."""
    kept = tempfile.TemporaryDirectory(prefix="vacate-chart-")
    atexit.register(kept.cleanup)
    write(Path(kept.name) / "vacate", chart())
    return Path(kept.name) / "vacate"


class Helm:
    """Commands of Helm, with a home of their own; `kubeconfig` for those that need a cluster."""

    def __init__(self, program: str, folder: Path, kubeconfig: Path | None = None) -> None:
        self._program = program
        self._folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HELM", "KUBE"))}
        homes = {f"HELM_{name}_HOME": str(folder / name.lower()) for name in ("CACHE", "CONFIG", "DATA")}
        self._env = kept | homes | ({"KUBECONFIG": str(kubeconfig)} if kubeconfig else {})

    def run(self, *arguments: str) -> str:
        """What a command that succeeds prints."""
        done = self.ran(*arguments)
        assert done.returncode == 0, done.stderr or done.stdout
        return done.stdout

    def ran(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """How a command ended."""
        command = [self._program, *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, env=self._env, timeout=120, check=False
        )

    def template(self, values: Values, namespace: str) -> list[Obj]:
        """The objects that the chart makes of the values."""
        given = self.values({"image": Settings().image, **values})
        options = ("-n", namespace, "-f", given, "--kube-version", "1.36.0", "--skip-tests")
        return objects_of(self.run("template", "vacate", str(chart_folder()), *options))

    def values(self, values: Values) -> str:
        """A file with them."""
        file = self._folder / "values.yaml"
        file.write_text(yaml.safe_dump(dict(values)))
        return str(file)


def objects_of(text: str) -> list[Obj]:
    """What a text of YAML holds."""
    return [obj for obj in yaml_documents(text) if obj]
