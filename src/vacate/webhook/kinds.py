"""The configurations of webhooks, which the embedded server does not serve."""

from __future__ import annotations

from vacate.api.kinds import Kind

_REGISTRATION = "admissionregistration.k8s.io"

MUTATING_WEBHOOKS = Kind(
    _REGISTRATION, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations",
    "mutatingwebhookconfiguration", namespaced=False,
)  # fmt: skip
VALIDATING_WEBHOOKS = Kind(
    _REGISTRATION, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations",
    "validatingwebhookconfiguration", namespaced=False,
)  # fmt: skip
