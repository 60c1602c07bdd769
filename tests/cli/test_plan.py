"""`vacate plan`: its command line, exit codes, text and JSON, for a saved snapshot."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from vacate.api.kinds import NODES, PODS
from vacate.cli.main import cli
from vacate.plan.snapshot import Snapshot, reduced, save
from vacate.testing.builders import node, pod

pytestmark = pytest.mark.sim


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two nodes, and a pod on the first of them that nothing re-creates."""
    nodes = [node(name, metadata={"uid": name}) for name in ("node-1", "node-2")]
    running = {"name": "main", "ready": True, "state": {"running": {"startedAt": "2026-03-01T11:00:00Z"}}}
    status = {"startTime": "2026-03-01T11:00:00Z", "containerStatuses": [running]}
    lone = pod("lone", node="node-1", ready=True, metadata={"uid": "p1"}, status=status)
    objects = {
        NODES: [reduced(NODES, one) for one in nodes],
        PODS: [reduced(PODS, lone)],
    }
    path = tmp_path_factory.mktemp("plan") / "small.snapshot"
    save(Snapshot(dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC), objects, {"jobs.batch": "Jobs"}), path)
    return path


def plan(*words: str) -> Result:
    return CliRunner().invoke(cli, ["plan", *words], prog_name="vacate")


def test_a_drain_that_blocks_is_exit_code_5_with_the_blocker_and_its_remedy(saved: Path) -> None:
    shown = plan("node-1", "--from", str(saved), "--runs", "1")
    assert shown.exit_code == 5, shown.output
    assert "2 nodes, 1 pod, read at 2026-03-01 12:00:00 UTC; nothing was changed" in shown.output
    assert "WOULD BLOCK after 0s: 0 of 1 node drained, not node-1" in shown.output
    assert "pod default/lone, node-1: " in shown.output
    assert "--force" in shown.output
    assert "not read  jobs.batch: the plan does not know Jobs" in shown.output


def test_a_drain_that_finishes_is_exit_code_0(saved: Path) -> None:
    shown = plan("-l", "kubernetes.io/hostname=node-1", "--force", "--from", str(saved), "-o", "json")
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.output)
    assert found["outcome"]["verdict"] == "Finishes"
    assert [one["pace"] for one in found["runs"]] == ["slow", "fast"]
    assert found["decisive"]["nodes"][0]["lastPod"] == "default/lone"
    (workload,) = found["decisive"]["workloads"]
    assert (workload["workload"], workload["lowest"], workload["lasting"]) == ("default Pod/lone", 0, True)


def test_the_horizon_ends_a_drain_that_still_moves(saved: Path) -> None:
    """It has not been quiet for as long as a retry may take: what it would come to is not known."""
    shown = plan("node-1", "--from", str(saved), "--runs", "1", "--horizon", "60s")
    assert shown.exit_code == 5
    assert "WOULD NOT FINISH in 60s" in shown.output


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        ((), 2, "name nodes, or use one of -l and --all-nodes"),
        (("node-1", "--all-nodes"), 2, "name nodes, or use one of -l and --all-nodes"),
        (("node-1", "--max-nodes", "1,none"), 2, "neither a number"),
        (("node-1", "--interceptor", "backup"), 2, "write NAME=SPAN"),
        (("node-1", "--ignore-daemonsets", "--evict-daemonsets"), 2, "not both"),
    ],
)
def test_a_command_line_that_cannot_be_meant(words: tuple[str, ...], code: int, why: str) -> None:
    shown = plan(*words)
    assert (shown.exit_code, why in shown.output) == (code, True), shown.output


@pytest.mark.parametrize(
    ("words", "why"),
    [(("node-9",), "there is no node node-9"), (("-l", "pool=none"), "no node matches 'pool=none'")],
)
def test_nodes_that_are_not_there(saved: Path, words: tuple[str, ...], why: str) -> None:
    refused = plan(*words, "--from", str(saved)).exception
    assert why in str(refused)
