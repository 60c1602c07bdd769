"""The examples do what their READMEs show."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.documents import Command, commands_of, differences, run_all
from support.kubectl import kubectl_or_reason
from support.processes.cluster import FAST_PODS, ClusterProcess, running_cluster

pytestmark = pytest.mark.kubectl

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(ROOT.glob("examples/0[1-7]-*"))
QUICK = {EXAMPLES[0].name}  # the simplest


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcess]:
    gates = "--feature-gates=EvacuationAPI=true"  # of the last one
    with running_cluster(tmp_path_factory.mktemp("examples") / "dir", *FAST_PODS, gates) as running:
        yield running


@pytest.fixture
def surroundings(tmp_path: Path, cluster: ClusterProcess) -> dict[str, str]:
    """A shell whose kubectl is the one under test, and whose python has Vacate."""
    kubectl, reason = kubectl_or_reason()
    if kubectl is None:
        pytest.skip(reason)
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "kubectl").symlink_to(kubectl)
    path = f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {"HOME": str(tmp_path), "PATH": path, "KUBECONFIG": str(cluster.kubeconfig)}


def test_there_are_seven() -> None:
    assert [example.name[:2] for example in EXAMPLES] == ["01", "02", "03", "04", "05", "06", "07"]


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(path, id=path.name, marks=() if path.name in QUICK else pytest.mark.thorough)
        for path in EXAMPLES
    ],
)
def test_an_example_prints_what_its_readme_shows(
    example: Path, cluster: ClusterProcess, surroundings: dict[str, str]
) -> None:
    export, run = commands_of(example / "README.md")
    assert (export.text, run.text) == (
        "export KUBECONFIG=~/.vacate/kubeconfig",
        f"examples/{example.name}/run.sh",
    )
    namespace = f"vacate-example-{example.name[:2]}"
    gone = Command(f"kubectl wait --for=delete namespace/{namespace} --timeout=30s")
    printed, _ = run_all([run, gone], ROOT, surroundings)
    assert differences(run, printed) == [], printed
    assert "Traceback" not in printed
