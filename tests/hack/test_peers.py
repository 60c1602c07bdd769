"""What an installation meets in clusters: pinned once, distinguished, and used as given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hack.kubelab.golang import Go
from hack.kubelab.obtain import cache_key
from hack.kubelab.peers import MODULE, PROGRAMS, Peers, obtain_peers, pinned_peers
from hack.kubelab.programs import check_versions
from hack.kubelab.recipe import read_module
from hack.kubelab.release import KubeError, pinned_release

pytestmark = pytest.mark.process

PEERS = Peers("v4.2.4", "v1.21.2", "v0.313.5", "v0.93.1", (1, 26), "0123456789ab")
SAYS = {"helm": "v4.2.4", "cert-manager": "v1.21.2"}


def programs(folder: Path) -> Path:
    for name in PROGRAMS:
        version = SAYS.get(name, f"{name}, version 3.13.5 (branch: , revision: unknown)")
        (folder / name).write_text(f"#!/bin/sh\necho '{version}'\n")
        (folder / name).chmod(0o755)
    return folder


def test_the_pinned_versions_are_those_of_the_module() -> None:
    found = pinned_peers()
    required = read_module(MODULE).required
    assert found.helm == required["helm.sh/helm/v4"]
    assert found.helm in found.title
    assert found.operator in found.title


def test_all_are_built_with_libraries_that_the_control_planes_release_supports() -> None:
    """Those that they were released with: clients may be one release behind or ahead of an API server."""
    minor = int(pinned_release().kubernetes.split(".")[1])
    required = read_module(MODULE).required
    assert abs(int(required["k8s.io/client-go"].split(".")[1]) - minor) <= 1


def test_the_document_names_the_versions_that_are_tested_with() -> None:
    found = pinned_peers()
    rows = {
        "Helm": found.helm,
        "kubectl": pinned_release().kubernetes,
        "cert-manager": found.cert_manager,
        "Prometheus operator": found.operator,
        "Prometheus": found.release_of_prometheus,
    }
    document = (MODULE.parents[1] / "docs/reference/deploy.md").read_text()
    for program, version in rows.items():
        assert f"| {program} | {version.removeprefix('v')} |" in document


@pytest.mark.parametrize(("module", "release"), [("v0.313.5", "3.13.5"), ("v0.300.0", "3.0.0")])
def test_prometheus_counts_in_two_ways(module: str, release: str) -> None:
    assert replace(PEERS, prometheus=module).release_of_prometheus == release


def test_every_program_must_be_of_its_release(tmp_path: Path) -> None:
    check_versions(programs(tmp_path), PEERS)
    with pytest.raises(KubeError, match=r"helm should be v4\.3\.0, and says: v4\.2\.4"):
        check_versions(tmp_path, replace(PEERS, helm="v4.3.0"))


def test_a_folder_of_the_users_is_used_as_it_is(tmp_path: Path) -> None:
    assert obtain_peers({"VACATE_PEERS": str(programs(tmp_path))}) == tmp_path
    (tmp_path / "helm").unlink()
    with pytest.raises(KubeError, match="has no helm; unset it"):
        obtain_peers({"VACATE_PEERS": str(tmp_path)})


def test_the_key_is_not_that_of_the_control_plane() -> None:
    go = Go("1.26.8", None)
    assert cache_key(PEERS, go) != cache_key(pinned_release(), go)
    assert cache_key(PEERS, go) != cache_key(replace(PEERS, digest="other"), go)


def test_what_is_started_by_a_program_of_ours_counts_as_a_source(tmp_path: Path) -> None:
    for name in ("go.mod", "go.sum", "main.go"):
        (tmp_path / name).write_text("go 1.26.0\n")
    before = read_module(tmp_path, tmp_path / "main.go")
    (tmp_path / "main.go").write_text("package main\n")
    assert read_module(tmp_path, tmp_path / "main.go").digest != before.digest
