"""How to reach a cluster, as a value: what kubeconfig and in-cluster configuration come down to."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A program that prints credentials."""

    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    api_version: str = "client.authentication.k8s.io/v1"
    install_hint: str = ""
    provide_cluster_info: bool = False


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """One cluster, one user, one default namespace. Secrets are kept out of its repr."""

    server: str
    ca_data: bytes = b""  # PEM; empty for the system's authorities
    insecure: bool = False  # accept any server certificate
    tls_server_name: str = ""
    client_certificate: bytes = field(default=b"", repr=False)  # PEM
    client_key: bytes = field(default=b"", repr=False)  # PEM
    token: str = field(default="", repr=False)
    token_file: Path | None = None  # wins over token; read again every minute
    exec_plugin: ExecPlugin | None = None
    impersonate: str = ""
    impersonate_groups: tuple[str, ...] = ()
    namespace: str = "default"
