"""Making certificates: an authority, and what it vouches for. No files here."""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from vacate.errors import ConfigError

AUTHORITY_LIFETIME = dt.timedelta(days=3650)
LEAF_LIFETIME = dt.timedelta(days=365)
CLOCK_SKEW = dt.timedelta(minutes=5)
"""So much earlier than it is made a certificate begins: clocks of others may be slow."""

_CLIENT_USAGE = ExtendedKeyUsageOID.CLIENT_AUTH
_SERVER_USAGE = ExtendedKeyUsageOID.SERVER_AUTH


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def certificate_pem(self) -> bytes:
        """The certificate as text."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """The private key as text, not encrypted."""
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )


def new_authority(name: str, now: dt.datetime, lifetime: dt.timedelta = AUTHORITY_LIFETIME) -> KeyPair:
    """A certificate authority that vouches for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = _builder(subject, key, now, lifetime).issuer_name(subject)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_key_usage(authority=True), critical=True)
    return KeyPair(builder.sign(key, hashes.SHA256()), key)


def new_server(
    authority: KeyPair,
    name: str,
    hosts: Sequence[str],
    now: dt.datetime,
    lifetime: dt.timedelta = LEAF_LIFETIME,
) -> KeyPair:
    """A certificate with which a server proves to be one of the hosts, names or addresses."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    alternative = x509.SubjectAlternativeName([_host(host) for host in hosts])
    return _leaf(authority, subject, now, _SERVER_USAGE, alternative, lifetime)


def new_client(authority: KeyPair, user: str, groups: Sequence[str], now: dt.datetime) -> KeyPair:
    """A certificate with which a client proves to be a user, member of the groups."""
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, user))
    return _leaf(authority, x509.Name(attributes), now, _CLIENT_USAGE, None)


def hosts_of(certificate: x509.Certificate) -> list[str]:
    """The names and addresses that a server's certificate is for."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    addresses = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
    return [*names.get_values_for_type(x509.DNSName), *addresses]


def subject_of(certificate: x509.Certificate) -> tuple[str, tuple[str, ...]]:
    """The user and the groups of a client's certificate."""
    common = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    organisations = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return str(common[-1].value) if common else "", tuple(str(one.value) for one in organisations)


def canonical_host(host: str) -> str:
    """The host as a certificate spells it."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return host


def _leaf(
    authority: KeyPair,
    subject: x509.Name,
    now: dt.datetime,
    usage: x509.ObjectIdentifier,
    alternative: x509.SubjectAlternativeName | None,
    lifetime: dt.timedelta = LEAF_LIFETIME,
) -> KeyPair:
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(subject, key, now, lifetime, authority.certificate.not_valid_after_utc)
    builder = builder.issuer_name(authority.certificate.subject)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_key_usage(authority=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    builder = builder.add_extension(signer, critical=False)
    if alternative is not None:
        builder = builder.add_extension(alternative, critical=False)
    return KeyPair(builder.sign(authority.key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: dt.datetime,
    lifetime: dt.timedelta,
    latest: dt.datetime | None = None,
) -> x509.CertificateBuilder:
    end = now + lifetime if latest is None else min(now + lifetime, latest)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        return x509.DNSName(host)
    except ValueError as error:
        raise ConfigError(f"host {host!r} cannot be put into a certificate: {error}") from error
