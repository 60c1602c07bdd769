"""Kubeconfig: what is read, what is merged, and errors that help."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from vacate.client.config import ClusterConfig, ExecPlugin
from vacate.client.incluster import load_config, load_in_cluster
from vacate.client.kubeconfig import default_files, load_cluster
from vacate.errors import ConfigError

pytestmark = pytest.mark.unit


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def config(cluster: Any = None, user: Any = None, context: Any = None, **top: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "k", "cluster": {"server": "https://h:6443/", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", **(context or {})}}],
        **top,
    }


def write(folder: Path, content: Any, name: str = "config") -> Path:
    file = folder / name
    file.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return file


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (config(), ClusterConfig("https://h:6443")),
        (
            config({"certificate-authority-data": b64("CA"), "tls-server-name": "k8s"}),
            ClusterConfig("https://h:6443", ca_data=b"CA", tls_server_name="k8s"),
        ),
        (config({"insecure-skip-tls-verify": True}), ClusterConfig("https://h:6443", insecure=True)),
        (
            config(user={"client-certificate-data": b64("CRT"), "client-key-data": b64("KEY")}),
            ClusterConfig("https://h:6443", client_certificate=b"CRT", client_key=b"KEY"),
        ),
        (config(user={"token": "t"}), ClusterConfig("https://h:6443", token="t")),
        (
            config(user={"as": "jane", "as-groups": ["dev"]}),
            ClusterConfig("https://h:6443", impersonate="jane", impersonate_groups=("dev",)),
        ),
        (config(context={"namespace": "shop"}), ClusterConfig("https://h:6443", namespace="shop")),
        (
            config(
                user={
                    "exec": {
                        "apiVersion": "client.authentication.k8s.io/v1",
                        "command": "aws",
                        "args": ["eks"],
                        "env": [{"name": "A", "value": "b"}],
                        "installHint": "get it",
                    }
                }
            ),
            ClusterConfig(
                "https://h:6443",
                exec_plugin=ExecPlugin("aws", ("eks",), (("A", "b"),), install_hint="get it"),
            ),
        ),
    ],
)
def test_what_is_read(tmp_path: Path, content: Any, expected: ClusterConfig) -> None:
    assert load_cluster([write(tmp_path, content)]) == expected


def test_files_are_relative_to_the_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("CA")
    (tmp_path / "crt").write_text("CRT")
    (tmp_path / "key").write_text("KEY")
    user = {"client-certificate": "crt", "client-key": str(tmp_path / "key"), "tokenFile": "token"}
    user["exec"] = {"apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin"}  # type: ignore[assignment]
    found = load_cluster([write(tmp_path, config({"certificate-authority": "ca.pem"}, user))])
    assert (found.ca_data, found.client_certificate, found.client_key) == (b"CA", b"CRT", b"KEY")
    assert found.token_file == tmp_path / "token"
    assert found.exec_plugin is not None
    assert Path(found.exec_plugin.command) == tmp_path / "plugin"


def test_another_context_can_be_chosen(tmp_path: Path) -> None:
    content = config()
    content["contexts"].append({"name": "other", "context": {"cluster": "k", "namespace": "x"}})
    assert load_cluster([write(tmp_path, content)], "other").namespace == "x"


def test_several_files_are_merged_and_the_first_wins(tmp_path: Path) -> None:
    first = {"contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "first"}}]}
    second = config(context={"namespace": "second"}, user={"token": "t"})
    files = [write(tmp_path, first, "one"), tmp_path / "missing", write(tmp_path, second, "two")]
    found = load_cluster(files)
    assert (found.namespace, found.token, found.server) == ("first", "t", "https://h:6443")


def test_where_files_come_from(tmp_path: Path) -> None:
    assert default_files({"KUBECONFIG": "/a::/b", "HOME": "/h"}) == (Path("/a"), Path("/b"))
    assert default_files({"HOME": "/h"}) == (Path("/h/.kube/config"),)
    file = write(tmp_path, config(user={"token": "t"}))
    assert load_config(str(file)).token == "t"
    assert load_config(environ={"KUBECONFIG": str(file), "KUBERNETES_SERVICE_HOST": "1.2.3.4"}).token == "t"


@pytest.mark.parametrize(
    ("content", "field", "remedy"),
    [
        ("{", "not YAML near line", "make a new one"),
        ("[]", "must be a mapping", "clusters, users and contexts"),
        (config(clusters={"a": 1}), "clusters: must be a list", "- name:"),
        (config(clusters=[{"cluster": {}}]), "clusters[0].name: is missing", "give the entry a name"),
        (config(users=[{"name": "u", "user": "x"}]), "users[u].user: must be a mapping", "indent"),
        (
            config(**{"current-context": ""}),
            "current-context: is not set",
            "name a context (known contexts: c)",
        ),
        (
            config(**{"current-context": "zz"}),
            "current-context: there is no context 'zz'",
            "known contexts: c",
        ),
        (
            config(context={"cluster": "zz"}),
            "contexts[c].context.cluster: there is no such",
            "clusters: k",
        ),
        (config(context={"user": "zz"}), "contexts[c].context.user: there is no such", "known users: u"),
        (
            config({"server": "h:6443"}),
            "clusters[k].cluster.server: 'h:6443' is not a URL",
            "https://host:port",
        ),
        (config({"server": 7}), "clusters[k].cluster.server: must be a string", "quotes"),
        (
            config({"proxy-url": "http://p"}),
            "clusters[k].cluster.proxy-url: proxies are not",
            "direct connection",
        ),
        (config({"insecure-skip-tls-verify": "yes"}), "insecure-skip-tls-verify: must be true or", "quotes"),
        (
            config({"insecure-skip-tls-verify": True, "certificate-authority-data": b64("x")}),
            "insecure-skip-tls-verify: cannot be true beside",
            "remove one",
        ),
        (config({"certificate-authority-data": "%%"}), "certificate-authority-data: is not base64", "base64"),
        (config({"certificate-authority": "nope"}), "certificate-authority: ", "correct the path"),
        (config(user={"client-certificate-data": b64("x")}), "users[u].user.client-key: is missing", "both"),
        (config(user={"client-key-data": b64("x")}), "users[u].user.client-certificate: is missing", "both"),
        (config(user={"username": "a"}), "users[u].user.username: basic", "token or a certificate"),
        (config(user={"auth-provider": {"name": "gcp"}}), "users[u].user.auth-provider: is not", "use exec"),
        (config(user={"as-groups": "dev"}), "users[u].user.as-groups: must be a list", "`- …`"),
        (config(user={"exec": "x"}), "users[u].user.exec: must be a mapping", "command"),
        (
            config(user={"exec": {"apiVersion": "v1alpha1", "command": "x"}}),
            "users[u].user.exec.apiVersion: 'v1alpha1' is not supported",
            "client.authentication.k8s.io/v1",
        ),
        (
            config(user={"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}),
            "users[u].user.exec.command: is missing",
            "name the program",
        ),
        (
            config(
                user={
                    "exec": {
                        "apiVersion": "client.authentication.k8s.io/v1",
                        "command": "x",
                        "interactiveMode": "Always",
                    }
                }
            ),
            "users[u].user.exec.interactiveMode",
            "IfAvailable",
        ),
        (
            config(
                user={"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "x", "env": ["a"]}}
            ),
            "users[u].user.exec.env: must be a list",
            "- name",
        ),
    ],
)
def test_errors_name_file_field_and_remedy(tmp_path: Path, content: Any, field: str, remedy: str) -> None:
    file = write(tmp_path, content)
    with pytest.raises(ConfigError) as caught:
        load_cluster([file])
    message = str(caught.value)
    assert message.startswith(str(file))
    assert field in message
    assert remedy in message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such kubeconfig file; set KUBECONFIG or name another"):
        load_cluster([tmp_path / "nope"])
    with pytest.raises(ConfigError, match="contexts: there is no context 'zz'"):
        load_cluster([write(tmp_path, config())], "zz")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"a: [b", "is not YAML near line 1; correct it"),
        (b"\xff\xfe\x00binary", "is not YAML; correct it"),
        (b"a: \0", "is not YAML; correct it"),
        (b"a: 2026-99-99", "is not YAML; correct it"),
        (b"[" * 5000, "is nested too deeply; correct it"),
        (b"[]", "must be a mapping with clusters, users and contexts"),
    ],
    ids=["invalid", "binary", "zero", "no-such-date", "deep", "no-mapping"],
)
def test_a_file_that_is_no_kubeconfig(tmp_path: Path, content: bytes, problem: str) -> None:
    file = tmp_path / "config"
    file.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_cluster([file])
    assert str(caught.value).startswith(f"{file}: {problem}")


@pytest.mark.parametrize("name", [".", "x" * 300], ids=["folder", "long-name"])
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read: .*; check the path and its permissions"):
        load_cluster([tmp_path / name])


def test_a_file_in_a_folder_of_others(tmp_path: Path) -> None:
    file = write(tmp_path, config())
    tmp_path.chmod(0)
    user = os.geteuid()
    try:
        if user == 0:  # root may read everything
            os.seteuid(65534)
        with pytest.raises(ConfigError, match="cannot be read: Permission denied"):
            load_cluster([file])
    finally:
        os.seteuid(user)
        tmp_path.chmod(0o700)


def test_in_a_pod(tmp_path: Path) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(ConfigError, match="automountServiceAccountToken"):
        load_in_cluster(environ, tmp_path)
    for name, text in (("token", "t"), ("ca.crt", "CA"), ("namespace", "shop\n")):
        (tmp_path / name).write_text(text)
    found = load_in_cluster(environ, tmp_path)
    assert (found.server, found.ca_data, found.namespace) == ("https://10.0.0.1:443", b"CA", "shop")
    assert found.token_file == tmp_path / "token"
    six = load_in_cluster({**environ, "KUBERNETES_SERVICE_HOST": "fd00::1"}, tmp_path)
    assert six.server == "https://[fd00::1]:443"
    with pytest.raises(ConfigError, match="this is not a pod"):
        load_in_cluster({}, tmp_path)
    with pytest.raises(ConfigError, match="serviceaccount"):
        load_config(environ={**environ, "HOME": str(tmp_path)})
    with pytest.raises(ConfigError, match="serviceaccount"):  # as where the home is another user's
        load_config(environ={**environ, "HOME": str(tmp_path / ("x" * 300))})


def test_secrets_are_not_shown() -> None:
    shown = repr(ClusterConfig("https://h", token="hidden-token", client_key=b"hidden-key"))
    assert "hidden" not in shown
