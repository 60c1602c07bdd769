"""Whole clusters that attend to eviction requests, embedded and real, for one body of tests."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest
from hack.kubelab.ports import reserve_port

from support.arms.clusters import is_ready
from support.arms.kube import KUBECONFIG
from support.https import Https
from support.processes.cluster import FAST_PODS, ClusterProcess
from support.processes.program import Program
from support.realcluster.evictions import BRIDGE_SECONDS, ONE_NODE, REAL, gates, real_cluster
from support.waiting import until

EMBEDDED = "embedded"
NODE_COUNT = 3
_WITHOUT = {
    "manager": ("--no-evictions",),
    "unlimited manager": ("--no-evictions",),
    "node": ("--nodes", "0"),
    "room": ("--storage-quota", "16Mi"),
}


class EvictionCluster(Protocol):
    """What a body of tests needs of either."""

    sort: str

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        ...

    def set_gate(self, *, is_open: bool) -> None:
        """Restart what attends to eviction requests with its feature gate open or closed."""
        ...

    def stop_part(self, part: str) -> None:
        """Take a part away: manager, server, node, which stands for all nodes, or room in the store.

        In place of an unlimited manager comes one that drains one node at a time.
        """
        ...

    def start_part(self, part: str) -> None:
        """Bring it back; it works when this returns."""
        ...


class EmbeddedCluster:
    """`vacate up` in a folder of its own; it can be replaced by another one over the same folder."""

    sort = EMBEDDED

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = reserve_port()  # nobody else gets it between two of them
        self._process: ClusterProcess | None = None
        options = ("--kubeconfig", str(self.kubeconfig), "--metrics-port", "0", *gates(is_open=True))
        self._manager = Program(folder.parent / "manager.log", "manager", *options, *ONE_NODE)
        self.set_gate(is_open=True)

    @property
    def kubeconfig(self) -> Path:
        return self._folder / "kubeconfig"

    def set_gate(self, *, is_open: bool) -> None:
        self._restart(is_open=is_open)

    def stop_part(self, part: str) -> None:
        """All parts are one process: what goes on without the part is another one, over the same folder."""
        if part == "server":
            assert self._process is not None
            self._process.kill()
        else:
            self._restart(*_WITHOUT[part])
        if part == "unlimited manager":
            self._manager.start().wait_for("health and metrics on")

    def start_part(self, _part: str) -> None:
        self._restart()

    def _restart(self, *changed: str, is_open: bool = True) -> None:
        self.close()
        option, state = gates(is_open=is_open)
        bridge = ("--bridge-wait", f"{BRIDGE_SECONDS}s")
        opened = (option, f"{state},EvictionBridge={str(is_open).lower()}")
        options = ("--nodes", str(NODE_COUNT), *opened, *bridge, *FAST_PODS, *changed)
        self._process = ClusterProcess(self._folder, *options, port=self._port)
        self._process.wait_ready()

    def close(self) -> None:
        self._manager.kill()
        if self._process is not None:
            if self._process.process.poll() is None:
                assert self._process.stop() == 0, self._process.output
            self._process.close()


def cluster_params(*, real_only: bool = False) -> list[object]:
    """The clusters of this run: the real one only beside `make test-kube`.

    Tests of what only a real one has are half of the time, so that another worker has another one for them.
    """
    embedded = [] if real_only else [pytest.param(EMBEDDED, marks=pytest.mark.process)]
    if not os.environ.get(KUBECONFIG):
        return list(embedded)
    group = "real evictions" if real_only else "evictions"
    marks = [pytest.mark.kube, pytest.mark.xdist_group(group)]
    return [*embedded, pytest.param(REAL, marks=marks)]


@contextlib.contextmanager
def open_cluster(sort: str, folder: Path) -> Iterator[EvictionCluster]:
    """A cluster of that sort whose nodes are ready, for as long as the block lasts."""
    opened: contextlib.AbstractContextManager[EvictionCluster] = (
        _embedded(folder) if sort == EMBEDDED else real_cluster(folder, NODE_COUNT)
    )
    with opened as cluster:
        admin = Https.from_kubeconfig(cluster.kubeconfig)
        until(lambda: sum(map(is_ready, admin.get("/api/v1/nodes").ok()["items"])) == NODE_COUNT)
        yield cluster


@contextlib.contextmanager
def _embedded(folder: Path) -> Iterator[EmbeddedCluster]:
    cluster = EmbeddedCluster(folder / "dir")
    try:
        yield cluster
    finally:
        cluster.close()
