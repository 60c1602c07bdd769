"""The cluster's certificates in a folder: made once, used again, renewed before they end.

Each identity is one file with its certificate and its key, so that the two can never be of different ages.
`ca.crt` is the authority's certificate alone, for clients.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from vacate.client.privatefile import write_private
from vacate.clock import PassiveClock
from vacate.embedded.apiserver.auth.accounttokens import new_token_key
from vacate.entropy import system_entropy
from vacate.errors import ConfigError
from vacate.pki.issue import (
    KeyPair,
    canonical_host,
    hosts_of,
    new_authority,
    new_client,
    new_server,
    subject_of,
)
from vacate.pki.tls import peer_of, server_ssl_context

__all__ = ["LOCAL_HOSTS", "KeyPair", "Pki", "peer_of", "server_ssl_context"]

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_RENEW_BEFORE = dt.timedelta(days=30)
_PUBLIC = 0o644
_KUBERNETES_HOSTS = (
    "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
)  # fmt: skip


class Pki:
    """The authority of one cluster, and the certificates that it issues into its folder."""

    def __init__(self, folder: Path, clock: PassiveClock) -> None:
        self.folder = folder
        self._clock = clock
        self._authority: KeyPair | None = None

    @property
    def authority(self) -> KeyPair:
        """The certificate authority; ConfigError where its file is broken."""
        known = self._authority
        if known is None or self._expires_soon(known):
            known = self._authority = self._kept_or_new("ca", self._is_authority, self._new_authority)
            self._publish(known)
        return known

    def server(self, hosts: Sequence[str] = ()) -> KeyPair:
        """The server's certificate, for this machine's own names and the further hosts."""
        wanted = list(dict.fromkeys(map(canonical_host, (*LOCAL_HOSTS, *_KUBERNETES_HOSTS, *hosts))))
        authority = self.authority
        return self._kept_or_new(
            "server",
            lambda pair: self._is_ours(pair) and set(wanted) <= set(hosts_of(pair.certificate)),
            lambda now: new_server(authority, "kube-apiserver", wanted, now),
        )

    def client(self, name: str, user: str, groups: Sequence[str] = ()) -> KeyPair:
        """A client's certificate, kept in a file of that name."""
        authority = self.authority
        return self._kept_or_new(
            name,
            lambda pair: self._is_ours(pair) and subject_of(pair.certificate) == (user, tuple(groups)),
            lambda now: new_client(authority, user, groups, now),
        )

    def token_key(self) -> bytes:
        """The key of the tokens of service accounts, which are valid after a restart as well."""
        path = self.folder / "service-accounts.key"
        try:
            kept = path.read_bytes()
        except FileNotFoundError:
            kept = b""
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
        if not kept:
            kept = new_token_key(system_entropy())
            write_private(path, kept)
        return kept

    def file(self, name: str) -> Path:
        """Where the identity of that name is kept: `ca`, `server`, or a client."""
        return self.folder / f"{name}.pem"

    def _kept_or_new(
        self, name: str, fits: Callable[[KeyPair], bool], make: Callable[[dt.datetime], KeyPair]
    ) -> KeyPair:
        path = self.file(name)
        kept = read_pair(path)
        if kept is not None and fits(kept) and not self._expires_soon(kept):
            return kept
        made = make(self._clock.now())
        write_private(path, made.key_pem + made.certificate_pem)
        return made

    def _new_authority(self, now: dt.datetime) -> KeyPair:
        return new_authority(f"vacate-ca@{int(now.timestamp())}", now)

    def _is_authority(self, pair: KeyPair) -> bool:
        if _signed_by(pair, pair):
            return True
        raise ConfigError(f"{self.file('ca')}: is not a certificate authority; {_remedy(self.file('ca'))}")

    def _is_ours(self, pair: KeyPair) -> bool:
        return _signed_by(pair, self.authority)

    def _expires_soon(self, pair: KeyPair) -> bool:
        return self._clock.now() + _RENEW_BEFORE >= pair.certificate.not_valid_after_utc

    def _publish(self, authority: KeyPair) -> None:
        path = self.folder / "ca.crt"
        if not path.exists() or path.read_bytes() != authority.certificate_pem:
            write_private(path, authority.certificate_pem, mode=_PUBLIC)


def read_pair(path: Path) -> KeyPair | None:
    """The certificate and key in a file, None where there is no file, ConfigError where it is broken."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        key = serialization.load_pem_private_key(content, password=None)
        certificate = x509.load_pem_x509_certificate(content)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{path}: holds no certificate with its key; {_remedy(path)}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
        raise ConfigError(f"{path}: the key does not belong to the certificate; {_remedy(path)}")
    return KeyPair(certificate, key)


def _signed_by(pair: KeyPair, authority: KeyPair) -> bool:
    try:
        pair.certificate.verify_directly_issued_by(authority.certificate)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _remedy(path: Path) -> str:
    if path.stem == "ca":
        return "restore it from a backup, or delete it to get a new authority and new kubeconfigs"
    return "delete it, and a new one is made at the next start"
