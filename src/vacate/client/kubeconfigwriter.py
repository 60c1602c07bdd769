"""Writing a kubeconfig: one cluster, one user, one context, all credentials inside."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from vacate.client.privatefile import write_private
from vacate.errors import ConfigError


@dataclass(frozen=True, slots=True)
class KubeconfigEntry:
    """What a kubeconfig says: where the cluster is, whom to trust, and who one is."""

    server: str
    certificate_authority: bytes  # PEM
    client_certificate: bytes = b""  # PEM
    client_key: bytes = field(default=b"", repr=False)  # PEM
    token: str = field(default="", repr=False)  # in place of them
    cluster: str = "vacate"
    user: str = "vacate-admin"
    context: str = "vacate"
    namespace: str = ""

    def to_yaml(self) -> bytes:
        """The file's content."""
        return yaml.safe_dump(self._document(), sort_keys=False).encode()

    def _document(self) -> dict[str, Any]:
        cluster = {"certificate-authority-data": _inline(self.certificate_authority), "server": self.server}
        user = (
            {"token": self.token}
            if self.token
            else {
                "client-certificate-data": _inline(self.client_certificate),
                "client-key-data": _inline(self.client_key),
            }
        )
        context = {"cluster": self.cluster, "user": self.user}
        if self.namespace:
            context["namespace"] = self.namespace
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": self.cluster, "cluster": cluster}],
            "users": [{"name": self.user, "user": user}],
            "contexts": [{"name": self.context, "context": context}],
            "current-context": self.context,
            "preferences": {},
        }


def write_kubeconfig(path: Path, entry: KubeconfigEntry) -> None:
    """Write the file, readable by its owner only; ConfigError where it cannot be written."""
    try:
        write_private(path, entry.to_yaml())
    except OSError as error:
        raise ConfigError(f"kubeconfig {path}: cannot be written: {error.strerror}") from error


def _inline(pem: bytes) -> str:
    return base64.b64encode(pem).decode()
