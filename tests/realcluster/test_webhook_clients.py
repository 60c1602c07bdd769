"""An API server that shows the webhook a client certificate, by AdmissionConfiguration, and a neighbour."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from hack.kubelab.control_plane import ControlPlane
from hack.kubelab.obtain import ASSETS
from hack.kubelab.ports import reserve_port

from support.realcluster.webhook import admitting
from vacate.clock import SystemClock
from vacate.pki.issue import new_authority, new_client

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("webhook"), pytest.mark.timeout(300)]

NAME = "kube-apiserver-webhooks"
CONFIG = "apiserver.config.k8s.io/v1"


class ShowingWhoItIs(ControlPlane):
    """A control plane whose API server shows a certificate to the webhook at that port."""

    def __init__(self, programs: Path, folder: Path, port: int, certificate: Path, key: Path) -> None:
        super().__init__(programs, folder, controllers=False)
        folder.mkdir(parents=True, exist_ok=True)
        credentials = {"client-certificate": str(certificate), "client-key": str(key)}
        user = {"name": f"127.0.0.1:{port}", "user": credentials}
        kubeconfig = folder / "webhooks.kubeconfig"
        kubeconfig.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "users": [user]}))
        plugin = {
            "apiVersion": CONFIG,
            "kind": "WebhookAdmissionConfiguration",
            "kubeConfigFile": str(kubeconfig),
        }
        plugins = [
            {"name": f"{sort}AdmissionWebhook", "configuration": plugin}
            for sort in ("Mutating", "Validating")
        ]
        self._admission = folder / "admission.json"
        config = {"apiVersion": CONFIG, "kind": "AdmissionConfiguration", "plugins": plugins}
        self._admission.write_text(json.dumps(config))

    def _api_server(self) -> list[str]:
        return [*super()._api_server(), f"--admission-control-config-file={self._admission}"]


@pytest.fixture
def showing(tmp_path: Path) -> Iterator[tuple[Path, int, Path]]:
    """The kubeconfig of such a plane, the port that it means, and the CA of what it shows."""
    now, port = SystemClock().now(), reserve_port()
    authority = new_authority("webhook-clients", now)
    pair = new_client(authority, NAME, (), now)
    (tmp_path / "client.crt").write_bytes(pair.certificate_pem)
    (tmp_path / "client.key").write_bytes(pair.key_pem)
    (tmp_path / "ca.crt").write_bytes(authority.certificate_pem)
    plane = ShowingWhoItIs(
        Path(os.environ[ASSETS]), tmp_path / "plane", port, tmp_path / "client.crt", tmp_path / "client.key"
    )
    plane.start()
    try:
        yield plane.kubeconfig, port, tmp_path / "ca.crt"
    finally:
        plane.stop()


async def test_the_api_server_is_let_in_and_a_neighbour_is_not(
    showing: tuple[Path, int, Path], tmp_path: Path
) -> None:
    kubeconfig, port, authority = showing
    async with admitting(kubeconfig, tmp_path, port) as plane:
        async with plane.answering("--client-ca", str(authority), "--client-name", NAME):
            made = (await plane.request((await plane.pod("web")).ok(201))).ok(201)
            assert made["metadata"]["annotations"]["vacate.dev/admitted"] == "true"
            assert await asyncio.to_thread(_answer_to_a_neighbour, port) == b""
        async with plane.answering("--client-ca", str(authority)):
            pass
        other = ("--client-ca", str(authority), "--client-name", "another")
        with plane.rotating() as folder, plane.webhook(folder, *other) as webhook:
            webhook.wait_ready()
            answer = await plane.ask({})
            assert "failed calling webhook" in (answer.message or "")


def _answer_to_a_neighbour(port: int) -> bytes:
    """What someone in the cluster gets who has no certificate: the handshake, or the first read, fails."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), 10) as plain:
        try:
            with context.wrap_socket(plain) as connection:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                return connection.recv(1000)
        except ssl.SSLError:
            return b""
