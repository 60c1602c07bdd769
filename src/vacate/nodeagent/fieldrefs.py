"""PURE. The downward API: fields of the pod and resources of its containers, as text."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from vacate.api.objects import Obj
from vacate.api.quantity import parse_quantity
from vacate.nodeagent.runtime.protocol import ContainerError
from vacate.nodeagent.status import Addresses
from vacate.nodeagent.view import AgentContainer, AgentPod

_KEYED = re.compile(r"^metadata\.(labels|annotations)\['(.*)'\]$")


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
