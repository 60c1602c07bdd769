"""`vacate up --runtime process` with kubectl: pods are processes, and end with the cluster."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.nodes.containers import clean
from support.processes.cluster import ClusterProcess, environment, running_cluster
from support.processes.node import running
from support.waiting import until

pytestmark = [pytest.mark.process, pytest.mark.kubectl]

POD = """
apiVersion: v1
kind: Pod
metadata: {name: talker}
spec:
  terminationGracePeriodSeconds: 2
  containers:
  - name: main
    image: none
    command: [sh, -c, "for i in 1 2 3; do echo line $i; done; sleep 1; echo late; exec sleep 100005"]
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ClusterProcess]:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    with running_cluster(tmp_path, "--nodes", "2", "--runtime", "process") as made:
        yield made
        made.stop()
    for name in ("node-1", "node-2"):
        asyncio.run(clean(tmp_path / "nodes" / name))


def asleep(cluster: ClusterProcess) -> list[int]:
    """Processes of this cluster's pods that have come to their last command."""
    return running(cluster.folder, "sleep\x00100005")


def kubectl(cluster: ClusterProcess, *arguments: str, text: str = "") -> str:
    command = ["kubectl", "--kubeconfig", str(cluster.kubeconfig), *arguments]
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=120, env=environment(), check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_pods_print_are_read_and_end_with_the_cluster(cluster: ClusterProcess) -> None:
    kubectl(cluster, "apply", "-f", "-", text=POD)
    kubectl(cluster, "wait", "--for=condition=Ready", "pod/talker", "--timeout=100s")
    # A pod is ready before its shell has done anything.
    until(lambda: kubectl(cluster, "logs", "talker").startswith("line 1\nline 2\nline 3\n"))
    followed = subprocess.Popen(
        ["kubectl", "--kubeconfig", str(cluster.kubeconfig), "logs", "-f", "--tail=1", "talker"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    until(lambda: asleep(cluster))
    assert kubectl(cluster, "logs", "talker", "--tail=2") == "line 3\nlate\n"
    assert kubectl(cluster, "logs", "talker", "--since=1h", "--limit-bytes=6") == "line 1"
    assert kubectl(cluster, "logs", "talker", "--timestamps", "--tail=1").endswith("Z late\n")
    assert kubectl(cluster, "logs", "talker", "--since-time=2126-01-01T00:00:00Z") == ""
    kubectl(cluster, "delete", "pod", "talker")
    assert followed.communicate(timeout=60)[0].endswith("late\n")
    assert not asleep(cluster)
    kubectl(cluster, "apply", "-f", "-", text=POD)
    until(lambda: asleep(cluster))
    assert cluster.stop() == 0
    assert not asleep(cluster)
