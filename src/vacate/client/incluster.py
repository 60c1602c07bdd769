"""The configuration that a pod finds in itself, and the choice between it and kubeconfig."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from vacate.client.config import ClusterConfig
from vacate.client.kubeconfig import default_files, load_cluster
from vacate.errors import ConfigError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def load_in_cluster(
    environ: Mapping[str, str] | None = None, folder: Path = SERVICE_ACCOUNT, *, account: bool = True
) -> ClusterConfig:
    """The API server and, where it is wanted, the service account of the pod that this runs in."""
    values = os.environ if environ is None else environ
    host, port = values.get("KUBERNETES_SERVICE_HOST", ""), values.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise ConfigError(
            "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is not a pod in a "
            "cluster; name a kubeconfig"
        )
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    if not account:
        return ClusterConfig(server, ca_data=_read(folder / "ca.crt"))
    if not (folder / "token").exists():
        raise ConfigError(
            f"{folder / 'token'}: no such file; set automountServiceAccountToken: true on the pod"
        )
    return ClusterConfig(
        server=server,
        ca_data=_read(folder / "ca.crt"),
        token_file=folder / "token",
        namespace=_read(folder / "namespace").decode().strip() or "default",
    )


def load_config(
    kubeconfig: str = "", context: str = "", environ: Mapping[str, str] | None = None
) -> ClusterConfig:
    """What the caller named, else KUBECONFIG or ~/.kube/config where there is one, else in-cluster."""
    if kubeconfig:
        return load_cluster([Path(kubeconfig)], context)
    values = os.environ if environ is None else environ
    files = default_files(values)
    in_a_pod = bool(values.get("KUBERNETES_SERVICE_HOST"))
    if in_a_pod and not context and not any(map(_is_there, files)):
        return load_in_cluster(values)
    return load_cluster(files, context)


def load_server(kubeconfig: str = "", context: str = "") -> ClusterConfig:
    """Where the cluster is and whom to trust, without any credentials: for a program that has none."""
    if kubeconfig or not os.environ.get("KUBERNETES_SERVICE_HOST"):
        found = load_config(kubeconfig, context)
        return ClusterConfig(found.server, found.ca_data, found.insecure, found.tls_server_name)
    return load_in_cluster(account=False)


def _is_there(file: Path) -> bool:
    """Not where it cannot be looked for, as in the home of a user who is not that of the pod."""
    try:
        return file.exists()
    except OSError:
        return False


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}; is the volume mounted?") from None
