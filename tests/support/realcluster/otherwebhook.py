"""A second validating webhook beside Vacate's, as a company has one for its own rules about evictions."""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import json
import ssl
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from support.evictions.namespace import EvictionNamespace
from support.realcluster.evictions import REVIEW_SECONDS
from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.pki.issue import new_authority, new_server

CONFIGURATIONS = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    "validatingwebhookconfiguration",
    namespaced=False,
)


class _Handler(BaseHTTPRequestHandler):
    server: OtherWebhook
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
        body = json.dumps(self.server.reviewed(review)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as the base class has it
        """Nothing."""


class OtherWebhook(ThreadingHTTPServer):
    """Refuses, or takes its time; what it was asked is kept."""

    daemon_threads = True

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.refuses = False
        self.seconds = 0.0
        self.asked: list[dict[str, Any]] = []

    def reviewed(self, review: dict[str, Any]) -> Obj:
        self.asked.append(review)
        refuses = self.refuses
        time.sleep(self.seconds)  # a rule that takes long, and no condition that is waited for
        response: Obj = {"uid": review["uid"], "allowed": not refuses}
        if refuses:
            response["status"] = {"code": 403, "message": "not on Fridays"}
        return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


@contextlib.asynccontextmanager
async def other_webhook(place: EvictionNamespace) -> AsyncIterator[OtherWebhook]:
    """One for deletions and evictions of the namespace, which the API server knows of."""
    now, context = dt.datetime.now(dt.UTC), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority = new_authority("other", now)
    leaf = new_server(authority, "other", ["127.0.0.1"], now)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "server.pem"
        file.write_bytes(leaf.certificate_pem + leaf.key_pem)
        context.load_cert_chain(file)
    name = f"other.{place.namespace}.example.com"
    with OtherWebhook(context) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        rules = [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": [verb], "resources": [resource]}
            for verb, resource in (("CREATE", "pods/eviction"), ("DELETE", "pods"))
        ]
        hook = {
            "name": name,
            "rules": rules,
            "matchConditions": [{"name": "here", "expression": f"request.namespace == '{place.namespace}'"}],
            "clientConfig": {
                "url": f"https://127.0.0.1:{server.server_port}/",
                "caBundle": base64.b64encode(authority.certificate_pem).decode(),
            },
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "timeoutSeconds": REVIEW_SECONDS,
            "admissionReviewVersions": ["v1"],
        }
        try:
            await place.client.create(CONFIGURATIONS, {"metadata": {"name": name}, "webhooks": [hook]})

            async def is_asked() -> bool:
                with contextlib.suppress(Exception):
                    await place.client.evict("no-such-pod", place.namespace)
                return bool(server.asked)

            await place.until(is_asked, "the API server asks the other webhook")
            server.asked.clear()
            yield server
        finally:
            await place.client.delete(CONFIGURATIONS, name)
            server.shutdown()
            thread.join()
