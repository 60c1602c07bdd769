"""TLS towards the server."""

from __future__ import annotations

import ssl

from vacate.client.config import ClusterConfig
from vacate.client.credentials import Credentials
from vacate.client.key_pair import load_key_pair
from vacate.errors import ConfigError


def client_context(config: ClusterConfig, credentials: Credentials) -> ssl.SSLContext:
    """A context that checks the server as the configuration says, and shows the client's certificate."""
    context = _trust(config)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if config.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if credentials.certificate:
        _show(context, credentials)
    return context


def _trust(config: ClusterConfig) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cadata=config.ca_data.decode("ascii") or None)
    except (ssl.SSLError, UnicodeDecodeError):
        raise ConfigError(
            f"certificate-authority of {config.server}: is not a PEM certificate; copy the cluster's CA again"
        ) from None


def _show(context: ssl.SSLContext, credentials: Credentials) -> None:
    try:
        load_key_pair(context, credentials.certificate, credentials.key)
    except ssl.SSLError:
        raise ConfigError(
            "client-certificate and client-key: are not a PEM certificate and its key; copy both again"
        ) from None
