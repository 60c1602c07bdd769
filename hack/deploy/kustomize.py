"""Kustomizations: the same objects in files, for those who patch them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from vacate.api.objects import Obj
from vacate.install.manifest import manifest, manifests
from vacate.install.manifests.hooks import hooks
from vacate.install.manifests.shutdownagent import shutdown_agent
from vacate.install.objectkinds import path_of
from vacate.install.objects import objects, parts
from vacate.install.settings import DEFAULT_HOOKS, Monitoring, Settings, ShutdownAgent

_IDENTITY = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
_COMPONENT = {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"}


def kustomize_files() -> dict[str, str]:
    """The base, and what is there beside it, by path."""
    base = parts(Settings())
    watched = parts(replace(Settings(), monitoring=Monitoring.everything()))
    added = {name: part for name, part in watched.items() if name not in base}
    agents = {"shutdown-agent": shutdown_agent(replace(Settings(), shutdown_agent=ShutdownAgent()))}
    called = {"hooks": hooks(replace(Settings(), hooks=DEFAULT_HOOKS))}
    return {
        **_folder("base", base),
        **_folder("monitoring", added, "../base"),
        **_folder("shutdown-agent", agents, "../base"),
        **_folder("hooks", called, "../base"),
        **_component("eviction-bridge", Settings(eviction_bridge=True)),
    }


def _folder(name: str, found: dict[str, list[Obj]], *bases: str) -> dict[str, str]:
    resources = [*bases, *(f"{part}.yaml" for part in found)]
    files = {f"{name}/{part}.yaml": manifests(objects) for part, objects in found.items()}
    return {**files, f"{name}/kustomization.yaml": manifest({**_IDENTITY, "resources": resources})}


def _component(name: str, settings: Settings) -> dict[str, str]:
    """What the settings add to objects of the base, as patches: for any kustomization that has the base."""
    base = {path_of(obj): obj for obj in objects(Settings())}
    changed = [(base[path_of(obj)], obj) for obj in objects(settings) if base[path_of(obj)] != obj]
    patches = [
        {"target": _target(obj), "patch": manifest(list(_additions("", before, obj)))}
        for before, obj in changed
    ]
    return {f"{name}/kustomization.yaml": manifest({**_COMPONENT, "patches": patches})}


def _target(obj: Obj) -> Obj:
    group, _, version = obj["apiVersion"].rpartition("/")
    return {"group": group, "version": version, "kind": obj["kind"], "name": obj["metadata"]["name"]}


def _additions(path: str, before: Any, after: Any) -> Iterable[Obj]:
    """JSON patches that append to lists. Nothing else is needed, and whatever else came is an error."""
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for key in before:
            if before[key] != after[key]:
                yield from _additions(f"{path}/{key}", before[key], after[key])
    elif isinstance(before, list) and isinstance(after, list) and after[: len(before)] == before:
        for item in after[len(before) :]:
            yield {"op": "add", "path": f"{path}/-", "value": item}
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            if one != other:
                yield from _additions(f"{path}/{number}", one, other)
    else:
        raise ValueError(f"{path}: a component only appends to lists")
