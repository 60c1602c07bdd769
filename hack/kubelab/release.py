"""Which release of Kubernetes and etcd is built, and how its programs are known.

The versions are those of a `go.mod`, in `hack/kube` for the release that is tested with.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hack.kubelab.recipe import read_module

MODULE = Path(__file__).resolve().parent.parent / "kube"
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
NODE = ("kubelet", "kube-proxy")  # only for a node that runs containers
PROGRAMS = CONTROL_PLANE + NODE
ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_BUILT_AS = {"etcd": "server"}  # Go names a program after the last folder of its package that is no version


class KubeError(Exception):
    """Something that a person has to mend; the message says what."""


@dataclass(frozen=True, slots=True)
class Release:
    """The pinned versions, with their `v`, and a digest of all that goes into the programs."""

    kubernetes: str
    etcd: str
    oldest_go: tuple[int, int]
    digest: str
    module: Path = MODULE

    programs: ClassVar = PROGRAMS
    tags: ClassVar = ""
    files: ClassVar[Mapping[str, tuple[str, str]]] = {}

    @property
    def title(self) -> str:
        """What people call it."""
        return f"Kubernetes {self.kubernetes} and etcd {self.etcd}"

    @property
    def slug(self) -> str:
        """The same at the beginning of a folder's name."""
        return f"{self.kubernetes}-etcd-{self.etcd}"

    def built_name(self, program: str) -> str:
        """The name under which `go build` leaves a program."""
        return _BUILT_AS.get(program, program)

    def version_of(self, program: str) -> str:
        """The version that a program must print."""
        return self.etcd.removeprefix("v") if program == "etcd" else self.kubernetes

    def version_arguments(self, program: str) -> Sequence[str]:
        """How it is asked for it."""
        return ("version", "--client") if program == "kubectl" else ("--version",)

    def link_flags(self) -> str:
        """Without these the programs say that they are v0.0.0, and clients complain."""
        major, minor = self.kubernetes.removeprefix("v").split(".")[:2]
        facts = {
            "gitVersion": self.kubernetes,
            "gitMajor": major,
            "gitMinor": minor,
            "gitTreeState": "clean",
        }
        packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
        settings = [f"-X {package}.{name}={value}" for package in packages for name, value in facts.items()]
        return " ".join(["-s", "-w", *settings])


def pinned_release() -> Release:
    """What `go.mod` of this repository pins."""
    return release_of(MODULE)


def release_of(module: Path) -> Release:
    """What the `go.mod` of a folder pins."""
    found = read_module(module)
    kubernetes, etcd = found.required["k8s.io/kubernetes"], found.required["go.etcd.io/etcd/server/v3"]
    return Release(kubernetes, etcd, found.oldest_go, found.digest, module)


def architecture(machine: str = "") -> str:
    """This machine's architecture as Go spells it."""
    machine = machine or platform.machine()
    try:
        return ARCHITECTURES[machine]
    except KeyError:
        known = ", ".join(sorted(set(ARCHITECTURES.values())))
        raise KubeError(
            f"no Kubernetes is built for {machine}, only for {known}; set KUBEBUILDER_ASSETS"
        ) from None
