"""What the webhook counts."""

from __future__ import annotations

from cryptography import x509
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class WebhookMetrics:
    """Families over one registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.requests = Counter(
            "vacate_webhook_requests",
            "Reviews answered, by path and verdict: allowed, refused, throttled, malformed or failed.",
            ["path", "verdict"],
            registry=registry,
        )
        self.seconds = Histogram(
            "vacate_webhook_request_duration_seconds",
            "Time to answer a review.",
            ["path"],
            registry=registry,
        )
        self.certificate_end = Gauge(
            "vacate_webhook_certificate_not_after_seconds",
            "When the certificate in use expires, as seconds since 1970.",
            registry=registry,
        )
        self.certificate_errors = Counter(
            "vacate_webhook_certificate_errors",
            "Times that a new certificate or a new file of rules could not be used.",
            registry=registry,
        )

    def note_certificate(self, certificate: x509.Certificate) -> None:
        """Another certificate is shown from now on."""
        self.certificate_end.set(certificate.not_valid_after_utc.timestamp())
