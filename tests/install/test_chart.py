"""The Helm chart renders the objects of `vacate install --print`, with whatever values.

Always by a renderer for the few constructs that the chart uses; by Helm itself where HELM names its program.
"""

from __future__ import annotations

import copy
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.gotemplate import render
from vacate import __version__
from vacate.api.objects import Obj
from vacate.install import Certificates, Monitoring, Settings, objects
from vacate.install.kinds import path_of
from vacate.install.settings import FailurePolicy

pytestmark = pytest.mark.unit

CHART = Path(__file__).parents[2] / "deploy/helm/vacate"
RULES = "rules:\n  - interceptors:\n      - {name: a.b, priority: 1}\n"
Values = dict[str, Any]
Renderer = Callable[[Values, str, Path], list[Obj]]

CASES: dict[str, tuple[Values, Settings]] = {
    "defaults": ({}, Settings()),
    "another namespace": ({}, Settings(namespace="elsewhere")),
    "cert-manager": ({"certificates": "cert-manager"}, Settings(certificates=Certificates.CERT_MANAGER)),
    "monitoring": (
        {"monitoring": {"serviceMonitors": True, "alerts": True, "dashboard": True}},
        Settings(monitoring=Monitoring.everything()),
    ),
    "alerts only": ({"monitoring": {"alerts": True}}, Settings(monitoring=Monitoring(alerts=True))),
    "image": (
        {
            "image": "here/vacate@sha256:" + "0" * 64,
            "imagePullPolicy": "Never",
            "imagePullSecrets": ["a", "b"],
        },
        Settings(image="here/vacate@sha256:" + "0" * 64, pull_policy="Never", pull_secrets=("a", "b")),
    ),
    "allowed": (
        {"allowedInterceptors": ["a.k8s.io", "b.k8s.io"]},
        Settings(allowed_interceptors=("a.k8s.io", "b.k8s.io")),
    ),
    "replicas": (
        {"manager": {"replicas": 1}, "webhook": {"replicas": 3}},
        Settings(manager_replicas=1, webhook_replicas=3),
    ),
    "policies": (
        {"failurePolicies": {"requests": "Ignore", "status": "Fail", "pods": "Fail"}},
        Settings(
            request_failure_policy=FailurePolicy.IGNORE,
            status_failure_policy=FailurePolicy.FAIL,
            pod_failure_policy=FailurePolicy.FAIL,
        ),
    ),
    "less": (
        {"podWebhooks": False, "networkPolicy": False, "definitions": False},
        Settings(pod_webhooks=False, network_policy=False, definitions=False),
    ),
    "rules": ({"podRules": RULES}, Settings(pod_rules=RULES)),
    "rules and cert-manager": (
        {"podRules": RULES, "certificates": "cert-manager", "podWebhooks": False},
        Settings(pod_rules=RULES, certificates=Certificates.CERT_MANAGER, pod_webhooks=False),
    ),
    "gates": (
        {"featureGates": "EvictionRequestAPI=false"},
        Settings(feature_gates="EvictionRequestAPI=false"),
    ),
}


def by_subset(values: Values, namespace: str, _folder: Path) -> list[Obj]:
    given = _merged(yaml.safe_load((CHART / "values.yaml").read_text()), values)
    texts = [render(path.read_text(), given, namespace) for path in sorted(CHART.glob("templates/*.yaml"))]
    return [obj for text in texts for obj in yaml.safe_load_all(text) if obj]


def by_helm(values: Values, namespace: str, folder: Path) -> list[Obj]:
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    command = [os.environ["HELM"], "template", "vacate", str(CHART), "-n", namespace, "-f", str(file)]
    command += ["--kube-version", "1.36.0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [obj for obj in yaml.safe_load_all(done.stdout) if obj]


RENDERERS = [by_subset, *([by_helm] if os.environ.get("HELM") else [])]


@pytest.mark.parametrize("renderer", RENDERERS, ids=lambda renderer: renderer.__name__)
@pytest.mark.parametrize("case", CASES)
def test_the_chart_has_the_objects_of_the_settings(case: str, renderer: Renderer, tmp_path: Path) -> None:
    values, settings = CASES[case]
    found = renderer({**values, "createNamespace": True}, settings.namespace, tmp_path)
    assert _by_path(found) == _by_path(_kept(objects(settings)))


def test_helm_makes_the_namespace_unless_it_is_told_not_to(tmp_path: Path) -> None:
    kinds = [obj["kind"] for obj in by_subset({}, "x", tmp_path)]
    assert "Namespace" not in kinds
    assert "Deployment" in kinds


def test_the_chart_is_of_this_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


def test_every_value_is_used() -> None:
    """Each case gives other objects than the defaults, so that no value is without effect."""
    defaults = _by_path(objects(Settings()))
    for case, (_, settings) in CASES.items():
        same = _by_path(objects(replace(settings))) == defaults
        assert same is (case == "defaults"), case


def _by_path(found: list[Obj]) -> dict[str, Obj]:
    paths = {path_of(obj): obj for obj in found}
    assert len(paths) == len(found)
    return paths


def _kept(found: list[Obj]) -> list[Obj]:
    """With what Helm alone is told: the definition stays when the release goes."""
    found = copy.deepcopy(found)
    for obj in found:
        if obj["kind"] == "CustomResourceDefinition":
            obj["metadata"]["annotations"]["helm.sh/resource-policy"] = "keep"
    return found


def _merged(base: Values, over: Values) -> Values:
    made = dict(base)
    for key, value in over.items():
        old = made.get(key)
        made[key] = _merged(old, value) if isinstance(value, dict) and isinstance(old, dict) else value
    return made
