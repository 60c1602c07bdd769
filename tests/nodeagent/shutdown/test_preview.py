"""The order of a shutdown as a person reads it, by the command and by the function behind it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from support.processes.cluster import ClusterProcess, environment, running_cluster
from support.simulated.shutdown_scenario import machine
from vacate.api.installednames import labels
from vacate.api.nodeconditions import GRACEFUL_SHUTDOWN
from vacate.api.objects import Obj
from vacate.cli.node.shutdown import order_lines, shown_order
from vacate.cli.node.shutdownorder import preview
from vacate.errors import ConfigError
from vacate.nodeagent.shutdown.buckets import Bucket, ShutdownPod
from vacate.nodeagent.shutdown.config import ShutdownConfig, read_config
from vacate.nodeagent.shutdown.state import marks_of
from vacate.nodeagent.view import AgentPod
from vacate.sim.run import Sim, run_sim

CONFIG = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
shutdownGracePeriodByPodPriority:
- {priority: 0, shutdownGracePeriodSeconds: 60}
- {priority: 1000, shutdownGracePeriodSeconds: 120}
- {priority: 100000, shutdownGracePeriodSeconds: 10}
"""


HOW_TO = (Path(__file__).parents[3] / "docs/how-to/shut-down-in-order.md").read_text()


@pytest.mark.unit
def test_the_how_to_shows_what_its_configuration_does() -> None:
    config = read_config(yaml.safe_load(HOW_TO.partition("```yaml\n")[2].partition("```")[0]))
    pods = [
        ShutdownPod("1", "shop", "web", 5, 30),
        ShutdownPod("2", "shop", "db", 10, 20, interceptors=True),
        ShutdownPod("3", "kube-system", "dns", 200000, 30),
    ]
    shown = HOW_TO.partition("$ vacate node shutdown laptop --dry-run --config kubelet.yaml\n")[2]
    order = preview("laptop", config, pods)
    lines = shown.partition("```")[0].splitlines()
    widest = max(map(len, lines[1:]))
    assert order_lines(order) == order_lines(order, widest) == lines
    narrow = order_lines(order, 40)
    assert narrow[1:] == [
        "bucket 0: 1m, starts at +0s at the",
        "  latest",
        "  shop/db",
        "    priority 10, grace 20s, interceptors",
        "      40s, allotted 20s",
        "  shop/web",
        "    priority 5, grace 30s, allotted 30s",
        "bucket 1000: 2m, no pods, skipped",
        "bucket 100000: 10s, starts at +1m at the",
        "  latest",
        "  kube-system/dns",
        "    priority 200000, grace 30s, allotted",
        "      10s",
    ]
    assert order_lines(order, widest - 1)[1] == "bucket 0: 1m, starts at +0s at the latest"


@pytest.mark.unit
def test_a_node_without_the_feature_says_why() -> None:
    (line,) = order_lines(preview("laptop", ShutdownConfig(), []))
    assert "is off, since neither shutdownGracePeriod nor" in line


AGENT = labels("shutdown-agent")


def agent_pod(name: str, priority: int = 0, **more: Any) -> AgentPod:
    made = {"metadata": {"name": name, "namespace": "default", "uid": name, **more},
            "spec": {"priority": priority, "terminationGracePeriodSeconds": 300}}  # fmt: skip
    if name == "db":
        made["spec"]["evictionInterceptors"] = [{"name": "backup.example.com"}]
    return msgspec.convert(made, AgentPod)


def node_that_says(status: str, reason: str, message: str = "") -> Obj:
    condition = {"type": GRACEFUL_SHUTDOWN, "status": status, "reason": reason, "message": message}
    return {"metadata": {"name": "worker"}, "status": {"conditions": ["nonsense", condition]}}


PODS = [
    agent_pod("web"),
    agent_pod("db"),
    agent_pod("etcd", 2_000_001_000, annotations={"kubernetes.io/config.mirror": "x"}),
    agent_pod("agent", -1_000_000_000, labels=AGENT),
]


@pytest.mark.unit
def test_static_pods_and_the_agent_are_left_alone_and_a_node_that_cannot_says_why() -> None:
    config = read_config(yaml.safe_load(CONFIG))
    static = "pod default/etcd is static: it terminates with the machine"
    lines = shown_order("worker", config, PODS, node_that_says("True", "Agent"))
    assert [line.split()[3] for line in lines[2:4]] == ["default/db", "default/web"]
    assert not any("default/agent" in line for line in lines)
    assert lines[-1] == static
    why = "logind delays no shutdown (InhibitDelayMaxSec is 0), so that no pod is terminated in order"
    lines = shown_order("worker", config, PODS, node_that_says("False", "Unavailable", why))
    assert lines == [f"node/worker: all pods terminate at once, in no order: {why}", static]


@pytest.mark.unit
def test_a_node_that_does_not_say_what_logind_allows_is_named() -> None:
    config = read_config(yaml.safe_load(CONFIG))
    lines = shown_order("worker", config, PODS, {"metadata": {"name": "worker"}})
    assert [line.split()[3] for line in lines[2:4]] == ["default/db", "default/web"]
    assert lines[-1].startswith("node/worker does not say what logind allows it")


@pytest.mark.unit
def test_where_logind_allows_less_every_period_is_what_it_really_is() -> None:
    async def main(sim: Sim) -> None:
        place = machine(sim, list(config.buckets), [])
        place.logind.raisable, place.logind.limit = False, 20.0
        place.start()
        await place.until(lambda: place.state.locked)
        marks = marks_of(place.state, beside_kubelet=False)
        lines = shown_order("worker", config, PODS, node_that_says("True", marks.reason, marks.message))
        assert "logind must allow a delay of 191s" in lines[0]
        assert [line.split()[1] for line in lines[2:4]] == [
            "6s",
            "6s",
        ]  # 60 of 190 s, of the 19 that there are
        assert lines[-1].startswith(
            "node/worker: logind delays a shutdown by 20s at most, and pods have 3m10s"
        )
        await place.stop()

    config = read_config(yaml.safe_load(CONFIG))
    run_sim(main)


@pytest.mark.unit
def test_beside_a_kubelet_interceptors_have_their_time_before_and_static_pods_end_too() -> None:
    entries = [(-1_000_000_000, 100), (0, 60), (2_000_000_000, 30)]
    config = ShutdownConfig(tuple(Bucket(*one) for one in entries), "")
    node = node_that_says("True", "BesideKubelet")
    first, _, *rows = shown_order("worker", config, PODS, node)
    assert "4 pods terminate within 3m10s, after interceptors had their time" in first
    assert [(row.split()[3], *row.split()[-2:]) for row in rows] == [
        ("default/agent", "-", "1m40s"),
        ("default/db", "1m37s", "1m"),  # nothing of its own time is for them
        ("default/web", "-", "1m"),
        ("default/etcd", "-", "30s"),
    ]
    with pytest.raises(
        ConfigError, match="not that of the kubelet of node/worker: the kubelet terminates pods"
    ):
        shown_order("worker", read_config(yaml.safe_load(CONFIG)), PODS, node)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcess]:
    with running_cluster(tmp_path_factory.mktemp("cluster"), "--nodes", "1") as made:
        yield made


def run(cluster: ClusterProcess, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "vacate", "node", *arguments]
    env = environment() | {"KUBECONFIG": str(cluster.kubeconfig)}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=env)


@pytest.mark.thorough
@pytest.mark.process
def test_the_command_shows_the_pods_of_the_node(cluster: ClusterProcess, tmp_path: Path) -> None:
    (tmp_path / "kubelet.yaml").write_text(CONFIG)
    pod = {
        "metadata": {"name": "web"},
        "spec": {"nodeName": "node-1", "containers": [{"name": "a", "image": "b"}]},
    }
    cluster.https().call("POST", "/api/v1/namespaces/default/pods", pod).ok()
    config = ("--config", str(tmp_path / "kubelet.yaml"))
    done = run(cluster, "shutdown", "node-1", "--dry-run", *config)
    assert done.returncode == 0, done.stderr
    assert [line.split()[:4] for line in done.stdout.splitlines()[2:3]] == [["0", "1m", "+0s", "default/web"]]
    missing = run(cluster, "shutdown", "node-9", "--dry-run", *config)
    assert missing.returncode == 1
    assert missing.stderr == "error: there is no node node-9; see: kubectl get nodes\n"
    wet = run(cluster, "shutdown", "node-1", *config)
    assert wet.returncode == 2
    assert "add --dry-run" in wet.stderr


@pytest.mark.process
@pytest.mark.parametrize(
    ("text", "named"),
    [
        (CONFIG + "shutdownGracePeriod: 10s\n", "shutdownGracePeriodByPodPriority: cannot be combined"),
        ("{", "is neither YAML nor JSON"),
        (None, "cannot be read"),
    ],
)
@pytest.mark.thorough
def test_a_bad_file_stops_the_agent_before_it_does_anything(
    cluster: ClusterProcess, tmp_path: Path, text: str | None, named: str
) -> None:
    file = tmp_path / "kubelet.yaml"
    if text is not None:
        file.write_text(text)
    done = run(cluster, "--name", "bad", "--dir", str(tmp_path / "node"), "--config", str(file))
    assert done.returncode == 1, done.stderr
    assert named in done.stderr
    assert not (tmp_path / "node").exists()


@pytest.mark.process
@pytest.mark.thorough
def test_a_node_needs_a_name(cluster: ClusterProcess) -> None:
    assert "Missing option '--name'" in run(cluster).stderr
