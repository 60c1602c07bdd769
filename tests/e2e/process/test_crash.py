"""`kill -9` in the middle of a rollout under write load: what was acknowledged is there afterwards."""

from __future__ import annotations

import http.client
import threading
from pathlib import Path

import pytest

from support.effort import THOROUGH
from support.https import Https
from support.manifests import config_map, deployment
from support.processes.cluster import FAST_PODS, ClusterProcess, running_cluster
from support.waiting import until

pytestmark = pytest.mark.process

ROUNDS = 3 if THOROUGH else 2
WRITES_OF_A_ROUND = 60
MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


class Writer:
    """Creates a map for each round and counts up in it, remembering what the server has acknowledged."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.acknowledged: dict[str, int] = {}
        self.newest = 0

    def write(self, admin: Https, round_number: int, enough: threading.Event) -> None:
        """Until the server dies."""
        name = f"{self.name}-{round_number}"
        connection = admin.connect()
        try:
            made = admin.call("POST", MAPS, config_map(name, {"n": "0"}), connection=connection).ok()
            self._remember(name, made)
            while True:
                change = {"data": {"n": str(self.acknowledged[name] + 1)}}
                answer = admin.call(
                    "PATCH",
                    f"{MAPS}/{name}",
                    change,
                    content_type="application/merge-patch+json",
                    connection=connection,
                )
                self._remember(name, answer.ok())
                if self.acknowledged[name] >= WRITES_OF_A_ROUND:
                    enough.set()
        except (OSError, http.client.HTTPException):
            return
        finally:
            connection.close()

    def _remember(self, name: str, obj: dict[str, dict[str, str]]) -> None:
        self.acknowledged[name] = int(obj["data"]["n"])
        self.newest = int(obj["metadata"]["resourceVersion"])

    def check(self, admin: Https) -> None:
        """At most the one write that was under way may be there beyond what was acknowledged."""
        for name, number in self.acknowledged.items():
            found = admin.get(f"{MAPS}/{name}").ok()
            assert int(found["data"]["n"]) in (number, number + 1), name


@pytest.mark.thorough
def test_no_acknowledged_write_is_lost_and_the_rollout_completes(tmp_path: Path) -> None:
    writers = [Writer("a"), Writer("b")]
    folder = tmp_path / "dir"
    with running_cluster(folder, *FAST_PODS) as cluster:
        cluster.https().create(DEPLOYMENTS, deployment("web", 6, image="web:0"))
        crash_under_load(cluster, writers, 1)
    for round_number in range(2, ROUNDS + 1):
        with running_cluster(folder, *FAST_PODS) as cluster:
            check(cluster, writers)
            crash_under_load(cluster, writers, round_number)
    with running_cluster(folder, *FAST_PODS) as cluster:
        check(cluster, writers)
        until(lambda: rolled_out(cluster.https(), f"web:{ROUNDS}"))
        assert cluster.stop() == 0
        assert "Traceback" not in cluster.output


def crash_under_load(cluster: ClusterProcess, writers: list[Writer], round_number: int) -> None:
    """Start a rollout and the writers, and kill the server when enough has been written."""
    admin = cluster.https()
    enough = threading.Event()
    containers = [{"name": "web", "image": f"web:{round_number}"}]
    admin.patch(f"{DEPLOYMENTS}/web", {"spec": {"template": {"spec": {"containers": containers}}}})
    threads = [
        threading.Thread(target=writer.write, args=(admin, round_number, enough)) for writer in writers
    ]
    for thread in threads:
        thread.start()
    assert enough.wait(60)
    cluster.kill()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def check(cluster: ClusterProcess, writers: list[Writer]) -> None:
    admin = cluster.https()
    listed = admin.get(MAPS).ok()
    for writer in writers:
        assert int(listed["metadata"]["resourceVersion"]) >= writer.newest
        writer.check(admin)


def rolled_out(admin: Https, image: str) -> bool:
    """Six pods of the newest image, all ready, and no other pod."""
    found = admin.get(f"{DEPLOYMENTS}/web").ok()
    pods = admin.get("/api/v1/namespaces/default/pods").ok()["items"]
    images = [pod["spec"]["containers"][0]["image"] for pod in pods]
    return found["status"].get("readyReplicas") == 6 and images == [image] * 6
