"""The documents that count what an installation adds, and the versions that they name, are right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from vacate.api.objects import Obj
from vacate.install import Settings, objects
from vacate.install.apply.preflight import OLDEST_MINOR

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
POLICY = "ValidatingAdmissionPolicy"


def named(kind: str, settings: Settings | None = None) -> list[str]:
    return [one["metadata"]["name"] for one in objects(settings) if one["kind"] == kind]


def webhooks(settings: Settings | None = None) -> Iterator[Obj]:
    for one in objects(settings):
        yield from one.get("webhooks", ())


def test_the_page_about_adoption_counts_what_is_added() -> None:
    page = " ".join((ROOT / "docs/how-to/adopt.md").read_text().split())
    with_bridge = replace(Settings(), eviction_bridge=True)
    confining = [one for one in named(POLICY) if "-confine-" in one or "-own-" in one]
    assert len(named("CustomResourceDefinition")) == 5
    assert "**Adds**: five definitions" in page
    assert f"{len(named(POLICY, with_bridge))} admission policies with their bindings" in page
    assert f"{len(confining)} of which only confine" in page
    assert f"two webhook configurations with {len(list(webhooks(with_bridge)))} webhooks" in page


def test_the_page_about_deployment_counts_and_names_what_is_installed() -> None:
    page = (ROOT / "docs/reference/deploy.md").read_text()
    accounts = {"vacate-manager", "vacate-webhook", "vacate-certificates"}
    roles = [one for one in named("ClusterRole") if one not in accounts]
    listed = re.findall(r"^\| `(vacate-[a-z-]+)` \|", page.partition("## Roles for users")[2], re.MULTILINE)
    assert sorted(listed) == sorted(roles)
    assert len(roles) == 7
    assert "seven [roles for users]" in page
    assert f"with {len(list(webhooks()))} webhooks" in page
    guarded = len(named(POLICY, replace(Settings(), guard_unlabelled=True)))
    assert f"{len(named(POLICY))} ValidatingAdmissionPolicies with their bindings, {guarded} with" in page


def test_the_releases_of_kubernetes_are_those_that_are_required_and_tested() -> None:
    page = (ROOT / "docs/how-to/install.md").read_text()
    pinned = re.search(r"k8s\.io/kubernetes v([0-9.]+)", (ROOT / "hack/kube/go.mod").read_text())
    assert pinned
    assert f"| Kubernetes {pinned[1]} | all tests that need a real control plane |" in page
    ran = re.search(rf"^\| Kubernetes (1\.{OLDEST_MINOR}\.\d+) \|(.*)", page, re.MULTILINE)
    assert ran, "the oldest minor is one that something was run on"
    assert f"KUBE={ran[1]} " in ran[2]
