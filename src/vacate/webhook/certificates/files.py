"""Files that may change while the webhook runs: certificate, CA of clients, and the rules for pods.

They are read again now and then. One that cannot be used is logged once, and what was read before stays in
use.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from vacate.admission.pods.registrationrules import PodRule, read_rules
from vacate.clock import Clock
from vacate.errors import ConfigError
from vacate.httpserver.certificate import ServedCertificate
from vacate.webhook.metrics import WebhookMetrics

POLL_SECONDS = 5.0
_log = logging.getLogger(__name__)


class CertificateFolder:
    """`tls.crt` and `tls.key`, as cert-manager and Secrets of type kubernetes.io/tls have them."""

    def __init__(self, folder: Path, served: ServedCertificate) -> None:
        self._files = (folder / "tls.crt", folder / "tls.key")
        self._served = served
        self._seen: tuple[bytes, bytes] | None = None

    def look(self) -> None:
        """Use what is there now, if it is new; ConfigError where it is and cannot be used."""
        chain, key = _read(self._files[0]), _read(self._files[1])
        if (chain, key) == self._seen:
            return
        try:
            self._served.use(chain, key)
        except ConfigError as error:
            raise ConfigError(f"{self._files[0]}: {error}") from None
        self._seen = (chain, key)


class AuthorityFile:
    """`ca.crt`: whom others must trust to know the certificate beside it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.text = ""

    def look(self) -> None:
        """Use what is there now; ConfigError where that is no certificate."""
        content = _read(self._path).decode(errors="replace")
        if content != self.text and "-----BEGIN CERTIFICATE-----" not in content:
            raise ConfigError(f"{self._path}: has no certificate; pods could not verify the server")
        self.text = content


class ClientCaFile:
    """The CA whose certificates clients must show."""

    def __init__(self, path: Path, served: ServedCertificate) -> None:
        self._path = path
        self._served = served
        self._seen: bytes | None = None

    def look(self) -> None:
        """Use what is there now, if it is new; ConfigError where it is and cannot be used."""
        content = _read(self._path)
        if content == self._seen:
            return
        if not content.strip():
            raise ConfigError(f"{self._path}: is empty: without a CA no client can be authenticated")
        try:
            self._served.trust(content)
        except ConfigError as error:
            raise ConfigError(f"{self._path}: {error}") from None
        self._seen = content


class RulesFile:
    """The rules for pods; none without a file."""

    def __init__(self, path: Path | None, allowed: tuple[str, ...]) -> None:
        self._path = path
        self._allowed = allowed
        self._seen: bytes | None = None
        self.rules: tuple[PodRule, ...] = ()

    def look(self) -> None:
        """Use what is there now, if it is new; ConfigError where it is and cannot be used."""
        if self._path is None:
            return
        content = _read(self._path)
        if content == self._seen:
            return
        self.rules = read_rules(content.decode(errors="replace"), str(self._path), self._allowed)
        self._seen = content


async def keep_looking(
    looks: Sequence[Callable[[], None]], clock: Clock, metrics: WebhookMetrics, seconds: float = POLL_SECONDS
) -> None:
    """Look at all of them again and again, until cancelled."""
    reported: dict[int, str] = {}
    while True:
        await clock.sleep(seconds)
        for index, look in enumerate(looks):
            try:
                look()
                reported.pop(index, None)
            except ConfigError as error:
                if reported.get(index) != str(error):
                    metrics.certificate_errors.inc()
                    _log.warning("%s; what was read before stays in use", error)
                reported[index] = str(error)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
