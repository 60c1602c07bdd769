"""The peers of an installation on a real API server: their definitions, and their programs as processes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from hack.kubelab.children import end_child, start_child
from hack.kubelab.obtain import ASSETS

from support.https import Https
from support.realcluster.definitions import DEFINITIONS
from support.realcluster.peers import peer
from support.waiting import LIMIT, until

_TIMEOUT = LIMIT


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


def define(kubeconfig: Path, files: Sequence[Path]) -> None:
    """Definitions of a peer's kinds, from its own module; returns when all of them are served."""
    admin = Https.from_kubeconfig(kubeconfig)
    made = _kubectl(kubeconfig, "create", files, "-o", "name", "--validate=ignore")
    assert len(made) == len(files) > 0
    for line in made:
        until(partial(_served, admin, line.partition("/")[2]), _TIMEOUT)


def undefine(kubeconfig: Path, files: Sequence[Path]) -> None:
    """The definitions go, and what is left of their kinds with them."""
    _kubectl(kubeconfig, "delete", files, "--wait=false")


def _kubectl(kubeconfig: Path, verb: str, files: Sequence[Path], *options: str) -> list[str]:
    command = [f"{os.environ[ASSETS]}/kubectl", "--kubeconfig", str(kubeconfig), verb, *options]
    command += [f"--filename={file}" for file in files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def _served(admin: Https, name: str) -> bool:
    spec = admin.get(f"{DEFINITIONS}/{name}").ok()["spec"]
    version = next(one["name"] for one in spec["versions"] if one["storage"])
    return admin.get(f"/apis/{spec['group']}/{version}/{spec['names']['plural']}").code == 200
