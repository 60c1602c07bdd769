"""The application of the demo: a Deployment and its budget."""

from __future__ import annotations

from vacate.api.objects import Obj

APP = "web"
REPLICAS = 6
MIN_AVAILABLE = 5
_LABELS = {"app": APP}

DEPLOYMENT: Obj = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": APP},
    "spec": {
        "replicas": REPLICAS,
        "selector": {"matchLabels": _LABELS},
        "template": {
            "metadata": {"labels": _LABELS},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        },
    },
}

BUDGET: Obj = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": APP},
    "spec": {"minAvailable": MIN_AVAILABLE, "selector": {"matchLabels": _LABELS}},
}
