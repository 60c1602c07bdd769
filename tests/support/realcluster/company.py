"""What a company has of its own beside an installation: a webhook for evictions, a policy that labels."""

from __future__ import annotations

import base64
import contextlib
import time
from collections.abc import Iterator
from typing import Any

from support.https import Obj
from support.tlsserver import JsonHandler, TlsServer
from vacate.install.settings import ShutdownAgent

ADMISSION = "admissionregistration.k8s.io"
_AGENTS = ShutdownAgent().namespace


class _CompanyHandler(JsonHandler):
    server: CompanyWebhook

    def do_POST(self) -> None:  # noqa: N802  as the base class calls it
        review = self.sent()["request"]
        self.server.reviewed.append(review)
        answer: Obj = {"uid": review["uid"], "allowed": True}
        if review["userInfo"]["username"] in self.server.refuses:
            time.sleep(self.server.seconds)  # it is what the company's webhook takes, not a wait of a test
            answer |= {"allowed": False, "status": {"code": 403, "message": "not by company policy"}}
        self.answer({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer})


class CompanyWebhook(TlsServer):
    """A company's own validating webhook for evictions and deletions: it refuses some users, or is slow."""

    def __init__(self) -> None:
        self.refuses: frozenset[str] = frozenset()
        self.seconds = 0.0
        self.reviewed: list[Obj] = []
        super().__init__(_CompanyHandler)

    @contextlib.contextmanager
    def refusing(self, *users: str, seconds: float = 0.0) -> Iterator[None]:
        """Refuse these users, each after so many seconds."""
        self.refuses, self.seconds = frozenset(users), seconds
        try:
            yield
        finally:
            self.refuses, self.seconds = frozenset(), 0.0

    def configuration(self, namespace: str) -> Obj:
        """For the API server: all evictions and deletions of pods of the namespace."""

        def rule(resource: str, operation: str) -> Obj:
            return {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": [operation],
                "resources": [resource],
            }

        hook = {
            "name": "policy.company.example.com",
            "rules": [rule("pods", "DELETE"), rule("pods/eviction", "CREATE")],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "clientConfig": {
                "url": f"{self.url}/",
                "caBundle": base64.b64encode(self.authority.pem).decode(),
            },
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 10,
        }
        return _admission("ValidatingWebhookConfiguration", "company", webhooks=[hook])


COMPANY_LABEL = "company.example.com/seen"


def company_labels() -> dict[str, Obj]:
    """A company's policy that labels each Deployment, pod and node that is written, by plural."""
    name, rules = "company-labels", [("apps", "deployments"), ("", "pods"), ("", "nodes")]
    labelled = f"Object{{metadata: Object.metadata{{labels: {{'{COMPANY_LABEL}': 'yes'}}}}}}"
    policy = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "IfNeeded",
        # What the agents of nodes write is held to the last label: with a policy like this on nodes, their
        # taints are refused.
        "matchConditions": [
            {
                "name": "not-by-agents",
                "expression": f"!('system:serviceaccounts:{_AGENTS}' in request.userInfo.groups)",
            }
        ],
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [group],
                    "apiVersions": ["v1"],
                    "operations": ["UPDATE"],
                    "resources": [resource],
                }
                for group, resource in rules
            ]
        },
        "mutations": [
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": labelled}},
        ],
    }
    return {
        "mutatingadmissionpolicies": _admission("MutatingAdmissionPolicy", name, spec=policy),
        "mutatingadmissionpolicybindings": _admission(
            "MutatingAdmissionPolicyBinding", name, spec={"policyName": name}
        ),
    }


def _admission(kind: str, name: str, **fields: Any) -> Obj:
    return {"apiVersion": f"{ADMISSION}/v1", "kind": kind, "metadata": {"name": name}, **fields}
