"""`vacate webhook` as a process beside a cluster: reviews, health, a clean end, one line when it cannot."""

from __future__ import annotations

import json
import signal
import socket
import ssl
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.manifests import pod
from support.processes.cluster import FAST_PODS, ClusterProcess, running_cluster
from support.processes.commands import vacate
from support.processes.webhook import WebhookProcess, running_webhook
from support.reviews import MUTATE, MUTATE_PODS, review
from support.waiting import until
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.kinds import PODS
from vacate.clock import SystemClock
from vacate.pki.issue import KeyPair, new_authority, new_server

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=1)]

AUTHORITY = new_authority("test", SystemClock().now())
RULES = "rules: [{ownerKinds: [Job], interceptors: [{name: a.example.com, priority: 7}]}]"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcess]:
    with running_cluster(tmp_path_factory.mktemp("cluster"), "--nodes", "1", *FAST_PODS) as cluster:
        yield cluster


def issue(folder: Path) -> KeyPair:
    pair = new_server(AUTHORITY, "hook", ["127.0.0.1"], SystemClock().now())
    (folder / "tls.crt").write_bytes(pair.certificate_pem)
    (folder / "tls.key").write_bytes(pair.key_pem)
    return pair


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    issue(tmp_path)
    (tmp_path / "rules.yaml").write_text(RULES)
    return tmp_path


def asked(webhook: WebhookProcess, path: str, sent: Any) -> Any:
    context = ssl.create_default_context(cadata=AUTHORITY.certificate_pem.decode())
    request = urllib.request.Request(
        f"https://127.0.0.1:{webhook.port}{path}",
        json.dumps(sent).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60, context=context) as answer:
        return json.loads(answer.read())["response"]


def test_it_judges_says_how_it_is_and_ends_well(cluster: ClusterProcess, folder: Path) -> None:
    made = cluster.https().create("/api/v1/namespaces/default/pods", pod("web"))
    uid = made["metadata"]["uid"]
    obj = {
        "apiVersion": KIND.api_version,
        "kind": KIND.kind,
        "metadata": {"name": uid},
        "spec": {"target": {"podRef": {"name": "web", "uid": uid}}, "requesters": [{"name": "a.b"}]},
    }
    with running_webhook(
        cluster.kubeconfig, "--cert-dir", str(folder), "--rules", str(folder / "rules.yaml")
    ) as webhook:
        webhook.wait_ready()
        response = asked(webhook, MUTATE, review("CREATE", new=obj, namespace="default"))
        assert response["allowed"] is True
        stranger = {"username": "nobody"}
        response = asked(webhook, MUTATE, review("CREATE", new=obj, namespace="default", user=stranger))
        assert response["status"]["code"] == 403
        job = {"metadata": {"ownerReferences": [{"kind": "Job", "controller": True}]}, "spec": {}}
        response = asked(webhook, MUTATE_PODS, review("CREATE", new=job, kind=PODS, namespace="default"))
        assert response["patch"]
        assert webhook.get("/healthz") == (200, "ok")
        code, metrics = webhook.get("/metrics")
        assert code == 200
        line = 'vacate_webhook_requests_total{path="/mutate/evictionrequests",verdict="refused"} 1.0'
        assert line in metrics
        assert webhook.stop() == 0
        assert "Traceback" not in webhook.output


@pytest.mark.thorough
def test_it_takes_a_new_certificate(cluster: ClusterProcess, folder: Path) -> None:
    with running_webhook(cluster.kubeconfig, "--cert-dir", str(folder)) as webhook:
        port = webhook.wait_ready().port
        pair = issue(folder)
        context = ssl.create_default_context(cadata=AUTHORITY.certificate_pem.decode())

        def shown() -> bytes | None:
            with (
                socket.create_connection(("127.0.0.1", port), 10) as plain,
                context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
            ):
                return connection.getpeercert(binary_form=True)

        wanted = ssl.PEM_cert_to_DER_cert(pair.certificate_pem.decode())
        until(lambda: shown() == wanted)
        assert webhook.stop(signal.SIGINT) == 0


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ([], 2, "give --cert-dir"),
        (["--cert-dir", "/no/such/folder"], 2, "does not exist"),
        (["--cert-dir", "{empty}"], 1, "tls.crt: cannot be read: No such file or directory"),
        (["--cert-dir", "{folder}", "--rules", "{folder}/tls.crt"], 1, "tls.crt:"),
        (["--cert-dir", "{folder}", "--feature-gates", "No=true"], 1, "unknown feature gate"),
        (["--cert-dir", "{folder}", "--kubeconfig", "/no/such/file"], 1, "/no/such/file"),
    ],
)
def test_one_line_when_it_cannot(
    cluster: ClusterProcess, folder: Path, options: list[str], code: int, message: str, tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    filled = [one.format(empty=empty, folder=folder) for one in options]
    ended = vacate({"KUBECONFIG": str(cluster.kubeconfig)}, "webhook", "--metrics-port", "0", *filled)
    assert ended.code == code
    assert message in ended.err
    assert "Traceback" not in ended.err
    if code == 1:
        assert ended.err.count("\n") == 1


def test_a_port_that_is_taken(cluster: ClusterProcess, folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with running_webhook(cluster.kubeconfig, "--cert-dir", str(folder), port=port) as webhook:
            assert webhook.wait() == 1
            assert f"error: --port: 127.0.0.1:{port}: is taken by another program" in webhook.output
