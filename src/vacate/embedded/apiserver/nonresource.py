"""Health, version and metrics: the paths that are no resources."""

from __future__ import annotations

from prometheus_client import generate_latest

from vacate.api.objects import encode
from vacate.embedded.apiserver.discovery import VERSION
from vacate.embedded.apiserver.request.negotiation import check_plain
from vacate.metrics import Metrics
from vacate.wire.message import Request, Response

_METRICS = "text/plain; version=0.0.4; charset=utf-8"


def version(request: Request) -> Response:
    """What release this server behaves like."""
    check_plain(request.headers.get("Accept", ""), forms=False)
    return Response(200, encode(VERSION))


def metrics(registry: Metrics) -> Response:
    """All metrics in the text form of Prometheus."""
    return Response(200, generate_latest(registry.registry), _METRICS)
