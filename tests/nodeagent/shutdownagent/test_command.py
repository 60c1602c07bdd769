"""`vacate shutdown-agent`: a wrong option is reported once, before a parent starts it again and again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from vacate.cli.main import cli
from vacate.errors import ConfigError

pytestmark = pytest.mark.unit

KUBELET = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nshutdownGracePeriod: 30s\n"
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here, user: me}}]
clusters: [{name: here, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: me, user: {token: secret}}]
"""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--kubelet-url", "http://127.0.0.1:10250"],
            "--kubelet-url: 'http://127.0.0.1:10250' is not https://",
        ),
        (["--dir", "kubelet.yaml/record"], "--dir: kubelet.yaml/record cannot be used"),
        (["--config", "nothing.yaml"], "--config: nothing.yaml cannot be read"),
        (["--feature-gates", "GracefulNodeShutdownBasedOnPodPriority=maybe"], "--feature-gates"),
        (["--kubeconfig", "nothing"], "nothing: no such kubeconfig file"),
    ],
)
def test_an_option_that_cannot_work_is_one_error(
    options: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def started(*_: object) -> None:
        raise AssertionError("the agent was started")

    monkeypatch.setattr(os, "execv", started)
    monkeypatch.chdir(tmp_path)
    Path("kubelet.yaml").write_text(KUBELET)
    Path("kubeconfig").write_text(KUBECONFIG)
    given = [
        "--node-name",
        "node-1",
        "--config",
        "kubelet.yaml",
        "--kubeconfig",
        "kubeconfig",
        "--dir",
        "here",
    ]
    result = CliRunner().invoke(cli, ["shutdown-agent", *given, *options])
    assert isinstance(result.exception, (ConfigError, SystemExit)), result.exception
    assert message in f"{result.output}{result.exception}"
