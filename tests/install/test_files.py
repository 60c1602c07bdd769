"""What is committed under deploy/ is what the generator writes, and kustomize renders it as it is."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest
import yaml
from hack.gen_deploy import DEPLOY, outdated

from support.kubectl import kubectl_or_reason
from vacate.api.objects import Obj
from vacate.install import Monitoring, Settings, objects
from vacate.install.objectkinds import path_of
from vacate.install.settings import ShutdownAgent

MONITORED = replace(Settings(), monitoring=Monitoring.everything())
WITH_AGENT = Settings(shutdown_agent=ShutdownAgent())
FOLDERS = [("base", Settings()), ("monitoring", MONITORED), ("shutdown-agent", WITH_AGENT)]


@pytest.mark.unit
def test_the_committed_files_are_current() -> None:
    assert outdated() == [], "run python -m hack.gen_deploy"


@pytest.mark.kubectl
@pytest.mark.parametrize(("folder", "settings"), FOLDERS)
def test_kustomize_renders_the_objects_of_the_settings(folder: str, settings: Settings) -> None:
    kubectl, reason = kubectl_or_reason()
    if kubectl is None:
        pytest.skip(reason)
    command = [kubectl, "kustomize", str(DEPLOY / "kustomize" / folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert _by_path(list(yaml.safe_load_all(done.stdout))) == _by_path(objects(settings))


@pytest.mark.unit
def test_kustomize_lists_every_file() -> None:
    for folder in (DEPLOY / "kustomize").iterdir():
        listed = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
        there = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
        assert {name for name in listed if not name.startswith("..")} == there


def _by_path(found: list[Obj]) -> dict[str, Obj]:
    return {path_of(obj): obj for obj in found}
