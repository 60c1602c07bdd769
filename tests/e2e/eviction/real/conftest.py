"""Tests of what only a real cluster has. They exist only where `make test-kube` has started one."""

from __future__ import annotations

import os

import pytest

from support.arms.kube import KUBECONFIG
from support.evictions.clusters import EvictionCluster
from support.realcluster.evictions import RealCluster

if not os.environ.get(KUBECONFIG):
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def real(cluster: EvictionCluster) -> RealCluster:
    """The real cluster, with handles to all that runs in it."""
    assert isinstance(cluster, RealCluster)
    return cluster
