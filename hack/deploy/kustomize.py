"""Kustomizations: the same objects in files, for those who patch them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from vacate.api.installednames import DEFAULT_NAMESPACE
from vacate.api.objects import Obj
from vacate.install.manifest import manifest, manifests
from vacate.install.manifests.confinement import agent_confinement
from vacate.install.manifests.hooks import hook_accounts, hooks
from vacate.install.manifests.policies import policies
from vacate.install.manifests.shutdownagent import shutdown_agent
from vacate.install.manifests.web import web
from vacate.install.objectkinds import path_of
from vacate.install.objects import objects, parts
from vacate.install.settings import DEFAULT_HOOKS, Monitoring, Settings, ShutdownAgent

_IDENTITY = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
_COMPONENT = {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"}
HOOK_SETTINGS = Settings(hooks=DEFAULT_HOOKS, interceptor_accounts=hook_accounts(DEFAULT_NAMESPACE))
"""What is in the folder for hooks: what `vacate install --hooks` does."""


def kustomize_files() -> dict[str, str]:
    """The base, and what is there beside it, by path."""
    base = parts(Settings())
    watched = parts(replace(Settings(), monitoring=Monitoring.everything()))
    added = {name: part for name, part in watched.items() if name not in base}
    with_agent = replace(Settings(), shutdown_agent=ShutdownAgent())
    agents = {"shutdown-agent": shutdown_agent(with_agent), "confinement": agent_confinement(with_agent)}
    bound = replace(HOOK_SETTINGS, hooks="")  # what hooks change of the base
    there = {path_of(obj) for obj in objects(Settings())}
    # Some policies are about bound accounts only.
    new_policies = [obj for obj in policies(bound) if path_of(obj) not in there]
    called = {"hooks": hooks(HOOK_SETTINGS), "admission-policies": new_policies}
    return {
        **_folder("base", base),
        **_folder("monitoring", added, "../base"),
        **_folder("shutdown-agent", agents, "../base", patches=_patches(with_agent)),
        **_folder("hooks", called, "../base", patches=_patches(bound)),
        **_folder("web", {"web": web(Settings(web=True))}, "../base"),
        "eviction-bridge/kustomization.yaml": manifest(
            {**_COMPONENT, "patches": _patches(Settings(eviction_bridge=True))}
        ),
    }


def _folder(
    name: str, found: dict[str, list[Obj]], *bases: str, patches: Sequence[Obj] = ()
) -> dict[str, str]:
    listed: Obj = {**_IDENTITY, "resources": [*bases, *(f"{part}.yaml" for part in found)]}
    if patches:
        listed["patches"] = list(patches)
    files = {f"{name}/{part}.yaml": manifests(objects) for part, objects in found.items()}
    return {**files, f"{name}/kustomization.yaml": manifest(listed)}


def _patches(settings: Settings) -> list[Obj]:
    """What the settings add to objects of the base: for any kustomization that has the base."""
    base = {path_of(obj): obj for obj in objects(Settings())}
    changed = [
        (before, obj)
        for obj in objects(settings)
        if (before := base.get(path_of(obj))) is not None and before != obj
    ]
    return [
        {"target": _target(obj), "patch": manifest(list(_additions("", before, obj)))}
        for before, obj in changed
    ]


def _target(obj: Obj) -> Obj:
    group, _, version = obj["apiVersion"].rpartition("/")
    return {"group": group, "version": version, "kind": obj["kind"], "name": obj["metadata"]["name"]}


def _additions(path: str, before: Any, after: Any) -> Iterable[Obj]:
    """JSON patches that add to lists. Nothing else is needed, and whatever else came is an error."""
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for key in before:
            if before[key] != after[key]:
                yield from _additions(f"{path}/{key}", before[key], after[key])
    elif (
        isinstance(before, list) and isinstance(after, list) and (place := _place(before, after)) is not None
    ):
        for number in range(place, place + len(after) - len(before)):
            index = "-" if place == len(before) else str(number)
            yield {"op": "add", "path": f"{path}/{index}", "value": after[number]}
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            if one != other:
                yield from _additions(f"{path}/{number}", one, other)
    else:
        raise ValueError(f"{path}: patches only add to lists")


def _place(before: list[Any], after: list[Any]) -> int | None:
    """Where new items stand together in the longer list, as late as possible; None where they do not."""
    more = len(after) - len(before)
    if more <= 0:
        return None
    fits = (
        at for at in range(len(before), -1, -1) if before[:at] + after[at : at + more] + before[at:] == after
    )
    return next(fits, None)
