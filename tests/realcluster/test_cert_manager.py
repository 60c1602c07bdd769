"""cert-manager itself on a real API server: it makes the webhook's certificate, and renews it unnoticed."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import ssl
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from cryptography import x509
from hack.kubelab.obtain import ASSETS
from hack.kubelab.ports import reserve_port

from support.arms.arm import MERGE_PATCH, Obj
from support.arms.kube import KubeArm
from support.nodes.mounted import mount
from support.processes.cluster import vacate
from support.processes.proxied_cluster import ReachingIn, leading_to
from support.realcluster.definitions import until
from support.realcluster.kube_peers import define, running_peer
from support.realcluster.peers import definitions, peer
from support.realcluster.webhook import NAMESPACE, Plane
from vacate.api.installednames import TLS_SECRET, WEBHOOK
from vacate.api.kinds import SECRETS
from vacate.api.times import format_time
from vacate.clock import SystemClock
from vacate.install.objectkinds import CERTIFICATES, ISSUERS
from vacate.webhook.certificates.rotator import CONFIGURATIONS

pytestmark = [
    pytest.mark.kube,
    pytest.mark.xdist_group("cert-manager"),
    pytest.mark.asyncio(loop_scope="module"),
]

KINDS = ("certificates", "certificaterequests", "issuers", "clusterissuers")
CERTIFICATE = CERTIFICATES.object_path(WEBHOOK, NAMESPACE)
SECRET = SECRETS.object_path(TLS_SECRET, NAMESPACE)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def plane(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plane]:
    """Vacate installed beside cert-manager. API servers reach the webhook by its Service."""
    peer("cert-manager")
    folder, webhook = tmp_path_factory.mktemp("cert-manager"), reserve_port()
    async with contextlib.AsyncExitStack() as stack:
        # The path of a socket must be short.
        way = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "way"
        control = ReachingIn(Path(os.environ[ASSETS]), folder / "plane", way)
        control.start()
        stack.callback(control.stop)
        arm = KubeArm(control.kubeconfig)
        stack.push_async_callback(arm.aclose)
        define(control.kubeconfig, definitions("cert-manager-crds", *KINDS))
        log = folder / "cert-manager.log"
        stack.enter_context(running_peer(log, "cert-manager", "--kubeconfig", str(control.kubeconfig)))
        await stack.enter_async_context(leading_to(webhook, way=way))
        done = await asyncio.to_thread(vacate, *_install(control.kubeconfig))
        assert done.returncode == 0, done.stderr
        made = Plane(arm, control.kubeconfig, webhook, folder)
        await made.sign_in(rotates=False)
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def mounted(plane: Plane, tmp_path: Path) -> Path:
    """The folder of a pod in which the certificate is."""
    await until(lambda: ready(plane))
    mount(await secret(plane), tmp_path)
    return tmp_path


async def ready(plane: Plane) -> bool:
    found = (await plane.arm.call("GET", CERTIFICATE)).ok().get("status", {}).get("conditions", [])
    return any((one["type"], one["status"]) == ("Ready", "True") for one in found)


async def secret(plane: Plane) -> Obj:
    return (await plane.arm.call("GET", SECRET)).ok()


async def bundles(plane: Plane) -> list[str]:
    """Whom API servers trust, for every webhook."""
    found = []
    for kind, name in CONFIGURATIONS:
        configuration = (await plane.arm.call("GET", kind.object_path(name))).ok()
        found += [hook["clientConfig"].get("caBundle", "") for hook in configuration["webhooks"]]
    return found


async def test_api_servers_trust_the_certificate_that_cert_manager_made(plane: Plane, mounted: Path) -> None:
    with plane.webhook(mounted) as webhook:
        webhook.wait_ready()
        await until(plane.answered)
        pod = (await plane.pod("leaving")).ok(201)
        made = (await plane.request(pod)).ok(201)
        assert made["metadata"]["annotations"]["vacate.dev/admitted"] == "true"
        assert set(await bundles(plane)) == {(await secret(plane))["data"]["ca.crt"]}


async def test_a_renewed_certificate_is_taken_without_a_restart_and_without_a_gap(
    plane: Plane, mounted: Path
) -> None:
    with plane.webhook(mounted) as webhook:
        webhook.wait_ready()
        await until(plane.answered)
        before, trusted = await secret(plane), await bundles(plane)
        asking = asyncio.create_task(_refusals(plane, served := asyncio.Event()))
        await _renew(plane)

        async def renewed() -> bool:
            return (await secret(plane))["data"]["tls.crt"] != before["data"]["tls.crt"] and await ready(
                plane
            )

        await until(renewed)
        after = await secret(plane)
        assert after["data"]["tls.key"] != before["data"]["tls.key"]
        await until(lambda: _trusted(plane, after["data"]["ca.crt"]))
        # Kubelets take a minute to bring a changed Secret into pods.
        assert await plane.answered()
        mount(after, mounted)
        await until(lambda: _serves(webhook.port, after))
        await until(plane.answered)
        served.set()
        assert await asking == []
        assert await bundles(plane) == trusted
        assert webhook.process.poll() is None


async def test_installing_again_changes_nothing(plane: Plane) -> None:
    await until(lambda: ready(plane))
    await until(lambda: _injected(plane))
    before = await bundles(plane)
    done = await asyncio.to_thread(vacate, *_install(plane.admin))
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line.endswith((" created", " configured"))] == []
    assert await bundles(plane) == before


async def test_uninstalling_leaves_no_key_behind(plane: Plane) -> None:
    """The last test here: cert-manager would make Secrets anew for as long as there are Certificates."""
    await until(lambda: ready(plane))
    done = await asyncio.to_thread(vacate, "uninstall", "--kubeconfig", str(plane.admin))
    assert done.returncode == 0, done.stderr
    for kind in (CERTIFICATES, ISSUERS, SECRETS):
        left = (await plane.arm.call("GET", kind.collection_path(NAMESPACE))).ok()["items"]
        assert [one["metadata"]["name"] for one in left] == []


IMAGE = ("--image", "vacate:0")


def _install(kubeconfig: Path) -> tuple[str, ...]:
    return ("install", "--kubeconfig", str(kubeconfig), "--certificates", "cert-manager", *IMAGE)


async def _injected(plane: Plane) -> bool:
    return all(await bundles(plane))


async def _renew(plane: Plane) -> None:
    """What `cmctl renew` does."""
    now = format_time(SystemClock().now())
    issuing = {"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "by a test",
               "lastTransitionTime": now}  # fmt: skip
    status = (await plane.arm.call("GET", CERTIFICATE)).ok()["status"]
    change = {"status": {"conditions": [*status["conditions"], issuing]}}
    await plane.arm.given("PATCH", f"{CERTIFICATE}/status", change, content_type=MERGE_PATCH)


async def _refusals(plane: Plane, enough: asyncio.Event) -> list[str]:
    """Ask all the time; the messages while the webhook did not answer."""
    messages = []
    while not enough.is_set():
        answer = await plane.ask({})
        if "denied the request" not in (answer.message or ""):
            messages.append(answer.message or "")
        await asyncio.sleep(0)
    return messages


async def _trusted(plane: Plane, authority: str) -> bool:
    return set(await bundles(plane)) == {authority}


async def _serves(port: int, wanted: Obj) -> bool:
    """Whether the webhook shows this certificate to any client."""
    shown = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port))
    expected = x509.load_pem_x509_certificates(base64.b64decode(wanted["data"]["tls.crt"]))[0]
    return x509.load_pem_x509_certificate(shown.encode()).serial_number == expected.serial_number
