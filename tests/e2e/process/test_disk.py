"""A disk that takes no more: the server reads on, writes no more, and says so."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from support.https import Https
from support.manifests import config_map
from support.processes.cluster import FAST_PODS, cluster_process, running_cluster
from support.waiting import until

pytestmark = pytest.mark.process

MAPS = "/api/v1/namespaces/default/configmaps"
ROOM = 2 << 20


def small_disk() -> None:
    """No file may grow beyond this; the child alone is bound by it, and it cannot lift it."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))


def fill(admin: Https) -> tuple[list[str], str]:
    """Names that were acknowledged until the first refusal, and its message."""
    acknowledged: list[str] = []
    while len(acknowledged) < 1000:
        name = f"big-{len(acknowledged)}"
        answer = admin.call("POST", MAPS, config_map(name, {"x": "y" * 100_000}))
        if answer.code != 201:
            assert (answer.code, answer.obj["reason"]) == (503, "ServiceUnavailable")
            return acknowledged, answer.obj["message"]
        acknowledged.append(name)
    raise AssertionError("the disk was never full")


@pytest.mark.thorough
def test_a_full_disk_makes_the_server_read_only(tmp_path: Path) -> None:
    folder = tmp_path / "dir"
    with cluster_process(folder, *FAST_PODS, before_exec=small_disk) as cluster:
        admin = cluster.wait_ready().https()
        acknowledged, message = fill(admin)
        assert acknowledged
        assert message.startswith("the store is read-only, its log failed: ")
        for name in acknowledged:
            assert admin.get(f"{MAPS}/{name}").code == 200
        refused = admin.call("DELETE", f"{MAPS}/{acknowledged[0]}")
        assert (refused.code, refused.obj["message"]) == (503, message)
        assert admin.get("/readyz").code == 500
        assert "[-]storage failed: read-only, " in admin.get("/readyz").text
        assert until(lambda: message in cluster.output)
        assert cluster.stop() == 0
        assert "Traceback" not in cluster.output
    with running_cluster(folder, *FAST_PODS) as cluster:  # on a disk with room again
        kept = [item["metadata"]["name"] for item in cluster.https().get(MAPS).ok()["items"]]
        assert set(acknowledged) <= set(kept) <= {*acknowledged, f"big-{len(acknowledged)}"}
        assert cluster.https().create(MAPS, config_map("after", {}))
