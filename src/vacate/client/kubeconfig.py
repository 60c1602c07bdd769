"""From kubeconfig to a cluster's configuration: the context, what it refers to, and the credentials."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vacate.client.config import ClusterConfig, ExecPlugin
from vacate.client.kubeconfigfiles import Entry, Kubeconfig, default_files, read_kubeconfig
from vacate.errors import ConfigError

__all__ = ["context_name", "default_files", "load_cluster", "read_kubeconfig"]

_EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


def load_cluster(files: Sequence[Path], context: str = "") -> ClusterConfig:
    """The cluster, user and namespace of the named context, or of the current one."""
    config = read_kubeconfig(files)
    chosen = _context(config, context)
    cluster = _referenced(config.clusters, chosen, "cluster", "clusters")
    user = _referenced(config.users, chosen, "user", "users", optional=True)
    _refuse_unsupported(cluster, user)
    return ClusterConfig(
        server=_server(cluster),
        ca_data=cluster.pem("certificate-authority"),
        insecure=_insecure(cluster),
        tls_server_name=cluster.text("tls-server-name"),
        namespace=chosen.text("namespace") or "default",
        **_credentials(user),
    )


def context_name(kubeconfig: str = "", context: str = "") -> str:
    """The name of the context that a command uses, as far as there is one; empty inside a pod."""
    if context:
        return context
    files = [Path(kubeconfig)] if kubeconfig else default_files()
    try:
        return read_kubeconfig(files).current_context
    except ConfigError:
        return ""


def _context(config: Kubeconfig, wanted: str) -> Entry:
    name = wanted or config.current_context
    files = ", ".join(map(str, config.files))
    known = ", ".join(sorted(config.contexts)) or "none"
    if not name:
        raise ConfigError(f"{files}: current-context: is not set; name a context (known contexts: {known})")
    if name not in config.contexts:
        field = "contexts" if wanted else "current-context"
        raise ConfigError(f"{files}: {field}: there is no context {name!r}; known contexts: {known}")
    return config.contexts[name]


def _referenced(
    entries: Mapping[str, Entry], context: Entry, field: str, plural: str, *, optional: bool = False
) -> Entry:
    name = context.text(field)
    if not name and optional:
        return Entry(context.file, f"{plural}[]", {})
    if name not in entries:
        known = ", ".join(sorted(entries)) or "none"
        problem = f"there is no such entry in {plural}: {name!r}" if name else "is missing"
        raise context.wrong(field, problem, f"known {plural}: {known}")
    return entries[name]


def _server(cluster: Entry) -> str:
    server = cluster.text("server")
    if not server.startswith(("https://", "http://")):
        raise cluster.wrong("server", f"{server!r} is not a URL", "write it as https://host:port")
    return server.rstrip("/")


def _insecure(cluster: Entry) -> bool:
    insecure = cluster.flag("insecure-skip-tls-verify")
    if insecure and (cluster.text("certificate-authority") or cluster.text("certificate-authority-data")):
        problem = "cannot be true beside certificate-authority"
        raise cluster.wrong("insecure-skip-tls-verify", problem, "remove one of the two")
    return insecure


def _refuse_unsupported(cluster: Entry, user: Entry) -> None:
    if cluster.text("proxy-url"):
        raise cluster.wrong("proxy-url", "proxies are not supported", "use a direct connection or a tunnel")
    if user.fields.get("auth-provider"):
        raise user.wrong("auth-provider", "is not supported", "use exec with the provider's plugin")
    if user.text("username"):
        raise user.wrong("username", "basic authentication is not supported", "use a token or a certificate")


def _credentials(user: Entry) -> dict[str, Any]:
    certificate, key = user.pem("client-certificate"), user.pem("client-key")
    if bool(certificate) != bool(key):
        missing = "client-key" if certificate else "client-certificate"
        raise user.wrong(missing, "is missing", "a client certificate needs both parts")
    return {
        "client_certificate": certificate,
        "client_key": key,
        "token": user.text("token"),
        "token_file": user.path("tokenFile"),
        "exec_plugin": _exec_plugin(user),
        "impersonate": user.text("as"),
        "impersonate_groups": user.texts("as-groups"),
    }


def _exec_plugin(user: Entry) -> ExecPlugin | None:
    fields = user.fields.get("exec")
    if not fields:
        return None
    if not isinstance(fields, dict):
        raise user.wrong("exec", "must be a mapping", "give it apiVersion and command")
    plugin = Entry(user.file, f"{user.where}.exec", fields)
    version, command = plugin.text("apiVersion"), plugin.text("command")
    if version not in _EXEC_VERSIONS:
        raise plugin.wrong("apiVersion", f"{version!r} is not supported", f"use {_EXEC_VERSIONS[0]}")
    if not command:
        raise plugin.wrong("command", "is missing", "name the program that prints the credentials")
    if plugin.text("interactiveMode") == "Always":
        problem = "a plugin that always asks questions cannot be run here"
        raise plugin.wrong("interactiveMode", problem, "use IfAvailable or Never")
    if os.sep in command:  # a path, and not a name to look up in PATH
        command = str(user.file.parent / command)
    return ExecPlugin(
        command,
        plugin.texts("args"),
        _environment(plugin),
        version,
        plugin.text("installHint"),
        plugin.flag("provideClusterInfo"),
    )


def _environment(plugin: Entry) -> tuple[tuple[str, str], ...]:
    items = plugin.fields.get("env") or []
    if not isinstance(items, list) or not all(isinstance(item, dict) and "name" in item for item in items):
        raise plugin.wrong("env", "must be a list of name and value", "write `- name: …` and `value: …`")
    return tuple((str(item["name"]), str(item.get("value", ""))) for item in items)
