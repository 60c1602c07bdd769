"""What is committed under deploy/ is what the generator writes, and kustomize renders it as it is."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hack.gen_deploy import DEPLOY, outdated

from support.kubectl import kubectl_or_reason
from support.yaml_text import yaml_document, yaml_documents
from vacate.api.objects import Obj
from vacate.install import Monitoring, Settings, objects
from vacate.install.manifests.hooks import hook_accounts
from vacate.install.objectkinds import path_of
from vacate.install.settings import DEFAULT_HOOKS, ShutdownAgent

MONITORED = replace(Settings(), monitoring=Monitoring.everything())
WITH_AGENT = Settings(shutdown_agent=ShutdownAgent())
FOLDERS = [
    ("base", Settings()),
    ("monitoring", MONITORED),
    ("shutdown-agent", WITH_AGENT),
    ("web", Settings(web=True)),
    ("hooks", Settings(hooks=DEFAULT_HOOKS, interceptor_accounts=hook_accounts("vacate-system"))),
]


@pytest.mark.thorough
@pytest.mark.unit
def test_the_committed_files_are_current() -> None:
    assert outdated() == [], "run python -m hack.gen_deploy"


@pytest.mark.thorough(beyond=2)
@pytest.mark.kubectl
@pytest.mark.parametrize(("folder", "settings"), FOLDERS)
def test_kustomize_renders_the_objects_of_the_settings(folder: str, settings: Settings) -> None:
    kubectl, reason = kubectl_or_reason()
    if kubectl is None:
        pytest.skip(reason)
    command = [kubectl, "kustomize", str(DEPLOY / "kustomize" / folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert _by_path(yaml_documents(done.stdout)) == _by_path(objects(settings))


BRIDGED_PAGE = DEPLOY.parent / "docs/how-to/existing-drains.md"


@pytest.mark.thorough
@pytest.mark.kubectl
def test_the_kustomization_of_the_page_sets_the_namespaces_and_the_wait_of_the_bridge(tmp_path: Path) -> None:
    kubectl, reason = kubectl_or_reason()
    if kubectl is None:
        pytest.skip(reason)
    (shown,) = re.findall(r"```yaml\n(apiVersion: kustomize.*?)```", BRIDGED_PAGE.read_text(), re.DOTALL)
    # kustomize takes no absolute paths.
    there = os.path.relpath(DEPLOY / "kustomize", tmp_path.resolve())
    (tmp_path / "kustomization.yaml").write_text(shown.replace("deploy/kustomize", there))
    done = subprocess.run([kubectl, "kustomize", str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = _by_path(yaml_documents(done.stdout))
    expected = _by_path(objects(Settings(eviction_bridge=True)))
    # The rest of the base is as it is; what the page sets comes on top.
    webhook = expected["/apis/apps/v1/namespaces/vacate-system/deployments/vacate-webhook"]
    webhook["spec"]["template"]["spec"]["containers"][0]["args"].append("--bridge-wait=5m")
    hooks = expected[_VALIDATING]["webhooks"]
    (hook,) = [one for one in hooks if one["name"] == "evictions.validate.vacate.dev"]
    hook["namespaceSelector"]["matchLabels"] = {"drains": "wait"}
    for one in (found, expected):
        one[_VALIDATING]["webhooks"].sort(key=lambda hook: str(hook["name"]))
    assert found == expected


_VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/vacate-validating"


@pytest.mark.unit
def test_kustomize_lists_every_file() -> None:
    for folder in (DEPLOY / "kustomize").iterdir():
        listed = yaml_document((folder / "kustomization.yaml").read_text()).get("resources", [])
        there = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
        assert {name for name in listed if not name.startswith("..")} == there


def _by_path(found: list[Obj]) -> dict[str, Obj]:
    return {path_of(obj): obj for obj in found}
