"""Whole clusters for kubectl: `vacate up` as a process, and a real control plane with simulated nodes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.arms.clusters import NODE_COUNT, is_ready, open_lab
from support.arms.kube import KUBECONFIG
from support.https import Https
from support.processes.cluster import FAST_PODS, running_cluster
from support.waiting import until

EMBEDDED, REAL = "embedded", "real"


@dataclass(frozen=True)
class Cluster:
    """One that runs, and how its administrator reaches it."""

    kubeconfig: Path
    home: Path
    admin: Https

    @property
    def address(self) -> str:
        return self.admin.address


def cluster_params() -> list[object]:
    """The clusters of this run: the real one only beside `make test-kube`."""
    if not os.environ.get(KUBECONFIG):
        return [EMBEDDED]
    marks = [pytest.mark.kube, pytest.mark.xdist_group("kubectl")]
    return [EMBEDDED, pytest.param(REAL, marks=marks)]


@contextmanager
def open_cluster(name: str, folder: Path) -> Iterator[Cluster]:
    """The cluster of that name, for as long as the block lasts."""
    opened = _embedded(folder / "dir") if name == EMBEDDED else open_lab(REAL, folder / "dir")
    with opened as kubeconfig:
        cluster = Cluster(kubeconfig, folder / "home", Https.from_kubeconfig(kubeconfig))
        until(lambda: _ready_nodes(cluster.admin) == NODE_COUNT)
        yield cluster


def _ready_nodes(admin: Https) -> int:
    return sum(map(is_ready, admin.get("/api/v1/nodes").ok()["items"]))


@contextmanager
def _embedded(folder: Path) -> Iterator[Path]:
    with running_cluster(folder, *FAST_PODS) as running:
        yield running.kubeconfig
        assert running.stop() == 0
        # Whatever its users did, right or wrong, there was nothing to warn its owner of.
        assert running.output.endswith("continues where it stopped.\n"), running.output
