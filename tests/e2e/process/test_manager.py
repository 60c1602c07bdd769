"""`vacate manager` as a process beside a cluster: health, metrics, its lease, and one line when it cannot."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.https import Obj
from support.manifests import pod
from support.processes.cluster import FAST_PODS, ClusterProcess, running_cluster, vacate
from support.processes.manager import managing
from support.waiting import until
from vacate.api.installednames import MANAGER
from vacate.api.kinds import EVICTIONREQUESTS

pytestmark = pytest.mark.process

PODS = "/api/v1/namespaces/default/pods"
REQUESTS = EVICTIONREQUESTS.collection_path("default")
LEASE_PATH = f"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{MANAGER}"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcess]:
    folder = tmp_path_factory.mktemp("manager") / "dir"
    with running_cluster(folder, "--no-evictions", "--nodes", "1", *FAST_PODS) as running:
        yield running


def request_for(target: Obj) -> Obj:
    name, uid = target["metadata"]["name"], target["metadata"]["uid"]
    return {
        "apiVersion": EVICTIONREQUESTS.api_version,
        "kind": EVICTIONREQUESTS.kind,
        "metadata": {"name": uid},
        "spec": {
            "target": {"podRef": {"name": name, "uid": uid}},
            "requesters": [{"name": "drain.example.com"}],
        },
    }


def complete(request: Obj) -> bool:
    conditions = request.get("status", {}).get("conditions", [])
    return any(one["type"] == "Complete" and one["status"] == "True" for one in conditions)


def test_it_evicts_shows_its_health_and_gives_its_lease_back(cluster: ClusterProcess) -> None:
    admin = cluster.https()
    target = admin.create(PODS, pod("p"))
    name = admin.create(REQUESTS, request_for(target))["metadata"]["name"]
    with managing(cluster.kubeconfig) as manager:
        until(lambda: complete(admin.get(f"{REQUESTS}/{name}").ok()))
        assert manager.get("/healthz") == (200, "ok")
        until(lambda: manager.get("/readyz") == (200, "ok"))
        code, metrics = manager.get("/metrics")
        assert code == 200
        assert 'vacate_evictions_total{result="accepted"} 1.0' in metrics
        assert f'leader_election_master_status{{name="{MANAGER}"}} 1.0' in metrics
        assert manager.get("/nothing")[0] == 404
        assert admin.get(LEASE_PATH).ok()["spec"]["holderIdentity"]
        assert manager.stop() == 0
        assert len(manager.lines) == 1, manager.output
    assert admin.get(LEASE_PATH).ok()["spec"]["holderIdentity"] == ""


@pytest.mark.thorough
def test_a_cluster_without_the_kind_is_waited_for(tmp_path: Path) -> None:
    closed = ("--feature-gates", "EvictionRequestAPI=false", "--nodes", "0")
    with running_cluster(tmp_path / "dir", *closed) as without, managing(without.kubeconfig) as manager:
        until(lambda: "vacate install" in manager.get("/readyz")[1])
        assert manager.get("/readyz")[0] == 500
        assert manager.get("/healthz")[0] == 200
        assert "the cluster does not serve evictionrequests" in manager.output
        assert manager.stop(signal.SIGINT) == 0


@pytest.mark.thorough
def test_a_failed_start_is_explained_in_one_line(cluster: ClusterProcess, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        cases = [
            (("--kubeconfig", str(tmp_path / "none")), "no such kubeconfig file"),
            (("--kubeconfig", str(cluster.kubeconfig), "--context", "x"), "there is no context 'x'"),
            (("--kubeconfig", str(cluster.kubeconfig), "--metrics-port", str(port)), f"{port}: is taken by"),
            (("--feature-gates", "Nothing=true"), "unknown feature gate 'Nothing'"),
        ]
        for options, expected in cases:
            done = vacate("manager", *options)
            assert done.returncode == 1, done
            assert len(done.stderr.splitlines()) == 1, done.stderr
            assert done.stderr.startswith("error: ")
            assert expected in done.stderr
