"""PURE. The environment and the command line of a container, and the downward API."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from vacate.api.objects import Obj, dig
from vacate.api.quantity import parse_quantity
from vacate.nodeagent.runtime.protocol import ContainerError
from vacate.nodeagent.status import Addresses
from vacate.nodeagent.view import AgentContainer, AgentPod

_REFERENCE = re.compile(r"\$\$|\$\(([^()]+)\)")

Data = Mapping[str, bytes]
_KEYED = re.compile(r"^metadata\.(labels|annotations)\['(.*)'\]$")


@dataclass(frozen=True, slots=True)
class Sources:
    """Config maps and secrets that a pod refers to; None for one that does not exist."""

    config_maps: Mapping[str, Data | None] = field(default_factory=dict)
    secrets: Mapping[str, Data | None] = field(default_factory=dict)

    def referred(self, one: Obj, suffix: str) -> tuple[Obj, str, Mapping[str, Data | None]] | None:
        """What `configMapRef` or `secretRef` names, by this suffix; its kind, and those of that kind."""
        kinds = (("configMap", "config map", self.config_maps), ("secret", "secret", self.secrets))
        for key, kind, known in kinds:
            if isinstance(reference := one.get(key + suffix), dict):
                return reference, kind, known
        return None


def environment(
    container: AgentContainer, sources: Sources, fields: FieldValues, base: Mapping[str, str]
) -> dict[str, str]:
    """The base, then `envFrom`, then `env`; later ones win. ContainerError names what is missing."""
    env = dict(base)
    for one in container.env_from:
        if (found := sources.referred(one, "Ref")) is not None:
            prefix = str(one.get("prefix") or "")
            env |= {prefix + name: _text(value) for name, value in (data_of(*found) or {}).items()}
    for one in container.env:
        value = _value(one, container, sources, fields, env)
        if value is not None:
            env[str(one.get("name", ""))] = value
    return {name: value for name, value in env.items() if name and "\0" not in name + value}


def expand(text: str, env: Mapping[str, str]) -> str:
    """`$(NAME)` by its value where there is one, `$$` by a dollar; everything else stays."""

    def replaced(found: re.Match[str]) -> str:
        name = found[1]
        return "$" if name is None else env.get(name, found[0])

    return _REFERENCE.sub(replaced, text)


def command_line(container: AgentContainer, env: Mapping[str, str]) -> list[str]:
    """Command and arguments. Without a command there is nothing to run: this node has no images."""
    if not container.command:
        raise ContainerError(
            f"container {container.name} has no command; this node runs local processes and has no images, "
            "so that an image's entry point is unknown: set command"
        )
    return [expand(one, env) for one in (*container.command, *container.args)]


def _value(
    one: Obj, container: AgentContainer, sources: Sources, fields: FieldValues, env: Mapping[str, str]
) -> str | None:
    given = one.get("valueFrom")
    if not isinstance(given, dict):
        return expand(str(one.get("value") or ""), env)
    if path := dig(given, "fieldRef", "fieldPath"):
        return fields.get(str(path))
    if isinstance(reference := given.get("resourceFieldRef"), dict):
        return resource_value(reference, container)
    if (found := sources.referred(given, "KeyRef")) is not None:
        return _keyed(*found)
    raise ContainerError(f"env {one.get('name')}: this source of a value is not supported on this node")


def _keyed(reference: Obj, kind: str, known: Mapping[str, Data | None]) -> str | None:
    data = data_of(reference, kind, known)
    key = str(reference.get("key", ""))
    if data is None or key not in data:
        if reference.get("optional"):
            return None
        raise ContainerError(f'{kind} "{reference.get("name", "")}" has no key "{key}"; add it')
    return _text(data[key])


def data_of(reference: Obj, kind: str, known: Mapping[str, Data | None]) -> Data | None:
    """What is referred to; None where it is optional and does not exist, else ContainerError."""
    name = str(reference.get("name") or "")
    data = known.get(name)
    if data is None and not reference.get("optional"):
        raise ContainerError(f'{kind} "{name}" not found; create it')
    return data


def _text(value: bytes) -> str:
    return value.decode("utf-8", errors="replace")


@dataclass(frozen=True, slots=True)
class FieldValues:
    """What `fieldRef` may name."""

    pod: AgentPod
    where: Addresses

    def get(self, path: str) -> str:
        """The field's value, or ContainerError."""
        meta, spec = self.pod.metadata, self.pod.spec
        if found := _KEYED.match(path):
            table = meta.labels if found[1] == "labels" else meta.annotations
            return table.get(found[2], "")
        simple = {
            "metadata.name": meta.name,
            "metadata.namespace": meta.namespace,
            "metadata.uid": meta.uid,
            "spec.nodeName": spec.node_name,
            "spec.serviceAccountName": spec.service_account_name,
            "status.hostIP": self.where.host,
            "status.hostIPs": self.where.host,
            "status.podIP": self.where.pod,
            "status.podIPs": self.where.pod,
        }
        if path in simple:
            return simple[path]
        if path in ("metadata.labels", "metadata.annotations"):
            table = meta.labels if path.endswith("labels") else meta.annotations
            return "\n".join(f"{key}={_quoted(value)}" for key, value in sorted(table.items()))
        raise ContainerError(f"fieldRef {path}: no such field; name one that the downward API offers")


def resource_value(reference: Obj, container: AgentContainer) -> str:
    """`resourceFieldRef`, in units of its divisor, rounded up."""
    where, _, name = str(reference.get("resource", "")).partition(".")
    table = container.resources.limits if where == "limits" else container.resources.requests
    amount = parse_quantity(str(table.get(name, "0")))
    divisor = parse_quantity(str(reference.get("divisor") or "1"))
    return str(math.ceil(amount.milli() / (divisor.milli() or 1)))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'
