"""An installation keeps its options: what was given comes back, and a file declares the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner

from support.yaml_text import yaml_documents
from vacate.cli.install.command import install
from vacate.cli.install.kept import (
    KeptOptions,
    as_kept,
    forgotten,
    given_options,
    long_name,
    parsed,
    read_kept,
    shown,
)
from vacate.cli.install.options import INSTALL_OPTIONS, install_options
from vacate.cli.main import cli
from vacate.errors import ConfigError
from vacate.install import Settings, objects

pytestmark = pytest.mark.unit

RULES = "rules:\n  - interceptors: [{name: a.example.com, priority: 5}]\n"
VALUES = {
    "image": "here:5000/vacate:1", "pull-secret": "mine", "replicas": "3", "certificates": "cert-manager",
    "webhook-url": "https://10.0.0.1:8443", "allow-interceptor": "a.k8s.io",
    "interceptor": "a.example.com=x/one", "manager-user": "ann", "max-interceptors": "0",
    "max-request-duration": "2h", "max-draining-nodes": "10%", "topology-key": "zone",
    "lifecycle-controller": "off", "feature-gates": "EvacuationAPI=true", "request-failure-policy": "Ignore",
    "status-failure-policy": "Fail", "pod-failure-policy": "Fail", "bridge-namespaces": "a in (b,c)",
    "bridge-wait": "5m",
    "bridge-unverified-callers": "request", "confine": "audit", "webhook-from": "10.0.0.0/24",
    "metrics-from": "fd00::/64", "webhook-client-name": "front", "shutdown-agent": "beside-kubelet",
    "shutdown-api": "evacuation", "web-host": "vacate.example.com:8443",
    "web-dashboard": "https://grafana.example.com/d/vacate", "web-url": "https://vacate.example.com",
    "namespace": "elsewhere",
}  # fmt: skip


def files(folder: Path) -> dict[str, str]:
    texts = {"pod-rules": RULES, "shutdown-config": "kind: KubeletConfiguration\n", "hooks": "targets: []\n"}
    texts |= {"own-pods": "labels: {a: b}\n"}
    texts |= dict.fromkeys(("ca-file", "webhook-client-ca"), "some text\n")
    for name, text in texts.items():
        (folder / name).write_text(text)
    return {name: str(folder / name) for name in texts}


def params_and_kept(*words: str) -> tuple[dict[str, Any], dict[str, Any]]:
    @click.command(cls=KeptOptions)
    @install_options
    def command(**_: Any) -> None: ...

    context = command.make_context("install", list(words))
    return context.params, given_options(context)


def test_every_option_comes_back_as_it_was_given(tmp_path: Path) -> None:
    values = {**VALUES, **files(tmp_path)}
    (tmp_path / "again").mkdir()
    for option in INSTALL_OPTIONS:
        name = long_name(option)
        flags = [one for one in (*option.opts, *option.secondary_opts) if one.startswith("--")]
        for word in flags if option.is_flag else [f"--{name}={values[name]}"]:
            before, given = params_and_kept(word)
            kept = read_kept(as_kept(given), "there")
            after = parsed(kept, tmp_path / "again")
            mine, other = before[str(option.name)], after[str(option.name)]
            if isinstance(mine, Path):
                mine, other = mine.read_text(), other.read_text()
            assert (mine == other) is (name != "namespace"), word
            assert shown(kept) or name == "namespace"


def test_an_option_whose_value_may_be_left_out() -> None:
    assert params_and_kept("--shutdown-agent")[1] == {"shutdown-agent": "alone"}


def test_what_is_given_now_comes_before_what_is_kept() -> None:
    _, first = params_and_kept("--interceptor", "a.b=x/one", "--eviction-bridge", "--replicas", "3")
    _, second = params_and_kept("--interceptor", "a.b=y/two", "--replicas", "1")
    merged = {**first, **second}
    assert merged == {"interceptor": ["a.b=y/two"], "eviction-bridge": True, "replicas": "1"}


def test_forgetting() -> None:
    kept = {"image": "x:1", "eviction-bridge": True}
    assert forgotten(kept, ["eviction-bridge"]) == {"image": "x:1"}
    assert forgotten(kept, ["all"]) == {"image": "x:1"}  # which has no default
    assert forgotten(kept, ["all", "image"]) == {}
    with pytest.raises(click.UsageError, match="no option 'eviction'"):
        forgotten(kept, ["eviction"])


@pytest.mark.thorough
def test_a_file_declares_them(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(RULES)
    values = {"image": "x:1", "replicas": 3, "network-policy": False, "pod-rules": "rules.yaml"}
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
    done = CliRunner().invoke(cli, ["install", "--print", "--values", str(tmp_path / "values.yaml")])
    assert done.exit_code == 0, done.output
    wanted = Settings(
        image="x:1", manager_replicas=3, webhook_replicas=3, network_policy=False, pod_rules=RULES
    )
    assert yaml_documents(done.output) == objects(wanted)


BAD = {
    "- image": "a mapping of options to values is expected",
    "imag: x": "there is no option 'imag'; did you mean 'image'?",
    "namespace: x": "there is no option 'namespace'",
    "eviction-bridge: yes please": "eviction-bridge: true or false is expected",
    "image: [a, b]": "image: a text or a number is expected",
    "image: {a: b}": "image: a text or a number is expected",
    "pull-secret: [{a: b}]": "pull-secret: a list of texts is expected",
    "pod-rules: missing.yaml": "missing.yaml: No such file",
    "replicas: 0": "0 is not in the range",
    "image: 'a b'": "is not an image",
    "a: [": "while parsing",
}


@pytest.mark.parametrize("text", BAD)
def test_a_file_that_cannot_be_used_is_one_clear_error(text: str, tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(text)
    done = CliRunner().invoke(install, ["--print", "--values", str(file)])
    found = str(done.exception) if isinstance(done.exception, ConfigError) else done.output
    assert BAD[text] in " ".join(found.split())


@pytest.mark.parametrize(
    "text", ["[", "7", '"x"', '{"nope": 1}', '{"image": ["a", {}]}', '{"replicas": true}']
)
def test_what_others_wrote_there_is_one_clear_error(text: str) -> None:
    with pytest.raises(ConfigError, match="the notes"):
        read_kept(text, "the notes")
