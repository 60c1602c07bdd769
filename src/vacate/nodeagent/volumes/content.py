"""PURE. The files of a volume whose content comes from the API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vacate.api.objects import Obj, dig
from vacate.nodeagent.environment import Data, FieldValues, Sources, data_of, resource_value
from vacate.nodeagent.runtime.protocol import ContainerError
from vacate.nodeagent.view import AgentPod

DEFAULT_MODE = 0o644


@dataclass(frozen=True, slots=True)
class File:
    """One file of a volume."""

    content: bytes
    mode: int = DEFAULT_MODE


def sources_of(volume: Obj) -> list[Obj]:
    """The volume as a list of projections: a config map alone is a projection of one."""
    if isinstance(projected := volume.get("projected"), dict):
        mode = projected.get("defaultMode")
        return [
            {"defaultMode": mode, **one} for one in projected.get("sources") or () if isinstance(one, dict)
        ]
    for key in ("configMap", "secret", "downwardAPI"):
        if isinstance(source := volume.get(key), dict):
            named = {**source, "name": source.get("name") or source.get("secretName")}
            return [{key: named, "defaultMode": source.get("defaultMode")}]
    return []


def references(pod: AgentPod) -> tuple[set[str], set[str]]:
    """Names of the config maps and of the secrets that the pod refers to."""
    found = [(source, "") for volume in pod.spec.volumes for source in sources_of(volume)]
    for container in pod.all_containers:
        found += [(one, "Ref") for one in container.env_from]
        found += [(one.get("valueFrom") or {}, "KeyRef") for one in container.env]

    def named(kind: str) -> set[str]:
        return {str(dig(one, kind + suffix, "name") or "") for one, suffix in found} - {""}

    return named("configMap"), named("secret")


def token_projections(volume: Obj) -> dict[str, Obj]:
    """The service account tokens that the volume wants, by their paths."""
    found = [source.get("serviceAccountToken") for source in sources_of(volume)]
    return {str(one.get("path", "token")): one for one in found if isinstance(one, dict)}


def files_of(
    volume: Obj, pod: AgentPod, sources: Sources, fields: FieldValues, tokens: Mapping[str, str]
) -> dict[str, File]:
    """Every file of the volume by its path. ContainerError names what is missing."""
    made: dict[str, File] = {}
    for source in sources_of(volume):
        mode = source.get("defaultMode") or DEFAULT_MODE
        if (found := sources.referred(source, "")) is not None:
            made.update(_of_data(*found, mode))
        elif isinstance(one := source.get("downwardAPI"), dict):
            made.update(_of_fields(one, pod, fields, mode))
        elif isinstance(one := source.get("serviceAccountToken"), dict):
            path = str(one.get("path", "token"))
            made[path] = File(tokens[path].encode(), mode)
    for path in made:
        if path.startswith("/") or ".." in path.split("/"):
            raise ContainerError(f'volume "{volume.get("name")}": {path!r} leads out of the volume')
    return made


def _of_data(
    source: Obj, kind: str, known: Mapping[str, Data | None], mode: int
) -> Iterator[tuple[str, File]]:
    data = data_of(source, kind, known)
    if data is None:
        return
    items = source.get("items")
    if not items:
        yield from ((key, File(content, mode)) for key, content in data.items())
        return
    for item in items:
        key = str(item.get("key", ""))
        if key in data:
            yield str(item.get("path", key)), File(data[key], item.get("mode") or mode)
        elif not source.get("optional"):
            raise ContainerError(f'{kind} "{source.get("name")}" has no key "{key}"; add it')


def _of_fields(source: Obj, pod: AgentPod, fields: FieldValues, mode: int) -> Iterator[tuple[str, File]]:
    for item in source.get("items") or ():
        if path := dig(item, "fieldRef", "fieldPath"):
            text = fields.get(str(path))
        else:
            reference = item.get("resourceFieldRef") or {}
            container = pod.container(str(reference.get("containerName", "")))
            text = resource_value(reference, container) if container is not None else ""
        yield str(item.get("path", "")), File(text.encode(), item.get("mode") or mode)
