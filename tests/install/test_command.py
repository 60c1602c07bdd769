"""`vacate install --print`: the objects of the settings, and one clear error for bad options."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from support.certificates import Authority
from vacate.cli.main import cli
from vacate.errors import VacateError
from vacate.install import Certificates, Monitoring, Settings, objects

pytestmark = pytest.mark.unit


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, ["install", "--print", *args])


def printed(*args: str) -> list[object]:
    result = run(*args)
    assert result.exit_code == 0, result.output
    return list(yaml.safe_load_all(result.output))


def test_without_options_the_defaults() -> None:
    assert printed() == objects(Settings())


def test_options_become_settings(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules:\n  - interceptors: [{name: a.example.com, priority: 5}]\n")
    wanted = Settings(
        image="here:5000/vacate:1",
        pull_secrets=("mine",),
        namespace="leaving",
        manager_replicas=3,
        webhook_replicas=3,
        certificates=Certificates.CERT_MANAGER,
        allowed_interceptors=("a.k8s.io",),
        pod_rules=rules.read_text(),
        pod_webhooks=False,
        network_policy=False,
        definitions=False,
        monitoring=Monitoring.everything(),
    )
    given = printed(
        "--image", "here:5000/vacate:1", "--pull-secret", "mine", "-n", "leaving", "--replicas", "3",
        "--certificates", "cert-manager", "--allow-interceptor", "a.k8s.io", "--pod-rules", str(rules),
        "--no-pod-webhooks", "--no-network-policy", "--no-crds", "--monitoring",
    )  # fmt: skip
    assert given == objects(wanted)


BAD = {
    "an image with a space": (["--image", "a b"], "is no image"),
    "no image": (["--image", ""], "is no image"),
    "an image that is YAML": (["--image", "a\nb: c"], "is no image"),
    "a namespace of the system": (["-n", "kube-system"], "belongs to the cluster"),
    "the default namespace": (["-n", "default"], "belongs to the cluster"),
    "a namespace that is no name": (["-n", "A/B"], "RFC 1123"),
    "plain http": (["--webhook-url", "http://x:1"], "write https://HOST:PORT"),
    "an address with a path": (["--webhook-url", "https://x:1/a"], "write https://HOST:PORT"),
    "an address with a password": (["--webhook-url", "https://a:b@x:1"], "write https://HOST:PORT"),
    "a port that is none": (["--webhook-url", "https://x:99999"], "write https://HOST:PORT"),
    "an address that is none": (["--webhook-url", "https://[x"], "write https://HOST:PORT"),
    "no copies": (["--replicas", "0"], "0 is not in the range"),
    "an unknown gate": (["--feature-gates", "Nope=true"], "unknown feature gate 'Nope'"),
    "an unknown policy": (["--pod-failure-policy", "Maybe"], "'Maybe' is not one of"),
    "an interceptor that is no name": (["--allow-interceptor", "a' || true || 'b"], "RFC 1123"),
    "cert-manager outside": (
        ["--webhook-url", "https://x:1", "--certificates", "cert-manager"],
        "is for a webhook in the cluster",
    ),
    "a file that is not there": (["--ca-file", "/no/such/file"], "does not exist"),
}


@pytest.mark.parametrize(("args", "said"), BAD.values(), ids=BAD)
def test_bad_options_are_one_clear_error(args: list[str], said: str) -> None:
    result = run(*args)
    assert result.exit_code != 0
    told = str(result.exception) if isinstance(result.exception, VacateError) else result.output
    assert said in told
    assert isinstance(result.exception, VacateError | SystemExit)


FILES = {
    "no certificate": ("--ca-file", b"hello", "holds no certificate"),
    "rules that are no text": ("--pod-rules", b"\xff\xfe", "is no text"),
    "no rules": ("--pod-rules", b"", "has no rules"),
    "rules of another shape": ("--pod-rules", b"rules: 5", "Expected `array`"),
    "rules that are too long": ("--pod-rules", b"#" * 1_000_000, "larger than"),
}


@pytest.mark.parametrize(("option", "content", "said"), FILES.values(), ids=FILES)
def test_bad_files_are_one_clear_error(option: str, content: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    error = run(option, str(file)).exception
    assert isinstance(error, VacateError)
    assert said in str(error)


def test_an_authority_goes_into_the_configurations(tmp_path: Path) -> None:
    pem = Authority().pem
    file = tmp_path / "ca.crt"
    file.write_bytes(pem)
    wanted = Settings(webhook_url="https://10.0.0.1:9443", ca_bundle=pem)
    assert printed("--webhook-url", "https://10.0.0.1:9443/", "--ca-file", str(file)) == objects(wanted)
