"""The programs that an installation meets in clusters: Helm, cert-manager, Prometheus and its operator.

    python -m hack.kubelab.peers         prints the folder

They are built and kept as the control plane is. Beside the programs are the definitions of their kinds, from
the same modules: nothing of them is copied into this repository.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hack.kubelab.obtain import built, print_folder
from hack.kubelab.programs import missing_programs
from hack.kubelab.progress import Progress
from hack.kubelab.recipe import read_module
from hack.kubelab.release import KubeError

GIVEN = "VACATE_PEERS"
MODULE = Path(__file__).resolve().parent.parent / "peers"
PROGRAMS = ("helm", "cert-manager", "prometheus", "promtool", "prometheus-operator")
CERT_MANAGER = "github.com/cert-manager/cert-manager"
PROMETHEUS = "github.com/prometheus/prometheus"
OPERATOR = "github.com/prometheus-operator/prometheus-operator"
_HELM = "helm.sh/helm/v4"


@dataclass(frozen=True, slots=True)
class Peers:
    """The pinned versions, with their `v`."""

    helm: str
    cert_manager: str
    prometheus: str
    operator: str
    oldest_go: tuple[int, int]
    digest: str

    module: ClassVar = MODULE
    programs: ClassVar = PROGRAMS
    slug: ClassVar = "peers"
    # Targets are found in the cluster or in files. The other ways are the libraries of every cloud.
    tags: ClassVar = "remove_all_sd,enable_kubernetes_sd"
    files: ClassVar = {
        "cert-manager-crds": (CERT_MANAGER, "deploy/crds"),
        "prometheus-crds": (OPERATOR, "example/prometheus-operator-crd"),
    }

    @property
    def title(self) -> str:
        """What people call it."""
        return (
            f"Helm {self.helm}, cert-manager {self.cert_manager}, Prometheus {self.release_of_prometheus}"
            f" and its operator {self.operator}"
        )

    @property
    def release_of_prometheus(self) -> str:
        """Its module counts otherwise than its releases: v0.313.5 is 3.13.5."""
        _, minor, patch = self.prometheus.split(".")
        return f"{int(minor) // 100}.{int(minor) % 100}.{patch}"

    def built_name(self, program: str) -> str:
        """The name under which `go build` leaves a program."""
        return "operator" if program == "prometheus-operator" else program

    def version_of(self, program: str) -> str:
        """The version that a program must print. The operator prints that of Prometheus: they share it."""
        known = {"helm": self.helm, "cert-manager": self.cert_manager}
        return known.get(program, self.release_of_prometheus)

    def version_arguments(self, program: str) -> Sequence[str]:
        """How it is asked for it."""
        return ("version", "--template={{.Version}}") if program == "helm" else ("--version",)

    def link_flags(self) -> str:
        """What the programs say about themselves."""
        facts = {
            f"{_HELM}/internal/version.version": self.helm,
            "github.com/prometheus/common/version.Version": self.release_of_prometheus,
        }
        return " ".join(["-s", "-w", *(f"-X {name}={value}" for name, value in facts.items())])


def pinned_peers(module: Path = MODULE) -> Peers:
    """What `go.mod` pins."""
    found = read_module(module, module / "cert-manager" / "main.go")
    helm, cert_manager, prometheus, operator = (
        found.required[name] for name in (_HELM, CERT_MANAGER, PROMETHEUS, OPERATOR)
    )
    return Peers(helm, cert_manager, prometheus, operator, found.oldest_go, found.digest)


def obtain_peers(environment: Mapping[str, str] = os.environ, progress: Progress | None = None) -> Path:
    """The folder with the programs, made where it does not exist yet."""
    if given := environment.get(GIVEN):
        if missing := missing_programs(Path(given), PROGRAMS):
            raise KubeError(f"{GIVEN}={given} has no {', '.join(missing)}; unset it and they are built")
        return Path(given).resolve()
    return built(pinned_peers(), environment, progress)


if __name__ == "__main__":
    print_folder("peers", obtain_peers)
