"""The order of a shutdown as a person reads it, by the command and by the function behind it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from support.cluster_process import ClusterProcess, environment, running_cluster
from vacate.nodeagent.shutdown.buckets import ShutdownPod
from vacate.nodeagent.shutdown.config import ShutdownConfig, read_config
from vacate.nodeagent.shutdown.preview import preview

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
    assert preview("laptop", config, pods) == shown.partition("```")[0].splitlines()


@pytest.mark.unit
def test_a_node_without_the_feature_says_why() -> None:
    (line,) = preview("laptop", ShutdownConfig(), [])
    assert "is off, since neither shutdownGracePeriod nor" in line


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcess]:
    with running_cluster(tmp_path_factory.mktemp("cluster"), "--nodes", "1") as made:
        yield made


def run(cluster: ClusterProcess, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "vacate", "node", *arguments]
    env = environment() | {"KUBECONFIG": str(cluster.kubeconfig)}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=env)


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
    missing = run(cluster, "shutdown", "nobody", "--dry-run", *config)
    assert missing.returncode == 1
    assert '"nobody" not found' in missing.stderr
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
def test_a_node_needs_a_name(cluster: ClusterProcess) -> None:
    assert "Missing option '--name'" in run(cluster).stderr
