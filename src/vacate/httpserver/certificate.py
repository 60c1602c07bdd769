"""The certificate that new connections are shown. It is exchanged while old connections live on."""

from __future__ import annotations

import asyncio
import datetime as dt
import ssl
from collections.abc import Callable

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from vacate.client.key_pair import load_key_pair
from vacate.errors import ConfigError


class ServedCertificate:
    """A TLS context for a listener, whose certificate is chosen at each handshake.

    Where clients must show certificates, nobody gets through before it is known of which CA.
    """

    def __init__(
        self,
        on_change: Callable[[x509.Certificate], None] = lambda _: None,
        *,
        client_certificates: bool = False,
    ) -> None:
        self._client_ca = b"" if client_certificates else None
        self.context = _context(self._client_ca)
        self.context.sni_callback = self._choose
        self._on_change = on_change
        self._current: ssl.SSLContext | None = None
        self._certificate: x509.Certificate | None = None
        self._pair: tuple[bytes, bytes] | None = None
        self._there = asyncio.Event()

    @property
    def certificate(self) -> x509.Certificate | None:
        """What is shown now."""
        return self._certificate

    def use(self, chain: bytes, key: bytes) -> None:
        """Show this from the next handshake on. ConfigError where it cannot be used; the old one stays."""
        certificate = _checked(chain, key)
        self._current, self._certificate = self._made(chain, key), certificate
        self._pair = (chain, key)
        self._on_change(certificate)
        self._there.set()

    def trust(self, client_ca: bytes) -> None:
        """Let in, from the next handshake on, who shows a certificate of this CA, and nobody else."""
        before, self._client_ca = self._client_ca, client_ca
        try:
            _context(client_ca)
            if self._pair is not None:
                self._current = self._made(*self._pair)
        except ConfigError:
            self._client_ca = before
            raise

    async def there(self) -> None:
        """Return once there is a certificate."""
        await self._there.wait()

    def trouble(self, now: dt.datetime) -> str:
        """Why clients would not accept it, or nothing."""
        shown = self._certificate
        if shown is None:
            return "there is no certificate yet"
        if now >= shown.not_valid_after_utc:
            return f"the certificate expired on {shown.not_valid_after_utc:%Y-%m-%d %H:%M:%S} UTC"
        if now < shown.not_valid_before_utc:
            return f"the certificate is not valid before {shown.not_valid_before_utc:%Y-%m-%d %H:%M:%S} UTC"
        return ""

    def _made(self, chain: bytes, key: bytes) -> ssl.SSLContext:
        context = _context(self._client_ca)
        _load(context, chain, key)
        return context

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> int | None:
        """Called at every handshake, also where the client names no server."""
        if self._current is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        connection.context = self._current
        return None


def _context(client_ca: bytes | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if client_ca is not None:
        context.verify_mode = ssl.CERT_REQUIRED
    if client_ca:
        try:
            context.load_verify_locations(cadata=client_ca.decode("ascii"))
        except (ssl.SSLError, UnicodeDecodeError):
            raise ConfigError("holds no certificate in PEM form") from None
    return context


def _checked(chain: bytes, key: bytes) -> x509.Certificate:
    try:
        certificate = x509.load_pem_x509_certificate(chain)
        private = serialization.load_pem_private_key(key, password=None)
    except (ValueError, TypeError):
        raise ConfigError("is not a PEM certificate with its key") from None
    if private.public_key() != certificate.public_key():
        raise ConfigError("the key does not belong to the certificate")
    return certificate


def _load(context: ssl.SSLContext, chain: bytes, key: bytes) -> None:
    try:
        load_key_pair(context, chain, key)
    except ssl.SSLError as error:
        raise ConfigError(f"cannot be used for TLS: {error}") from None
