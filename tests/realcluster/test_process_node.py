"""`vacate node` on the real API server, scheduler and controllers, and on the embedded ones.

Agents have the identities of their nodes, and no other rights.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hack.kubelab.certificates import write_kubeconfigs
from hack.kubelab.control_plane import running as real_cluster
from hack.kubelab.flags import Layout
from hack.kubelab.obtain import ASSETS

from support.hostile.cuttable_proxy import cuttable
from support.nodes.containers import clean
from support.processes.cluster import environment, running_cluster
from support.processes.node import running
from support.waiting import until
from vacate.embedded.bootstrap import identities

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("process-node")]

EXAMPLE = Path(__file__).parents[2] / "examples/process-pods/web.yaml"
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "door"}, "stringData": {"key": "sesame"}}
TOLERATION = {"key": "vacate.dev/process", "operator": "Exists"}


def _pod(name: str, script: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "command": ["sh", "-c", script]}
    container |= spec.pop("container", {})
    made = {"terminationGracePeriodSeconds": 2, "containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": made}


class Cluster:
    """kubectl with one kubeconfig, and the agent beside it."""

    def __init__(self, kubeconfig: Path, folder: Path, certificate: Path | None = None) -> None:
        self.kubeconfig, self.folder = kubeconfig, folder
        # The real API server verifies those of nodes: certificate and key in one file.
        self._options = (
            ["--tls-cert-file", str(certificate), "--tls-private-key-file", str(certificate)]
            if certificate
            else []
        )
        self.agent: subprocess.Popen[bytes] | None = None

    def kubectl(self, *arguments: str, text: str = "") -> str:
        command = ["kubectl", "--kubeconfig", str(self.kubeconfig), *arguments]
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=90, env=environment(), check=False
        )
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout

    def apply(self, obj: dict[str, Any]) -> None:
        self.kubectl("apply", "-f", "-", text=json.dumps(obj))

    def vacate(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "vacate", *arguments, "--kubeconfig", str(self.kubeconfig)]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=90, env=environment(), check=False
        )
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout

    def of_node(self, name: str) -> Path:
        """A kubeconfig of the node: the cluster's authority lies beside the administrator's."""
        server = self.kubectl("config", "view", "-o", "jsonpath={.clusters[0].cluster.server}")
        layout = Layout(self.kubeconfig.parent)
        write_kubeconfigs(layout, urlsplit(server).port or 0, {name: identities.node(name)})
        return layout.kubeconfig(name)

    def start(self) -> None:
        self.agent = self.start_agent("laptop", self.folder, self.of_node("laptop"))

    def start_agent(self, name: str, folder: Path, kubeconfig: Path) -> subprocess.Popen[bytes]:
        options = ["--name", name, "--pod-addresses", "loopback", "--dir", str(folder)]
        options += ["--address", "127.0.0.1", *self._options]
        agent = subprocess.Popen(
            [sys.executable, "-m", "vacate", "node", *options, "--kubeconfig", str(kubeconfig)],
            stdin=subprocess.DEVNULL,
            env=environment(),
        )
        until(lambda: name in self.kubectl("get", "nodes", "-o", "name"))
        self.kubectl("wait", "--for=condition=Ready", f"node/{name}", "--timeout=60s")
        return agent

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        assert self.agent is not None
        self.agent.send_signal(number)
        self.agent.wait(60)
        self.agent = None


@pytest.fixture(scope="module", params=["embedded", "real"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "embedded":
        place: Any = running_cluster(folder / "up", "--nodes", "0")
    else:
        place = real_cluster(Path(os.environ[ASSETS]), folder, confined_nodes=True)
    with place as plane:
        certificate = plane.layout.server if request.param == "real" else None
        made = Cluster(plane.kubeconfig, folder / "node", certificate)
        made.start()
        try:
            yield made
        finally:
            if made.agent is not None:
                made.end()
    asyncio.run(clean(folder / "node"))


def test_the_example_is_scheduled_runs_and_goes(cluster: Cluster) -> None:
    cluster.kubectl("apply", "-f", str(EXAMPLE))
    cluster.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    shown = cluster.kubectl("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].spec.nodeName}")
    assert shown.split() == ["laptop"] * 3
    until(lambda: len(running(cluster.folder, "http.server\x008080")) == 3)
    cluster.kubectl("delete", "deployment", "web")
    until(lambda: not running(cluster.folder, "http.server\x008080"))
    until(lambda: not cluster.kubectl("get", "pods", "-l", "app=web", "-o", "name"))


def test_logs_are_read_from_the_node(cluster: Cluster) -> None:
    cluster.apply(_pod("talks", "echo one; echo two; exec sleep 100012", tolerations=[TOLERATION]))
    cluster.kubectl("wait", "--for=condition=Ready", "pod/talks", "--timeout=60s")
    until(lambda: cluster.kubectl("logs", "talks") == "one\ntwo\n")  # ready does not mean that it has spoken
    assert cluster.kubectl("logs", "talks", "--tail=1", "-c", "main") == "two\n"
    assert cluster.kubectl("logs", "talks", "--since=1h", "--limit-bytes=4") == "one\n"
    assert cluster.kubectl("logs", "talks", "--timestamps", "--tail=1").endswith("Z two\n")
    assert cluster.kubectl("logs", "talks", "--since-time=2126-01-01T00:00:00Z") == ""
    cluster.kubectl("delete", "pod", "talks", "--now")


def test_a_pod_that_does_not_mean_it_stays_away(cluster: Cluster) -> None:
    cluster.apply(_pod("stranger", "exec sleep 100006"))
    cluster.kubectl("wait", "--for=condition=PodScheduled=false", "pod/stranger", "--timeout=60s")
    cluster.kubectl("delete", "pod", "stranger")


def test_a_killed_agent_comes_back_and_ends_what_was_asked_to_end_meanwhile(cluster: Cluster) -> None:
    cluster.apply(_pod("web", "trap 'exit 5' TERM; while :; do sleep 0.05; done # 100007",
                       tolerations=[TOLERATION]))  # fmt: skip
    cluster.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")
    cluster.end(signal.SIGKILL)
    before = running(cluster.folder, "# 100007")
    cluster.kubectl("delete", "pod", "web", "--wait=false")
    assert before == running(cluster.folder, "# 100007") != []
    cluster.start()
    cluster.kubectl("wait", "--for=delete", "pod/web", "--timeout=60s")
    assert not running(cluster.folder, "# 100007")


ONCE = """
mkdir {folder}/running || touch {folder}/twice
trap 'rmdir {folder}/running; exit 0' TERM
while :; do sleep 0.05; done # {mark}
"""


def _member(name: str, folder: Path, mark: int) -> dict[str, Any]:
    """A StatefulSet of one. A second copy that starts beside the first leaves a file."""
    folder.mkdir()
    pod = _pod(name, ONCE.format(folder=folder, mark=mark), tolerations=[TOLERATION])
    template = {"metadata": {"labels": {"app": name}}, "spec": pod["spec"]}
    spec = {"serviceName": name, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name}, "spec": spec}


def test_a_node_that_is_cut_off_keeps_its_member_and_no_second_copy_starts(
    cluster: Cluster, tmp_path: Path
) -> None:
    """A proxy stands for the network between the control plane and the node."""
    with cuttable(cluster.of_node("remote"), tmp_path / "kubeconfig") as network:
        remote = cluster.start_agent("remote", tmp_path / "node", tmp_path / "kubeconfig")
        try:
            cluster.kubectl("cordon", "laptop")
            cluster.apply(_member("db", tmp_path / "db", 100013))
            cluster.kubectl("rollout", "status", "statefulset/db", "--timeout=60s")
            uid = cluster.kubectl("get", "pod", "db-0", "-o", "jsonpath={.metadata.uid}{.spec.nodeName}")
            before = running(tmp_path, "# 100013")
            cluster.kubectl("uncordon", "laptop")
            network.cut()
            cluster.kubectl("delete", "pod", "db-0", "--wait=false")
            # The controllers are at work, and the node laptop has room: another set is made there meanwhile.
            cluster.kubectl("cordon", "remote")
            cluster.apply(_member("beside", tmp_path / "beside", 100014))
            cluster.kubectl("rollout", "status", "statefulset/beside", "--timeout=60s")
            shown = cluster.kubectl("get", "pod", "db-0", "-o", "jsonpath={.metadata.uid}{.spec.nodeName}")
            assert (shown, running(tmp_path, "# 100013")) == (uid, before)
            network.heal()
            cluster.kubectl("rollout", "status", "statefulset/db", "--timeout=60s")
            until(lambda: running(tmp_path, "# 100013") not in ([], before))
            after = cluster.kubectl("get", "pod", "db-0", "-o", "jsonpath={.metadata.uid}{.spec.nodeName}")
            assert after.endswith("laptop")
            assert len(running(tmp_path, "# 100013")) == 1
            assert not (tmp_path / "db/twice").exists()
        finally:
            network.heal()
            cluster.kubectl("delete", "statefulset", "db", "beside", "--ignore-not-found")
            until(lambda: not running(tmp_path, "# 100013") and not running(tmp_path, "# 100014"))
            remote.terminate()
            remote.wait(60)
            cluster.kubectl("delete", "node", "remote", "--wait=false")
            asyncio.run(clean(tmp_path / "node"))


ASK = """
import json, os, pathlib, ssl, sys, urllib.request
url = sys.argv[1]
token = (pathlib.Path(os.environ["VACATE_VOLUME_TOKEN"]) / "token").read_text()
headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
body = b'{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}'
asked = urllib.request.Request(f"{url}/apis/authentication.k8s.io/v1/selfsubjectreviews", body, headers)
answer = urllib.request.urlopen(asked, context=ssl._create_unverified_context(), timeout=60)
user = json.load(answer)["status"]["userInfo"]["username"]
(pathlib.Path(os.environ["VACATE_VOLUME_OUT"]) / "hook").write_text(user + " " + os.environ["KEY"])
"""


def test_hooks_use_secrets_and_the_token_of_their_account(cluster: Cluster, tmp_path: Path) -> None:
    cluster.apply(SECRET)
    volumes = [
        {"name": "door", "secret": {"secretName": "door"}},
        {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
        {"name": "out", "hostPath": {"path": str(tmp_path)}},
    ]
    mounts = [{"name": one["name"], "mountPath": f"/var/{one['name']}"} for one in volumes]
    url = cluster.kubectl("config", "view", "-o", "jsonpath={.clusters[0].cluster.server}")
    asking = [sys.executable, "-c", ASK, url]
    container = {
        "volumeMounts": mounts,
        "env": [{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "door", "key": "key"}}}],
        "lifecycle": {"preStop": {"exec": {"command": asking}}},
    }
    script = "test $(cat $VACATE_VOLUME_DOOR/key) = sesame && exec sleep 100011"
    spec = {"serviceAccountName": "default", "tolerations": [TOLERATION], "terminationGracePeriodSeconds": 60}
    cluster.apply(_pod("reader", script, volumes=volumes, container=container, **spec))
    cluster.kubectl("wait", "--for=condition=Ready", "pod/reader", "--timeout=60s")
    cluster.kubectl("delete", "pod", "reader")
    assert (tmp_path / "hook").read_text() == "system:serviceaccount:default:default sesame"


@pytest.mark.parametrize("reason", ["resolve issue 354961", "Wartung, 保守; `touch /tmp/x` $(PATH)"])
def test_a_hook_learns_why_its_pod_is_deleted_with_and_without_the_field(
    cluster: Cluster, tmp_path: Path, reason: str
) -> None:
    """The annotations stand for the fields on a server that has none, and the node honours both forms."""
    hook = {"preStop": {"exec": {"command": ["sh", "-c", 'printf %s "$BYE" > "$VACATE_VOLUME_OUT/why"']}}}
    container = {"lifecycle": hook, "volumeMounts": [{"name": "out", "mountPath": "/out"}]}
    volumes = [{"name": "out", "hostPath": {"path": str(tmp_path)}}]
    pod = _pod("why", "exec sleep 100009", container=container, volumes=volumes, tolerations=[TOLERATION])
    pod["metadata"]["annotations"] = {"vacate.dev/reason-delivery.main": "env=BYE"}
    cluster.apply(pod)
    cluster.kubectl("wait", "--for=condition=Ready", "pod/why", "--timeout=60s")
    output = cluster.vacate("delete", "pod", "why", f"--reason={reason}", "--timeout", "60s")
    assert output.splitlines()[-1] == "pod/why gone"
    assert (tmp_path / "why").read_text() == reason
