"""External metrics for the autoscalers of a real control plane: an extension server with one value."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import AsyncIterator

from support.evictions.namespace import EvictionNamespace
from support.tlsserver import JsonHandler, TlsServer, serving
from vacate.api.kinds import Kind
from vacate.api.objects import Obj

GROUP, VERSION = "external.metrics.k8s.io", "v1beta1"
API_SERVICES = Kind(
    "apiregistration.k8s.io", "v1", "APIService", "apiservices", "apiservice", namespaced=False
)
SERVICES = Kind("", "v1", "Service", "services", "service", namespaced=True)


class _Handler(JsonHandler):
    """Answers discovery, and every question for a metric with the value of the server."""

    server: MetricsServer

    def do_GET(self) -> None:  # noqa: N802  as the base class calls it
        path = self.path.partition("?")[0].strip("/").split("/")
        self.answer(self.server.resources() if len(path) <= 3 else self.server.measured(path[-1]))


class MetricsServer(TlsServer):
    """One value for every metric, which a test may change."""

    def __init__(self, value: str) -> None:
        super().__init__(_Handler)
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


@contextlib.asynccontextmanager
async def serving_metrics(place: EvictionNamespace, value: str) -> AsyncIterator[MetricsServer]:
    """External metrics in the cluster of the place, for the length of the block."""
    name = f"{VERSION}.{GROUP}"
    with serving(MetricsServer(value)) as server:
        port = server.server_port
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
