"""Programs that an installation meets in clusters, from the folder of `make peers`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hack.kubelab.peers import GIVEN


def peer(name: str) -> Path:
    """A program, or a folder beside them; the test is skipped where they have not been built."""
    folder = os.environ.get(GIVEN)
    if not folder:
        pytest.skip(f"no {name}: {GIVEN}=$(make --silent peers) builds and names it")
    return Path(folder) / name


def definitions(folder: str, *plurals: str) -> list[Path]:
    """The files that define these kinds."""
    return [next(peer(folder).glob(f"*_{plural}.yaml")) for plural in plurals]
