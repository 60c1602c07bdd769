"""The agent is killed at every stage and comes back: no second copy, no orphan, exit codes kept."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hack.kubelab.ports import reserve_port

from support.nodes.agents import main_status, ready
from support.nodes.containers import clean
from support.processes.cluster import ClusterProcess, running_cluster, vacate
from support.processes.node import NODE, NodeProcess, node_process
from support.waiting import until

pytestmark = pytest.mark.process

STUBBORN = "trap 'echo refused' TERM; echo on; while :; do sleep 0.02; done"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcess]:
    with running_cluster(tmp_path_factory.mktemp("cluster"), "--nodes", "0") as made:
        yield made


@pytest.fixture
def node(cluster: ClusterProcess, tmp_path: Path) -> Iterator[NodeProcess]:
    with node_process(cluster, tmp_path / "node") as made:
        made.start()
        yield made
    # Another folder is another agent, which would be refused.
    cluster.https().delete(f"/api/v1/nodes/{NODE}")
    asyncio.run(clean(tmp_path / "node"))


def log_of(node: NodeProcess, uid: str) -> str:
    folder = node.folder / "pods" / uid / "logs" / "main"
    return "".join(one.read_text() for one in sorted(folder.glob("*.log"))) if folder.is_dir() else ""


@pytest.mark.thorough
def test_a_restarted_agent_finds_its_processes_and_their_exit_codes(node: NodeProcess) -> None:
    stays = node.create("stays", "echo run; exec sleep 100001")
    script = "echo run; until [ -e go ]; do sleep 0.02; done; exit 6"
    ends = node.create("ends", script, restartPolicy="Never")
    node.until("stays", ready)
    node.until("ends", lambda one: one["status"]["phase"] == "Running")
    # A pod is ready before its shell has done anything.
    before = until(lambda: node.running("sleep\x00100001"))
    node.kill()
    (node.folder / "pods" / ends["metadata"]["uid"] / "containers/main/go").touch()
    until(lambda: not node.running("exit 6"))
    node.start()
    ended = node.until("ends", lambda one: one["status"]["phase"] == "Failed")
    assert main_status(ended)["state"]["terminated"]["exitCode"] == 6
    assert main_status(node.until("stays", ready))["restartCount"] == 0
    assert node.running("sleep\x00100001") == before
    for one in (stays, ends):
        until(lambda uid=one["metadata"]["uid"]: log_of(node, uid) == "run\n")  # type: ignore[misc]
    for name in ("stays", "ends"):
        node.delete(name)
        node.gone(name)


@pytest.mark.thorough
def test_a_pod_that_is_deleted_while_the_agent_is_away_is_ended_when_it_comes_back(node: NodeProcess) -> None:
    for name in ("force", "asked"):
        node.create(name, "exec sleep 100002")
        node.until(name, ready)
    until(lambda: len(node.running("sleep\x00100002")) == 2)
    node.kill()
    node.delete("force", grace=0)
    node.delete("asked")
    assert node.get("force") is None
    assert len(node.running("sleep\x00100002")) == 2
    node.start()
    until(lambda: not node.running("sleep\x00100002"))
    node.gone("asked")
    until(lambda: not list((node.folder / "pods").iterdir()))


@pytest.mark.thorough
def test_a_crash_in_the_middle_of_termination_goes_on_with_it(node: NodeProcess) -> None:
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "echo hook >> hooks; sleep 0.2"]}}}
    made = node.create("web", STUBBORN, terminationGracePeriodSeconds=3600, container={"lifecycle": hook})
    uid = made["metadata"]["uid"]
    until(lambda: "on" in log_of(node, uid))
    node.until("web", ready)
    node.delete("web")
    until(lambda: "refused" in log_of(node, uid))
    with (node.folder / "pods" / uid / "containers/main/hooks").open() as hooks:
        node.kill()
        assert node.get("web") is not None
        node.start()
        node.delete("web", grace=1)
        node.gone("web")
        assert not node.running(uid)
        assert hooks.read() == "hook\n"  # and no second one


@pytest.mark.thorough
def test_killed_at_any_moment_it_runs_each_pod_once(node: NodeProcess) -> None:
    names = [f"p{number}" for number in range(12)]
    made = {name: node.create(name, f"echo run; exec sleep 20000{name[1:]}") for name in names}
    for count in (1, 5, 9):
        until(lambda least=count: len(node.running("sleep\x0020000")) >= least)  # type: ignore[misc]
        node.kill()
        node.start()
    for name in names:
        assert main_status(node.until(name, ready))["restartCount"] == 0
        (_,) = until(lambda name=name: node.running(f"sleep\x0020000{name[1:]}\x00"))  # type: ignore[misc]
        until(lambda name=name: log_of(node, made[name]["metadata"]["uid"]) == "run\n")  # type: ignore[misc]
    for name in names:
        node.delete(name)
    for count in (11, 6, 1):
        until(lambda most=count: len(node.running("sleep\x0020000")) <= most)  # type: ignore[misc]
        node.kill()
        node.start()
    for name in names:
        node.gone(name)


@pytest.mark.thorough
def test_when_the_supervisor_dies_too_a_lost_exit_code_is_reported_as_unknown(node: NodeProcess) -> None:
    made = node.create("web", "exec sleep 100003", restartPolicy="Never")
    node.until("web", ready)
    node.kill()
    (supervisor,) = node.running(str(node.folder / "runtime"))
    os.kill(supervisor, signal.SIGKILL)
    (pid,) = until(lambda: node.running("sleep\x00100003"))
    os.kill(pid, signal.SIGKILL)
    node.start()
    failed = node.until("web", lambda one: one["status"]["phase"] == "Failed")
    ended = main_status(failed)["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (137, "ContainerStatusUnknown")
    assert made["metadata"]["uid"] in ended["containerID"]
    node.delete("web")
    node.gone("web")


@pytest.mark.thorough
def test_stopped_in_good_order_it_leaves_its_pods_running(node: NodeProcess) -> None:
    node.create("web", "exec sleep 100004")
    node.until("web", ready)
    assert node.stop() == 0
    assert node.running("sleep\x00100004")
    node.start()
    node.until("web", ready)
    node.delete("web")
    node.gone("web")


@pytest.mark.thorough
def test_a_second_agent_of_the_same_name_and_a_kubelets_node_are_refused(
    node: NodeProcess, cluster: ClusterProcess, tmp_path: Path
) -> None:
    node.create("web", "exec sleep 100008")
    node.until("web", ready)
    cluster.https().create("/api/v1/nodes", {"metadata": {"name": "real"}})
    for name, why in ((NODE, "another agent's"), ("real", "a kubelet's")):
        options = ("--kubeconfig", str(cluster.kubeconfig), "--dir", str(tmp_path / "other"))
        done = vacate("node", "--name", name, *options)
        assert done.returncode == 1
        assert why in done.stderr
        assert f"kubectl delete node {name}" in done.stderr
        (tmp_path / "other/agent.lock").unlink()
    assert len(until(lambda: node.running("sleep\x00100008"))) == 1
    node.delete("web")
    node.gone("web")


@pytest.mark.thorough
def test_without_the_api_what_runs_goes_on_and_the_agent_waits(tmp_path: Path) -> None:
    port = reserve_port()  # nobody else gets it between the two
    with (
        running_cluster(tmp_path / "up", "--nodes", "0", port=port) as first,
        node_process(first, tmp_path / "node") as node,
    ):
        node.start()
        node.create("web", "exec sleep 100009")
        node.until("web", ready)
        before = until(lambda: node.running("sleep\x00100009"))
        first.stop()
        node.kill()
        node.start()
        until(lambda: "waiting for the API server" in (tmp_path / "agent.log").read_text())
        assert node.running("sleep\x00100009") == before
        with running_cluster(tmp_path / "up", "--nodes", "0", port=port) as second:
            node.cluster = second
            assert main_status(node.until("web", ready))["restartCount"] == 0
            assert node.running("sleep\x00100009") == before
            node.delete("web")
            node.gone("web")
    asyncio.run(clean(tmp_path / "node"))
