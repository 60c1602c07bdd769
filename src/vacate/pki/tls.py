"""TLS on the server's side: what it demands, and whom it met."""

from __future__ import annotations

import hashlib
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vacate.errors import ConfigError
from vacate.wire.message import Peer


def server_ssl_context(server_file: Path, authority_pem: bytes) -> ssl.SSLContext:
    """TLS 1.2 or newer; a client's certificate is optional, and one that is shown must be the authority's."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(server_file)
        context.load_verify_locations(cadata=authority_pem.decode("ascii"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{server_file}: cannot be used for TLS: {error}") from error
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


def peer_of(connection: ssl.SSLObject | ssl.SSLSocket | None) -> Peer | None:
    """Whom the client's certificate names, where the connection has one."""
    if connection is None:
        return None
    der = connection.getpeercert(binary_form=True)
    subject = connection.getpeercert()
    return peer_from_certificate(subject, der) if der and subject else None


def peer_from_certificate(certificate: Mapping[str, Any], der: bytes) -> Peer:
    """The peer named by a certificate, as `ssl` describes it: common name and organisations."""
    pairs = [pair for group in certificate.get("subject", ()) for pair in group]
    common = [value for key, value in pairs if key == "commonName"]
    groups = tuple(value for key, value in pairs if key == "organizationName")
    return Peer(common[-1] if common else "", groups, f"X509SHA256={hashlib.sha256(der).hexdigest()}")
