"""One entry of a webhook configuration: its rule, its client, and the namespaces that it leaves out."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from vacate.api import installednames
from vacate.api.objects import Obj
from vacate.install.settings import FailurePolicy, Settings

WEBHOOK_SUFFIX = "vacate.dev"
"""What the names of all webhooks end in."""
SYSTEM_NAMESPACES = ("kube-system", "kube-public", "kube-node-lease")


def own_namespaces_aside(settings: Settings) -> Obj:
    """Select all namespaces but the system's and Vacate's own."""
    values = [*SYSTEM_NAMESPACES, settings.namespace]
    return {
        "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": values}]
    }


def rule_of(group: str, version: str, resource: str, *operations: str) -> Obj:
    """Operations on one namespaced resource."""
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": list(operations),
        "resources": [resource],
        "scope": "Namespaced",
    }


def webhook_entry(
    name: str,
    path: str,
    rule: Obj,
    policy: FailurePolicy,
    settings: Settings,
    *,
    conditions: Sequence[tuple[str, str]],
    timeout: int,
) -> Obj:
    """Send the writes that match `rule` and all conditions to `path`."""
    return {
        "name": name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": _client(settings, path),
        "rules": [rule],
        "matchPolicy": "Equivalent",
        "matchConditions": [{"name": key, "expression": text} for key, text in conditions],
        "failurePolicy": str(policy),
        "sideEffects": "None",
        "timeoutSeconds": timeout,
    }


def _client(settings: Settings, path: str) -> Obj:
    found: Obj = {}
    if settings.webhook_url:
        found["url"] = settings.webhook_url.rstrip("/") + path
    else:
        found["service"] = {
            "namespace": settings.namespace,
            "name": installednames.WEBHOOK,
            "path": path,
            "port": 443,
        }
    if settings.ca_bundle:
        found["caBundle"] = base64.b64encode(settings.ca_bundle).decode()
    return found
