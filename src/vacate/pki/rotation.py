"""The webhook's own certificates as values: what there is, and what should be there instead.

An authority lives for a year and a server's certificate for thirty days; each is replaced when a third of its
time is left. A new authority is trusted first and used later: for about an hour both are in the bundle and
the old one's certificate is served, so that every API server knows the new one when it is met. The old one
stays in the bundle until the last certificate that it issued has expired.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from vacate.pki.issue import (
    CLOCK_SKEW,
    KeyPair,
    canonical_host,
    hosts_of,
    new_authority,
    new_server,
)

AUTHORITY_LIFETIME = dt.timedelta(days=365)
LEAF_LIFETIME = dt.timedelta(days=30)
SETTLING = dt.timedelta(hours=1)
_LEFT_AT_RENEWAL = 3  # a third


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long each lives, and for how long a new authority is only trusted."""

    authority: dt.timedelta = AUTHORITY_LIFETIME
    leaf: dt.timedelta = LEAF_LIFETIME
    settling: dt.timedelta = SETTLING


@dataclass(frozen=True, slots=True)
class CertificateBundle:
    """Whom to trust, the newest last; the newest one's key; and the certificate to serve."""

    authorities: tuple[x509.Certificate, ...]
    key: ec.EllipticCurvePrivateKey
    leaf: KeyPair

    @property
    def newest(self) -> KeyPair:
        """The authority that issues."""
        return KeyPair(self.authorities[-1], self.key)

    @property
    def bundle(self) -> bytes:
        """All authorities, as API servers take them."""
        return b"".join(one.public_bytes(serialization.Encoding.PEM) for one in self.authorities)


def renewed(
    bundle: CertificateBundle | None,
    hosts: Sequence[str],
    now: dt.datetime,
    lifetimes: Lifetimes | None = None,
) -> CertificateBundle:
    """What should be there now: the same bundle where nothing is to be done."""
    wanted = tuple(dict.fromkeys(map(canonical_host, hosts)))
    return _Renewal(wanted, now, lifetimes or Lifetimes()).of(bundle)


@dataclass(frozen=True, slots=True)
class _Renewal:
    """One look at the bundle."""

    hosts: tuple[str, ...]
    now: dt.datetime
    lifetimes: Lifetimes

    def of(self, bundle: CertificateBundle | None) -> CertificateBundle:
        if bundle is None:
            authority = self._new_authority()
            return CertificateBundle((authority.certificate,), authority.key, self._new_leaf(authority))
        bundle = self._with_fresh_authority(bundle)
        bundle = self._with_fresh_leaf(bundle)
        return self._without_old_authorities(bundle)

    def _with_fresh_authority(self, bundle: CertificateBundle) -> CertificateBundle:
        if not self._expires_soon(bundle.authorities[-1]):
            return bundle
        made = self._new_authority()
        return replace(bundle, authorities=(*bundle.authorities, made.certificate), key=made.key)

    def _with_fresh_leaf(self, bundle: CertificateBundle) -> CertificateBundle:
        leaf, newest = bundle.leaf.certificate, bundle.authorities[-1]
        useless = self.now >= leaf.not_valid_after_utc or not set(self.hosts) <= set(hosts_of(leaf))
        by_newest = _issued_by(leaf, newest)
        may_wait = not by_newest and self.now < _made_at(newest) + self.lifetimes.settling
        if useless or ((self._expires_soon(leaf) or not by_newest) and not may_wait):
            return replace(bundle, leaf=self._new_leaf(bundle.newest))
        return bundle

    def _without_old_authorities(self, bundle: CertificateBundle) -> CertificateBundle:
        """No certificate of an old authority is younger than the newest authority."""
        *older, newest = bundle.authorities
        all_over = self.now >= _made_at(newest) + self.lifetimes.leaf + self.lifetimes.settling
        kept = [
            one
            for one in older
            if self.now < one.not_valid_after_utc
            and (not all_over or _issued_by(bundle.leaf.certificate, one))
        ]
        if len(kept) == len(older):
            return bundle
        return replace(bundle, authorities=(*kept, newest))

    def _new_authority(self) -> KeyPair:
        name = f"vacate-webhook-ca@{int(self.now.timestamp())}"
        return new_authority(name, self.now, self.lifetimes.authority)

    def _new_leaf(self, authority: KeyPair) -> KeyPair:
        return new_server(authority, "vacate-webhook", self.hosts, self.now, self.lifetimes.leaf)

    def _expires_soon(self, certificate: x509.Certificate) -> bool:
        end = certificate.not_valid_after_utc
        return self.now >= end - (end - _made_at(certificate)) / _LEFT_AT_RENEWAL


def _made_at(certificate: x509.Certificate) -> dt.datetime:
    return certificate.not_valid_before_utc + CLOCK_SKEW


def _issued_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True
