"""One installation for all rows: each is a few requests, and leaves the others alone."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from support.arms.kube import KUBECONFIG
from support.realcluster import adversary
from support.realcluster.adversary import Site

NODE_COUNT = 3

if not os.environ.get(KUBECONFIG):
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Vacate as it is installed, with a company's own webhook and policies beside it."""
    with adversary.site(tmp_path_factory.mktemp("adversary"), NODE_COUNT) as site:
        yield site
