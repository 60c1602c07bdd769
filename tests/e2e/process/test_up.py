"""`vacate up` from its start to its end, as a process."""

from __future__ import annotations

import base64
import re
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from support.https import Obj
from support.manifests import config_map, pod
from support.processes.cluster import FAST_PODS, ClusterProcess, cluster_process, running_cluster
from support.waiting import until
from vacate.cli.up.command import up

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=1)]

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcess]:
    with running_cluster(tmp_path_factory.mktemp("up") / "dir", *FAST_PODS) as running:
        yield running


def test_the_screen_says_what_runs_and_what_to_type(cluster: ClusterProcess) -> None:
    screen = cluster.output
    assert re.search(rf"API server\s+{cluster.address}\s", screen)
    assert str(cluster.folder / "cluster.db") in screen
    assert f"  export KUBECONFIG={cluster.kubeconfig}\n  kubectl get nodes\n" in screen
    assert "Ctrl-C stops it" in screen
    assert len(screen.splitlines()) <= 24  # one screen


def test_secrets_are_for_their_owner_alone(cluster: ClusterProcess) -> None:
    assert stat.S_IMODE(cluster.kubeconfig.stat().st_mode) == 0o600
    assert stat.S_IMODE(cluster.folder.stat().st_mode) == 0o700
    keys = [
        path for path in cluster.folder.rglob("*") if path.is_file() and b"PRIVATE KEY" in path.read_bytes()
    ]
    assert keys
    assert {stat.S_IMODE(path.stat().st_mode) for path in keys} == {0o600}


def test_health_and_version_are_for_everybody(cluster: ClusterProcess) -> None:
    nobody = cluster.https().anonymous()
    for path in ("/readyz", "/livez", "/healthz"):
        assert (nobody.get(path).code, nobody.get(path).text) == (200, "ok"), path
    assert nobody.get("/version").ok()["gitVersion"].endswith("+vacate")


def test_metrics_are_not(cluster: ClusterProcess) -> None:
    refused = cluster.https().anonymous().get("/metrics")
    assert refused.code == 403
    assert refused.obj["message"] == 'forbidden: User "system:anonymous" cannot get path "/metrics"'
    metrics = cluster.https().get("/metrics")
    assert metrics.code == 200
    assert "# TYPE apiserver_request" in metrics.text


def test_it_listens_on_one_port_of_loopback(cluster: ClusterProcess) -> None:
    own = {str(link.readlink()) for link in Path(f"/proc/{cluster.process.pid}/fd").iterdir()}
    listening = set()
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/{cluster.process.pid}/net/{table}").read_text().splitlines()[1:]:
            local, state, inode = (line.split()[number] for number in (1, 3, 9))
            if f"socket:[{inode}]" in own and (state == "0A" or table.startswith("udp")):
                listening.add((table, local))
    port = int(cluster.address.rpartition(":")[2])
    assert listening == {("tcp", f"0100007F:{port:04X}")}  # 127.0.0.1, in the order of its bytes
    options = {one for parameter in up.params for one in parameter.opts}
    assert {one for one in options if "address" in one or "host" in one} == {"--fencing-allow-address"}


def test_its_folder_holds_what_is_kept_as_it_is(cluster: ClusterProcess) -> None:
    """Whoever reads it is the administrator: nothing in it is encrypted, and there is no audit log."""
    https = cluster.https()
    password = "correct horse battery staple"
    secret = {"metadata": {"name": "s"}, "stringData": {"password": password}}
    https.call("POST", "/api/v1/namespaces/default/secrets", secret).ok()
    found = {path.name for path in cluster.folder.iterdir()}
    assert found - {"cluster.db-wal", "cluster.db-shm"} == {"cluster.db", "kubeconfig", "lock", "pki"}
    stored = b"".join(path.read_bytes() for path in cluster.folder.glob("cluster.db*"))
    assert base64.b64encode(password.encode()) in stored
    load_pem_private_key((cluster.folder / "pki/ca.pem").read_bytes(), password=None)


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    with running_cluster(tmp_path / "dir", *FAST_PODS) as cluster:
        admin = cluster.https()
        admin.create(PODS, pod("one"))
        watch = admin.connect()  # a client that is still there
        watch.request("GET", f"{PODS}?watch=true")
        assert watch.getresponse().status == 200
        assert cluster.stop(number) == 0
        watch.close()
        assert "Traceback" not in cluster.output
        assert cluster.output.endswith("continues where it stopped.\n")
        assert not cluster.left_behind()
        with pytest.raises(ConnectionRefusedError):
            admin.get("/readyz")


def test_started_again_it_goes_on_where_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "dir"
    with running_cluster(folder, *FAST_PODS) as cluster:
        admin = cluster.https()
        made = admin.create(MAPS, config_map("kept", {"x": "1"}))
        admin.create(PODS, pod("one"))
        running = until(lambda: _if_running(cluster, "one"))
        admin.create(PODS, pod("leaving", terminationGracePeriodSeconds=600))
        until(lambda: _if_running(cluster, "leaving"))
        keys = {path: path.read_bytes() for path in (folder / "pki").iterdir()}
        assert cluster.stop() == 0
    with running_cluster(folder, *FAST_PODS) as cluster:
        admin = cluster.https()
        assert {path: path.read_bytes() for path in (folder / "pki").iterdir()} == keys
        assert admin.get(f"{MAPS}/kept").ok() == made
        again = admin.get(f"{PODS}/one").ok()
        assert again["metadata"]["uid"] == running["metadata"]["uid"]
        assert again["status"]["containerStatuses"][0]["restartCount"] == 0
        newer = admin.create(MAPS, config_map("new", {}))
        assert int(newer["metadata"]["resourceVersion"]) > int(running["metadata"]["resourceVersion"])
        admin.delete(f"{PODS}/leaving")  # the nodes know the pods that they had
        until(lambda: admin.get(f"{PODS}/leaving").code == 404)


def _if_running(cluster: ClusterProcess, name: str) -> Obj:
    found = cluster.https().get(f"{PODS}/{name}").ok()
    return found if found["status"]["phase"] == "Running" else {}


@pytest.mark.thorough
def test_stopped_before_it_was_up(tmp_path: Path) -> None:
    with cluster_process(tmp_path / "dir") as cluster:
        until((tmp_path / "dir" / "lock").exists)
        assert cluster.stop() == 0
        assert "Traceback" not in cluster.output
