"""A kubeconfig that kubectl accepts."""

from __future__ import annotations

import base64
import json
import stat
import subprocess
from pathlib import Path

import pytest
import yaml

from support.kubectl import kubectl_or_reason
from vacate.client.kubeconfigwriter import KubeconfigEntry, write_kubeconfig
from vacate.clock import SystemClock
from vacate.embedded.cluster.certificates import Pki

SERVER = "https://127.0.0.1:6443"


def entry(folder: Path, **more: str) -> KubeconfigEntry:
    pki = Pki(folder, SystemClock())
    admin = pki.client("admin", "kubernetes-admin", ["system:masters"])
    return KubeconfigEntry(
        SERVER, pki.authority.certificate_pem, admin.certificate_pem, admin.key_pem, **more
    )


@pytest.mark.unit
def test_the_file_is_private_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "kubeconfig"
    written = entry(tmp_path / "pki")
    write_kubeconfig(path, written)
    write_kubeconfig(path, written)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["kubeconfig"]
    document = yaml.safe_load(path.read_text())
    cluster = document["clusters"][0]["cluster"]
    assert base64.b64decode(cluster["certificate-authority-data"]) == written.certificate_authority
    assert document["current-context"] == document["contexts"][0]["name"] == "vacate"


@pytest.mark.unit
def test_a_file_that_others_could_read_becomes_private(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("old")
    path.chmod(0o644)
    write_kubeconfig(path, entry(tmp_path / "pki"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.kubectl
def test_kubectl_reads_it(tmp_path: Path) -> None:
    kubectl, reason = kubectl_or_reason()
    if kubectl is None:
        pytest.skip(reason)
    path = tmp_path / "kubeconfig"
    written = entry(tmp_path / "pki", context="here", cluster="home", user="me", namespace="ns")
    write_kubeconfig(path, written)
    shown = subprocess.run(
        [kubectl, "config", "view", "--raw", "--kubeconfig", str(path), "-o", "json"],
        capture_output=True,
        check=True,
        timeout=100,
    )
    view = json.loads(shown.stdout)
    assert view["current-context"] == "here"
    assert view["contexts"] == [
        {"name": "here", "context": {"cluster": "home", "user": "me", "namespace": "ns"}}
    ]
    assert view["clusters"][0]["cluster"]["server"] == SERVER
    user = view["users"][0]["user"]
    assert base64.b64decode(user["client-key-data"]) == written.client_key
    assert base64.b64decode(user["client-certificate-data"]) == written.client_certificate
