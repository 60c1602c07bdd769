"""Keys on their way into OpenSSL are never in a folder, so that a killed process leaves none behind."""

from __future__ import annotations

import os
import ssl
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from support.certificates import Authority
from vacate.client.config import ClusterConfig
from vacate.client.credentials import Credentials
from vacate.client.key_pair import load_key_pair
from vacate.client.tls import client_context

pytestmark = pytest.mark.process

KILLED_MEANWHILE = """
import os, signal, ssl, sys
from pathlib import Path
from vacate.client.config import ClusterConfig
from vacate.client.credentials import Credentials
from vacate.client import tls

class Context(ssl.SSLContext):
    def load_cert_chain(self, *paths):
        os.kill(os.getpid(), signal.SIGKILL)

tls.ssl.create_default_context = lambda cadata: Context(ssl.PROTOCOL_TLS_CLIENT)
tls.client_context(ClusterConfig("https://h"), Credentials("", Path(sys.argv[1]).read_bytes(), b"key"))
"""


def context() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def test_a_process_that_is_killed_leaves_no_key_in_the_temporary_folder(tmp_path: Path) -> None:
    certificate, place = tmp_path / "certificate", tmp_path / "temporary"
    certificate.write_bytes(Authority().issue("admin").certificate)
    place.mkdir()
    environment = {**os.environ, "TMPDIR": str(place)}
    command = [sys.executable, "-c", KILLED_MEANWHILE, str(certificate)]
    done = subprocess.run(command, check=False, env=environment)
    assert done.returncode == -9
    assert list(place.iterdir()) == []


def test_no_folder_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    pair = Authority().issue("admin")
    client_context(ClusterConfig("https://h"), Credentials("", pair.certificate, pair.key))


def test_the_file_in_memory_is_its_owners_only(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    class Context(ssl.SSLContext):
        def load_cert_chain(self, certfile: object, *_rest: object, **_more: object) -> None:
            seen.append(stat.S_IMODE(Path(str(certfile)).stat().st_mode))

    pair = Authority().issue("admin")
    load_key_pair(Context(ssl.PROTOCOL_TLS_CLIENT), pair.certificate, pair.key)
    assert seen == [0o600]


def test_where_no_file_can_be_in_memory_pipes_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    pair, other = Authority().issue("admin"), Authority().issue("other")
    load_key_pair(context(), pair.certificate, pair.key)
    with pytest.raises(ssl.SSLError):
        load_key_pair(context(), pair.certificate, other.key)
    with pytest.raises(ssl.SSLError, match="too large"):
        load_key_pair(context(), pair.certificate * 10_000, pair.key)
