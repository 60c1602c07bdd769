"""Kinds that only the webhook's certificates need, and that the embedded server does not serve."""

from __future__ import annotations

from vacate.api.kinds import Kind

_REGISTRATION = "admissionregistration.k8s.io"

MUTATING = Kind(
    _REGISTRATION, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations",
    "mutatingwebhookconfiguration", namespaced=False,
)  # fmt: skip
VALIDATING = Kind(
    _REGISTRATION, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations",
    "validatingwebhookconfiguration", namespaced=False,
)  # fmt: skip
