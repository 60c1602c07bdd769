"""The rotation of the webhook's certificates as a process of its own: what `vacate certificates` runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from vacate.api.installednames import DEFAULT_NAMESPACE
from vacate.client.client import Client
from vacate.client.privatefile import write_private
from vacate.client.transport import Transport
from vacate.errors import ConfigError
from vacate.pki.rotation import CertificateBundle, Lifetimes
from vacate.runtime.ratelimit import RateLimitedTransport
from vacate.webhook.certificates.rotator import CertificateRotator, ServingIdentity
from vacate.wiring.components import ComponentContext

COMPONENT = "certificates"
SERVICE = "vacate-webhook"


@dataclass(frozen=True, slots=True)
class CertificateSettings:
    """What a person may choose."""

    namespace: str = DEFAULT_NAMESPACE  # of the Secret and of the Service
    service: str = SERVICE
    hosts: tuple[str, ...] = ()  # further names and addresses for the certificate
    # For a webhook outside of the cluster, which can mount no Secret: where tls.crt and tls.key are written.
    cert_dir: Path | None = None
    lifetimes: Lifetimes = field(default_factory=Lifetimes)

    @property
    def all_hosts(self) -> tuple[str, ...]:
        """Whom the certificate speaks for: the Service first, by all its names."""
        short = f"{self.service}.{self.namespace}"
        return (f"{short}.svc", f"{short}.svc.cluster.local", short, self.service, *self.hosts)


class CertificateParts:
    """The rotator over one transport. It opens no port."""

    def __init__(self, transport: Transport, around: ComponentContext, settings: CertificateSettings) -> None:
        paced = RateLimitedTransport(transport, around.clock, metrics=around.metrics)
        self._folder = settings.cert_dir
        self._rotator = CertificateRotator(
            Client(paced, user_agent=f"vacate/{COMPONENT}"),
            ServingIdentity(settings.namespace, settings.all_hosts),
            clock=around.clock,
            entropy=around.entropy,
            lifetimes=settings.lifetimes,
            deliver=self._write if settings.cert_dir is not None else None,
        )

    @property
    def trouble(self) -> str:
        """Why Secret and configurations are not as they should be, or nothing."""
        return self._rotator.trouble

    async def run(self) -> None:
        """Run until cancelled."""
        await self._rotator.run()

    def _write(self, certificates: CertificateBundle) -> None:
        assert self._folder is not None
        try:
            write_private(self._folder / "tls.key", certificates.leaf.key_pem)
            write_private(self._folder / "tls.crt", certificates.leaf.certificate_pem)
        except OSError as error:
            raise ConfigError(f"--cert-dir: {self._folder}: cannot be written: {error.strerror}") from None
