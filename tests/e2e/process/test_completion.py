"""What shells complete, as the shells themselves do it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.processes.cluster import FAST_PODS, environment, running_cluster
from support.processes.commands import Lab, vacate
from support.waiting import until

pytestmark = pytest.mark.process

SCRIPT = """
source "$1"
COMP_WORDS=($2) COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
[[ $2 == *" " ]] && COMP_WORDS+=("") && COMP_CWORD=$(( COMP_CWORD + 1 ))
_vacate_completion vacate
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running_cluster(tmp_path_factory.mktemp("completion") / "dir", *FAST_PODS) as running:
        lab = Lab(running)
        lab.pod("web-1")
        lab.pod("web-2")
        yield lab


def completed(line: str, folder: Path, kubeconfig: str = "/nowhere") -> list[str]:
    script = folder / "vacate.bash"
    script.write_text(vacate({}, "completion", "bash").out)
    own = folder / "bin"
    own.mkdir(exist_ok=True)
    (own / "vacate").write_text(f'#!/bin/sh\nexec {sys.executable} -m vacate "$@"\n')
    (own / "vacate").chmod(0o755)
    path = f"{own}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", SCRIPT, "bash", str(script), line],
        capture_output=True,
        text=True,
        env={**environment(), "PATH": path, "KUBECONFIG": kubeconfig},
        check=True,
    )
    return sorted(done.stdout.split())


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_commands_options_and_values(tmp_path: Path) -> None:
    assert completed("vacate st", tmp_path) == ["status"]
    assert "--sort-by" in completed("vacate status --s", tmp_path)
    assert completed("vacate status --sort-by a", tmp_path) == ["active", "age"]
    assert completed("vacate completion ", tmp_path) == ["bash", "fish", "zsh"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.thorough
def test_pods_of_the_cluster(lab: Lab, tmp_path: Path) -> None:
    config = str(lab.cluster.kubeconfig)
    # A cluster that does not answer within two seconds is not waited for: then one types the tab again.
    until(lambda: completed("vacate evict w", tmp_path, config) == ["web-1", "web-2"])
    until(lambda: completed("vacate evict web-1 pod/w", tmp_path, config) == ["pod/web-2"])
    assert completed("vacate explain -n kube-system w", tmp_path, config) == []
    until(lambda: "node-1" in completed("vacate drain node-", tmp_path, config))
    until(lambda: completed("vacate explain -n kube-s", tmp_path, config) == ["kube-system"])
    assert completed("vacate status --context v", tmp_path, config) == ["vacate"]
    assert completed("vacate explain dep", tmp_path, config) == ["deployment/"]
    assert completed("vacate evict w", tmp_path) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_script_is_one(shell: str, tmp_path: Path) -> None:
    done = vacate({}, "completion", shell)
    assert done.code == 0
    assert f"_VACATE_COMPLETE={shell}_complete" in done.out
    if program := shutil.which(shell):
        (tmp_path / "script").write_text(done.out)
        assert subprocess.run([program, "-n", str(tmp_path / "script")], check=False).returncode == 0


@pytest.mark.thorough
def test_versions(lab: Lab, tmp_path: Path) -> None:
    done = lab.vacate("version")
    assert done.code == 0
    assert "client  vacate 0." in done.out
    assert "server  Kubernetes v1." in done.out
    assert "EvictionRequests are served as evictionrequest.coordination.k8s.io/v1alpha1" in done.out
    away = vacate({"KUBECONFIG": str(tmp_path / "none")}, "version")
    assert (away.code, away.out.partition(" ")[0]) == (1, "client")
    assert vacate({"KUBECONFIG": str(tmp_path / "none")}, "version", "--client").code == 0
