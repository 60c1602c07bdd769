"""What a chart has beside its templates: a schema of its values, a README, notes, and a test for Helm."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from vacate import __version__
from vacate.api.installednames import labels

Schema = dict[str, Any]
_POLICY: Schema = {"enum": ["Fail", "Ignore"]}
_OBJECTS: Schema = {"type": "array", "items": {"type": "object"}}
_TEXTS: Schema = {"type": "array", "items": {"type": "string"}}
_TEXT_MAP: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
_LIMIT: Schema = {"oneOf": [{"type": "integer", "minimum": 0}, {"const": ""}]}
_OTHERS: Schema = {
    "manager.replicas": {"type": "integer", "minimum": 0},
    "webhook.replicas": {"type": "integer", "minimum": 0},
    "imagePullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
    "certificates": {"enum": ["self", "cert-manager"]},
    "interceptorAccounts": {"type": "object", "additionalProperties": _TEXTS},
    "limits.interceptors": _LIMIT,
    "limits.requestSeconds": _LIMIT,
    "limits.drainingNodes": {"oneOf": [{"type": "integer", "minimum": 1}, {"type": "string"}]},
    "failurePolicies.requests": _POLICY,
    "failurePolicies.status": _POLICY,
    "failurePolicies.pods": _POLICY,
    "evictionBridge.namespaceSelector.matchLabels": _TEXT_MAP,
    "evictionBridge.namespaceSelector.matchExpressions": _OBJECTS,
    "evictionBridge.unverifiedCallers": {"enum": ["refuse", "request"]},
    "confine": {"enum": ["enforce", "audit", "off", False]},  # which YAML reads for off
    "lifecycleController": {"enum": ["auto", "on", "off"]},
    "shutdownAgent.mode": {"enum": ["alone", "beside-kubelet"]},
    "shutdownAgent.api": {"enum": ["evictionrequest", "evacuation"]},
    "ownPods.labels": {**_TEXT_MAP, "propertyNames": {"not": {"enum": list(labels("manager"))}}},
    "ownPods.nodeSelector": _TEXT_MAP,
    "ownPods.tolerations": _OBJECTS,
    "ownPods.affinity": {"type": "object"},
    "ownPods.topologySpreadConstraints": _OBJECTS,
    **{
        f"ownPods.resources.{one}": {"type": "object"}
        for one in ("manager", "webhook", "certificates", "hooks", "web")
    },
}
_TYPES = {bool: "boolean", int: "integer", str: "string"}


def schema(values: str) -> str:
    """Of which sort each value is: a value that does not exist is refused, and so is one of another sort."""
    made = _schema(yaml.safe_load(values), "")
    # Helm gives these to charts that are part of others.
    made["properties"] |= {"global": {"type": "object"}}
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "Values of the chart vacate"}
    return json.dumps({**head, **made}, indent=1) + "\n"


def _schema(value: Any, path: str) -> Schema:
    if path in _OTHERS:
        found: Schema = dict(_OTHERS[path])
        return found
    if isinstance(value, dict):
        parts = {key: _schema(part, f"{path}.{key}".lstrip(".")) for key, part in value.items()}
        return {"type": "object", "additionalProperties": False, "properties": parts}
    return dict(_TEXTS) if isinstance(value, list) else {"type": _TYPES[type(value)]}


def readme(values: str) -> str:
    """For those who find the chart alone."""
    rows = "\n".join(f"| `{name}` | {default} | {meaning} |" for name, default, meaning in _rows(values))
    image = f"registry.example.com/vacate:{__version__}"
    return f"""\
# Vacate

A control plane for how Kubernetes pods are evicted and terminated, for Kubernetes 1.33 or newer.

    helm install vacate CHART -n vacate-system --create-namespace --set image={image}
    helm test vacate -n vacate-system

`CHART` is this folder, its archive, or `oci://REGISTRY/charts/vacate`. `helm test` runs `vacate check` in
the cluster, as the account of the manager. `helm uninstall vacate -n vacate-system` keeps the
CustomResourceDefinitions, and with them all requests.

## Values

A value that is not listed here is refused.

| value | default | meaning |
|---|---|---|
{rows}
"""


def _rows(values: str) -> list[tuple[str, str, str]]:
    """Each value with its default and the comments above it."""
    rows: list[tuple[str, str, str]] = []
    path: list[str] = []
    comment: list[str] = []
    within = -1
    for line in values.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        if within >= 0 and (depth > within or not line.strip()):
            continue
        within = -1
        if line.lstrip().startswith("#"):
            comment.append(line.strip().removeprefix("#").strip())
        elif found := re.match(r" *(\w+):(?: (.*))?$", line):
            path = [*path[:depth], found[1]]
            default = found[2] or ""
            if default == "|":
                within, default = depth, "see `values.yaml`"
            elif default:
                default = f"`{default}`"
            meaning = " ".join(comment).replace("|", "\\|").replace("<", "&lt;")
            if default or meaning:
                rows.append((".".join(path), default, meaning))
            comment = []
        else:
            comment = []
    return rows


NOTES = """\
Vacate is installed in {{ .Release.Namespace }}. It is ready when these return:

  kubectl -n {{ .Release.Namespace }} rollout status deployment/vacate-manager
  kubectl -n {{ .Release.Namespace }} rollout status deployment/vacate-webhook
  helm test {{ .Release.Name }} -n {{ .Release.Namespace }}

Then, with the vacate command on your machine:

  vacate check
  vacate drain NODE --dry-run
{{- if not .Values.evictionBridge.enabled }}

kubectl drain and autoscalers do not wait for interceptors: --set evictionBridge.enabled=true lets them.
{{- else if not (or .Values.webhook.clientCA .Values.networkPolicySources.webhook) }}

Warning: any pod that reaches the webhook can send it a review, and so request evictions of pods that have
interceptors. Set networkPolicySources.webhook to the addresses of the API servers, or webhook.clientCA.
{{- end }}
"""

HOOK = {"helm.sh/hook": "test", "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded"}
"""Of the pod that `helm test` starts."""
