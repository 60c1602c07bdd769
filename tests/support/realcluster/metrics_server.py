"""External metrics for the autoscalers of a real control plane: an extension server with one value."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import ssl
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from support.certificates import Authority
from support.evictions.namespace import EvictionNamespace
from vacate.api.kinds import Kind
from vacate.api.objects import Obj

GROUP, VERSION = "external.metrics.k8s.io", "v1beta1"
API_SERVICES = Kind(
    "apiregistration.k8s.io", "v1", "APIService", "apiservices", "apiservice", namespaced=False
)
SERVICES = Kind("", "v1", "Service", "services", "service", namespaced=True)


class _Handler(BaseHTTPRequestHandler):
    """Answers discovery, and every question for a metric with the value of the server."""

    server: MetricsServer

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].strip("/").split("/")
        found = self.server.resources() if len(path) <= 3 else self.server.measured(path[-1])
        body = json.dumps(found).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as the base class has it
        """Nothing: the API server asks every few seconds whether it is well."""


class MetricsServer(ThreadingHTTPServer):
    """One value for every metric, which a test may change."""

    daemon_threads = True

    def __init__(self, value: str, context: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.value = value

    @staticmethod
    def resources() -> Obj:
        resource = {
            "name": "requests",
            "singularName": "",
            "namespaced": True,
            "kind": "ExternalMetricValueList",
            "verbs": ["get"],
        }
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": f"{GROUP}/{VERSION}",
            "resources": [resource],
        }

    def measured(self, name: str) -> Obj:
        now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        value = {"metricName": name, "metricLabels": {}, "timestamp": now, "value": self.value}
        return {
            "kind": "ExternalMetricValueList",
            "apiVersion": f"{GROUP}/{VERSION}",
            "metadata": {},
            "items": [value],
        }


@contextlib.contextmanager
def _listening(value: str) -> Iterator[MetricsServer]:
    pair, context = Authority().issue("metrics"), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "server.pem"
        file.write_bytes(pair.certificate + pair.key)
        context.load_cert_chain(file)
    with MetricsServer(value, context) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextlib.asynccontextmanager
async def serving_metrics(place: EvictionNamespace, value: str) -> AsyncIterator[MetricsServer]:
    """External metrics in the cluster of the place, for the length of the block."""
    name = f"{VERSION}.{GROUP}"
    with _listening(value) as server:
        port = server.server_address[1]
        service = {
            "metadata": {"name": "metrics"},
            "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]},
        }
        registration = {
            "metadata": {"name": name},
            "spec": {
                "group": GROUP,
                "version": VERSION,
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "insecureSkipTLSVerify": True,
                "service": {"name": "metrics", "namespace": place.namespace, "port": port},
            },
        }
        await place.client.create(SERVICES, service, place.namespace)
        await place.client.create(API_SERVICES, registration)
        try:
            yield server
        finally:  # a group that nobody serves would keep namespaces from going
            await place.client.delete(API_SERVICES, name)
