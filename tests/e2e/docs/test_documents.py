"""The tutorial, the how-to guides and the example do what they say."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hack.kubelab.ports import reserve_port

from support.documents import Command, commands_of, differences, run_all
from support.kubectl import kubectl_or_reason
from support.processes.cluster import FAST_PODS, running_cluster

pytestmark = pytest.mark.kubectl

ROOT = Path(__file__).parents[3]
TUTORIALS = ROOT / "docs/tutorial"
EXAMPLE = ROOT / "examples/00-embedded-cluster"


@pytest.fixture
def surroundings(tmp_path: Path) -> dict[str, str]:
    """A shell of a user at home in a temporary folder, whose kubectl and vacate are those under test."""
    kubectl, reason = kubectl_or_reason()
    if kubectl is None:
        pytest.skip(reason)
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "kubectl").symlink_to(kubectl)
    (tools / "vacate").symlink_to(Path(sys.prefix) / "bin/vacate")
    return {"HOME": str(tmp_path), "KUBECTL": kubectl, "PATH": f"{tools}:{os.environ['PATH']}"}


def cluster_folder(surroundings: dict[str, str]) -> Path:
    return Path(surroundings["HOME"]) / ".vacate"


def work_folder(tmp_path: Path) -> Path:
    """Where the user stands: the files of the repository are there, and what is made stays out of it."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "examples").symlink_to(ROOT / "examples")
    return folder


def follow(document: Path, folder: Path, surroundings: dict[str, str]) -> list[tuple[Command, str]]:
    """Run the whole document, with a cluster started wherever it says so; what each command printed."""
    home = cluster_folder(surroundings)
    printed: list[tuple[Command, str]] = []
    port = reserve_port()  # nobody else gets it between two of them
    for options, commands in by_cluster(commands_of(document)):
        with running_cluster(home, *FAST_PODS, *options, port=port):
            exported = ["export KUBECONFIG=~/.vacate/kubeconfig"] if printed else []
            shell = [*(Command(line) for line in exported), *commands]
            output = run_all(shell, folder, surroundings)
            printed += list(zip(shell, output, strict=True))
    return printed


def by_cluster(commands: list[Command]) -> list[tuple[list[str], list[Command]]]:
    """The commands, parted by each start of a cluster, with its options."""
    parts: list[tuple[list[str], list[Command]]] = []
    for command in commands:
        if command.starts_cluster:
            parts.append((command.options, []))
            continue
        if not parts:
            parts.append(([], []))
        parts[-1][1].append(command)
    return parts


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "fewest"), [("first-cluster.md", 13), ("first-drain.md", 13), ("first-plan.md", 9)]
)
def test_a_tutorial_shows_what_is_printed(
    tmp_path: Path, surroundings: dict[str, str], name: str, fewest: int
) -> None:
    printed = follow(TUTORIALS / name, work_folder(tmp_path), surroundings)
    wrong = [(command.text, differences(command, output)) for command, output in printed]
    assert [(text, lines) for text, lines in wrong if lines] == []
    assert len(printed) >= fewest


def test_the_readme_can_be_followed(tmp_path: Path, surroundings: dict[str, str]) -> None:
    """But for its set-up, which every run of these tests has behind it."""
    used = tmp_path / "use-it.md"
    used.write_text((ROOT / "README.md").read_text().partition("## Use it")[2])
    folder = work_folder(tmp_path)
    (folder / ".venv").symlink_to(sys.prefix)
    printed = follow(used, folder, surroundings)
    (dry_run, foreseen), (drain, drained) = printed[-2:]
    assert dry_run.text == "vacate drain node-1 --dry-run"
    assert "Verdict: " in foreseen
    assert drain.text == "vacate drain node-1"
    assert "node/node-1 drained" in drained


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name",
    ["simulate-pods.md", "use-kubectl.md", "add-users.md", "single-replica.md"],
)
def test_a_guide_can_be_followed(tmp_path: Path, surroundings: dict[str, str], name: str) -> None:
    printed = follow(ROOT / "docs/how-to" / name, work_folder(tmp_path), surroundings)
    assert len(printed) > 5


@pytest.mark.thorough
def test_the_example_runs_and_leaves_nothing_behind(tmp_path: Path, surroundings: dict[str, str]) -> None:
    home = cluster_folder(surroundings)
    around = {**surroundings, "KUBECONFIG": str(home / "kubeconfig")}
    script = Command(str(EXAMPLE / "run.sh"))
    gone = Command("kubectl wait --for=delete namespace/vacate-example --timeout=100s")
    with running_cluster(home, *FAST_PODS) as cluster:
        printed, _ = run_all([script, gone], tmp_path, around)
        nodes = cluster.https().get("/api/v1/nodes").ok()["items"]
    assert "deployment.apps/web created" in printed
    assert "drained" in printed or "evicted" in printed
    assert "Terminating" in printed
    assert not any(node["spec"].get("unschedulable") for node in nodes)


def test_the_example_touches_no_other_cluster(tmp_path: Path, surroundings: dict[str, str]) -> None:
    (tmp_path / "nowhere").write_text("")
    check = f"! {EXAMPLE / 'run.sh'}"
    (output,) = run_all([Command(check)], tmp_path, {**surroundings, "KUBECONFIG": str(tmp_path / "nowhere")})
    assert "created" not in output
