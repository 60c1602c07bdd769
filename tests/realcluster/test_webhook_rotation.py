"""The webhook's own certificate and authority are replaced while writes go on: none of them is refused."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import datetime as dt
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography import x509

from support.arms.arm import Obj
from support.realcluster.definitions import until
from support.realcluster.webhook import NAMESPACE, Plane, admitting, control_plane
from vacate.api.kinds import SECRETS
from vacate.client.http import HttpTransport
from vacate.client.kubeconfig import load_cluster
from vacate.clock import SystemClock
from vacate.entropy import system_entropy
from vacate.metrics import Metrics
from vacate.pki.rotation import Lifetimes
from vacate.webhook.certificates.rotator import CONFIGURATIONS
from vacate.wiring.certificates import CertificateParts, CertificateSettings
from vacate.wiring.components import ComponentContext
from vacate.wiring.webhook import WebhookParts, WebhookSettings

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("webhook"), pytest.mark.timeout(300)]

SECRET = SECRETS.object_path("vacate-webhook-tls", NAMESPACE)
# A third of each is left when it is replaced, which a busy machine must manage.
SHORT = Lifetimes(dt.timedelta(seconds=30), dt.timedelta(seconds=15), dt.timedelta(seconds=3))
MUTATING = CONFIGURATIONS[0][0].object_path(CONFIGURATIONS[0][1])


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[Plane]:
    with control_plane(tmp_path / "plane") as kubeconfig:
        async with admitting(kubeconfig, tmp_path) as plane:
            yield plane


@contextlib.asynccontextmanager
async def short_lived(plane: Plane, tmp_path: Path) -> AsyncIterator[None]:
    """Certificates that live for seconds, where others live for months, and a webhook that serves them."""
    folder = tmp_path / "tls"
    folder.mkdir()
    clock = SystemClock()
    transports = [HttpTransport(load_cluster([plane.rotator_kubeconfig]), clock)]
    rotation = CertificateSettings(NAMESPACE, hosts=("127.0.0.1",), cert_dir=folder, lifetimes=SHORT)
    around = ComponentContext(clock, system_entropy(), Metrics())
    running = [asyncio.ensure_future(CertificateParts(transports[0], around, rotation).run())]
    try:
        await until(lambda: asyncio.to_thread((folder / "tls.crt").exists))
        transports.append(HttpTransport(load_cluster([plane.kubeconfig]), clock))
        settings = WebhookSettings("127.0.0.1", plane.port, folder, poll_seconds=0.5)
        around = ComponentContext(clock, system_entropy(), Metrics())
        running.append(asyncio.ensure_future(WebhookParts(transports[1], around, settings).run()))
        await until(plane.answered)
        yield
    finally:
        for one in running:
            one.cancel()
        await asyncio.wait(running)
        for transport in transports:
            await transport.aclose()


async def authorities(plane: Plane) -> list[int]:
    """The CAs that the API server is configured to trust, by their numbers."""
    hooks = (await plane.arm.call("GET", MUTATING)).ok()["webhooks"]
    bundle = base64.b64decode(hooks[0]["clientConfig"]["caBundle"])
    return [one.serial_number for one in x509.load_pem_x509_certificates(bundle)]


async def served(plane: Plane) -> int:
    secret: Obj = (await plane.arm.call("GET", SECRET)).ok()
    return x509.load_pem_x509_certificate(base64.b64decode(secret["data"]["tls.crt"])).serial_number


async def test_no_write_is_refused_meanwhile(plane: Plane, tmp_path: Path) -> None:
    async with short_lived(plane, tmp_path):
        made = (await plane.request((await plane.pod("web")).ok(201))).ok(201)
        (first,) = await authorities(plane)
        trusted, leaves, writes = [first], [await served(plane)], 0
        while first in await authorities(plane):
            names = [{"name": f"{who}.example.com"} for who in ("a", "b")[: 1 + writes % 2]]
            (await plane.patch(made, {"spec": {"requesters": names}})).ok()
            writes += 1
            trusted += [one for one in await authorities(plane) if one not in trusted]
            leaves += [one for one in [await served(plane)] if one not in leaves]
        (await plane.patch(made, {"spec": {"requesters": [{"name": "c.example.com"}]}})).ok()
    assert len(trusted) >= 2
    assert len(leaves) >= 3
    assert writes > 10
