"""The webhook's own certificates as values: what there is, and what should be there instead.

An authority lives for a year and a server's certificate for thirty days; each is replaced when a third of its
time is left. A new authority is trusted first and used later: for about an hour both are in the bundle and
the old one's certificate is served, so that every API server knows the new one when it is met. The old one
stays in the bundle until the last certificate that it issued has ended.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from vacate.apiserver.pki_issue import KeyPair, canonical_host, hosts_of, new_authority, new_server

AUTHORITY_LIFETIME = dt.timedelta(days=365)
LEAF_LIFETIME = dt.timedelta(days=30)
SETTLING = dt.timedelta(hours=1)
_LEFT_AT_RENEWAL = 3  # a third


@dataclass(frozen=True, slots=True)
class Papers:
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


def renewed(papers: Papers | None, hosts: Sequence[str], now: dt.datetime) -> Papers:
    """What should be there now: the same papers where nothing is to be done."""
    wanted = tuple(dict.fromkeys(map(canonical_host, hosts)))
    if papers is None:
        return _first(wanted, now)
    papers = _with_fresh_authority(papers, now)
    papers = _with_fresh_leaf(papers, wanted, now)
    return _without_old_authorities(papers, now)


def _first(hosts: Sequence[str], now: dt.datetime) -> Papers:
    authority = _new_authority(now)
    return Papers((authority.certificate,), authority.key, _new_leaf(authority, hosts, now))


def _with_fresh_authority(papers: Papers, now: dt.datetime) -> Papers:
    if not _ends_soon(papers.authorities[-1], now):
        return papers
    made = _new_authority(now)
    return replace(papers, authorities=(*papers.authorities, made.certificate), key=made.key)


def _with_fresh_leaf(papers: Papers, hosts: Sequence[str], now: dt.datetime) -> Papers:
    leaf, newest = papers.leaf.certificate, papers.authorities[-1]
    useless = now >= leaf.not_valid_after_utc or not set(hosts) <= set(hosts_of(leaf))
    by_newest = _issued_by(leaf, newest)
    may_wait = not by_newest and now < newest.not_valid_before_utc + SETTLING
    if useless or ((_ends_soon(leaf, now) or not by_newest) and not may_wait):
        return replace(papers, leaf=_new_leaf(papers.newest, hosts, now))
    return papers


def _without_old_authorities(papers: Papers, now: dt.datetime) -> Papers:
    """No certificate of an old authority is younger than the newest authority."""
    *older, newest = papers.authorities
    all_over = now >= newest.not_valid_before_utc + LEAF_LIFETIME + SETTLING
    kept = [
        one
        for one in older
        if now < one.not_valid_after_utc and (not all_over or _issued_by(papers.leaf.certificate, one))
    ]
    if len(kept) == len(older):
        return papers
    return replace(papers, authorities=(*kept, newest))


def _new_authority(now: dt.datetime) -> KeyPair:
    return new_authority(f"vacate-webhook-ca@{int(now.timestamp())}", now, AUTHORITY_LIFETIME)


def _new_leaf(authority: KeyPair, hosts: Sequence[str], now: dt.datetime) -> KeyPair:
    return new_server(authority, "vacate-webhook", hosts, now, LEAF_LIFETIME)


def _ends_soon(certificate: x509.Certificate, now: dt.datetime) -> bool:
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return now >= end - (end - begin) / _LEFT_AT_RENEWAL


def _issued_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True
