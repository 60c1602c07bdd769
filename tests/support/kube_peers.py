"""The peers of an installation on a real API server: their definitions, and their programs as processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml
from hack.kubelab.children import end_child, start_child

from support.definitions import DEFINITIONS
from support.https import Https
from support.peers import peer
from support.waiting import until

_PATIENCE = 60.0


@contextmanager
def running_peer(log: Path, name: str, *arguments: str) -> Iterator[None]:
    """One of the programs for as long as the block runs; what it says is in the log."""
    with log.open("wb") as out:
        child = start_child([str(peer(name)), *arguments], stdout=out, cwd=log.parent)
    try:
        yield
        assert child.poll() is None, f"{name} has ended: {log.read_text()[-2000:]}"
    finally:
        end_child(child, 10.0)


def define(admin: Https, folder: str) -> None:
    """The definitions of a peer's kinds, from its own module; returns when all of them are served."""
    paths = []
    for file in sorted(peer(folder).glob("*.yaml")):
        definition = yaml.safe_load(file.read_text())
        admin.create(DEFINITIONS, definition)
        group, plural = definition["spec"]["group"], definition["spec"]["names"]["plural"]
        version = next(one["name"] for one in definition["spec"]["versions"] if one["storage"])
        paths.append(f"/apis/{group}/{version}/{plural}")
    assert paths
    until(lambda: all(admin.get(path).code == 200 for path in paths), _PATIENCE)
