"""Tests that need a real control plane. They exist only where `make test-kube` has started one."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from support.arms.clusters import LABS, Lab, enter_lab, open_lab
from support.arms.kube import KUBECONFIG
from vacate.entropy import system_entropy

if not os.environ.get(KUBECONFIG):
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session", params=LABS)
def kubeconfig(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A whole cluster, embedded or real."""
    with open_lab(request.param, tmp_path_factory.mktemp(request.param)) as path:
        yield path


@pytest.fixture
async def lab(kubeconfig: Path) -> AsyncIterator[Lab]:
    """A new namespace in it."""
    async with enter_lab(kubeconfig, f"t-{system_entropy().uid()[:8]}") as lab:
        yield lab
