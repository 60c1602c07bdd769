"""A certificate bundle in a Secret: `tls.crt` and `tls.key`, `ca.crt` with every authority, `ca.key`."""

from __future__ import annotations

import base64
import binascii

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from vacate.api.objects import Obj
from vacate.api.untyped import mapping
from vacate.errors import ConfigError
from vacate.pki.issue import KeyPair
from vacate.pki.rotation import CertificateBundle

NAME = "vacate-webhook-tls"
TYPE = "kubernetes.io/tls"
_LEAF, _LEAF_KEY, _AUTHORITIES, _AUTHORITY_KEY = "tls.crt", "tls.key", "ca.crt", "ca.key"


def bundle_to_data(certificates: CertificateBundle) -> dict[str, str]:
    """The `data` of the Secret."""
    parts = {
        _LEAF: certificates.leaf.certificate_pem,
        _LEAF_KEY: certificates.leaf.key_pem,
        _AUTHORITIES: certificates.bundle,
        _AUTHORITY_KEY: certificates.newest.key_pem,
    }
    return {key: base64.b64encode(value).decode() for key, value in parts.items()}


def bundle_from(secret: Obj) -> CertificateBundle | None:
    """The certificates in a Secret; None where it has none that can be used.

    ConfigError where another program keeps a certificate there: it is not ours to overwrite.
    """
    data = mapping(secret.get("data"))
    if data.get(_LEAF) and not data.get(_AUTHORITY_KEY):
        raise ConfigError(
            f"Secret {NAME} holds a certificate that vacate certificates did not make; delete it to get "
            "one of its own, or install with --certificates=cert-manager"
        )
    try:
        return _bundle({key: base64.b64decode(value or "") for key, value in data.items()})
    except (KeyError, ValueError, TypeError, binascii.Error):
        return None


def _bundle(parts: dict[str, bytes]) -> CertificateBundle:
    authorities = tuple(x509.load_pem_x509_certificates(parts[_AUTHORITIES]))
    key = _key(parts[_AUTHORITY_KEY], authorities[-1])
    leaf = x509.load_pem_x509_certificate(parts[_LEAF])
    return CertificateBundle(authorities, key, KeyPair(leaf, _key(parts[_LEAF_KEY], leaf)))


def _key(pem: bytes, certificate: x509.Certificate) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
        raise ValueError("the key does not belong to the certificate")
    return key
