"""What stands in the way of `vacate up` is printed in one line."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.processes.cluster import ClusterProcess, running_cluster, vacate
from vacate.features import KNOWN_GATES

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=1)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcess]:
    with running_cluster(tmp_path_factory.mktemp("refusals") / "dir", "--nodes", "0") as running:
        yield running


def test_no_nodes_at_all(cluster: ClusterProcess) -> None:
    """What the others stand in the way of is itself a cluster without nodes."""
    assert cluster.https().get("/api/v1/nodes").ok()["items"] == []
    assert cluster.https().get("/readyz").text == "ok"


def refusal(folder: Path, *options: str) -> str:
    """The one line with which it ends."""
    done = vacate("up", "--dir", str(folder), *options)
    assert done.returncode == 1, done
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("error: ")
    return done.stderr


@pytest.mark.thorough
def test_a_folder_in_use(cluster: ClusterProcess) -> None:
    error = refusal(cluster.folder, "--port", "0")
    assert f"a cluster is running in {cluster.folder} already (process {cluster.process.pid})" in error
    assert cluster.https().get("/readyz").text == "ok"


@pytest.mark.thorough
def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        error = refusal(tmp_path / "dir", "--port", str(port))
    assert f"--port: {port} is taken by another program" in error


@pytest.mark.thorough
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """A file where a folder of the path should be: even an administrator cannot write below it."""
    (tmp_path / "file").touch()
    assert "cannot be used: Not a directory" in refusal(tmp_path / "file" / "dir", "--port", "0")


@pytest.mark.thorough
def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "cluster.db").write_bytes(b"something else entirely\n" * 400)
    error = refusal(tmp_path, "--port", "0")
    assert f"{tmp_path / 'cluster.db'} is not a log of Vacate" in error


def test_a_damaged_database(tmp_path: Path) -> None:
    with running_cluster(tmp_path, "--nodes", "0") as cluster:
        assert cluster.stop() == 0
    database = tmp_path / "cluster.db"
    whole = database.read_bytes()
    database.write_bytes(whole[:4096] + random.Random(1).randbytes(len(whole) - 4096))
    assert f"{database} is damaged" in refusal(tmp_path, "--port", "0")


def test_feature_gates_that_do_not_exist(tmp_path: Path) -> None:
    error = refusal(tmp_path / "dir", "--feature-gates", "Nonsense=true")
    known = ", ".join(sorted(KNOWN_GATES))
    assert "EvictionRequestAPI" in known
    assert f"unknown feature gate 'Nonsense'; known gates: {known}\n" in error
    assert not (tmp_path / "dir").exists()


@pytest.mark.thorough
def test_feature_gates_that_are_neither_open_nor_closed(tmp_path: Path) -> None:
    error = refusal(tmp_path / "dir", "--feature-gates", "EvictionRequestAPI=perhaps")
    assert "EvictionRequestAPI needs the value true or false" in error


def test_options_out_of_range(tmp_path: Path) -> None:
    done = vacate("up", "--dir", str(tmp_path), "--nodes=-1")
    assert done.returncode == 2
    assert "Invalid value for '--nodes'" in done.stderr


@pytest.mark.thorough
def test_a_token_file_that_cannot_be_read_and_is_mended(tmp_path: Path) -> None:
    (tmp_path / "tokens.csv").write_text("secret,jane\n")
    error = refusal(tmp_path, "--port", "0")
    assert "tokens.csv, line 1: must have at least 3 columns" in error
    (tmp_path / "tokens.csv").write_text("secret,jane,1001\n")
    with running_cluster(tmp_path, "--nodes", "0") as cluster:
        assert cluster.https().get("/readyz").text == "ok"
