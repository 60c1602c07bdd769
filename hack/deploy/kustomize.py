"""Kustomizations: the same objects in files, for those who patch them."""

from __future__ import annotations

from dataclasses import replace

from vacate.api.objects import Obj
from vacate.install.manifest import manifest, manifests
from vacate.install.manifests.shutdownagent import shutdown_agent
from vacate.install.objects import parts
from vacate.install.settings import Monitoring, Settings, ShutdownAgent

_IDENTITY = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}


def kustomize_files() -> dict[str, str]:
    """The base, and what is there beside it, by path."""
    base = parts(Settings())
    watched = parts(replace(Settings(), monitoring=Monitoring.everything()))
    added = {name: part for name, part in watched.items() if name not in base}
    agents = {"shutdown-agent": shutdown_agent(replace(Settings(), shutdown_agent=ShutdownAgent()))}
    return {
        **_folder("base", base),
        **_folder("monitoring", added, "../base"),
        **_folder("shutdown-agent", agents, "../base"),
    }


def _folder(name: str, found: dict[str, list[Obj]], *bases: str) -> dict[str, str]:
    resources = [*bases, *(f"{part}.yaml" for part in found)]
    files = {f"{name}/{part}.yaml": manifests(objects) for part, objects in found.items()}
    return {**files, f"{name}/kustomization.yaml": manifest({**_IDENTITY, "resources": resources})}
