"""A second validating webhook beside Vacate's, as a company has one for its own rules about evictions."""

from __future__ import annotations

import base64
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

from support.evictions.namespace import EvictionNamespace
from support.realcluster.evictions import REVIEW_SECONDS
from support.tlsserver import JsonHandler, TlsServer, serving
from vacate.api.kinds import Kind
from vacate.api.objects import Obj

CONFIGURATIONS = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    "validatingwebhookconfiguration",
    namespaced=False,
)


class _Handler(JsonHandler):
    server: OtherWebhook

    def do_POST(self) -> None:  # noqa: N802  as the base class calls it
        self.answer(self.server.reviewed(self.sent()["request"]))


class OtherWebhook(TlsServer):
    """Refuses, or takes its time; what it was asked is kept."""

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.refuses = False
        self.seconds = 0.0
        self.asked: list[dict[str, Any]] = []

    def reviewed(self, review: dict[str, Any]) -> Obj:
        self.asked.append(review)
        refuses = self.refuses
        time.sleep(self.seconds)  # a rule that takes long, and no condition that is waited for
        response: Obj = {"uid": review["uid"], "allowed": not refuses}
        if refuses:
            response["status"] = {"code": 403, "message": "not on Fridays"}
        return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


@contextlib.asynccontextmanager
async def other_webhook(place: EvictionNamespace) -> AsyncIterator[OtherWebhook]:
    """One for deletions and evictions of the namespace, which the API server knows of."""
    name = f"other.{place.namespace}.example.com"
    with serving(OtherWebhook()) as server:
        rules = [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": [verb], "resources": [resource]}
            for verb, resource in (("CREATE", "pods/eviction"), ("DELETE", "pods"))
        ]
        hook = {
            "name": name,
            "rules": rules,
            "matchConditions": [{"name": "here", "expression": f"request.namespace == '{place.namespace}'"}],
            "clientConfig": {
                "url": f"{server.url}/",
                "caBundle": base64.b64encode(server.authority.pem).decode(),
            },
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "timeoutSeconds": REVIEW_SECONDS,
            "admissionReviewVersions": ["v1"],
        }
        try:
            await place.client.create(CONFIGURATIONS, {"metadata": {"name": name}, "webhooks": [hook]})

            async def is_asked() -> bool:
                with contextlib.suppress(Exception):
                    await place.client.evict("no-such-pod", place.namespace)
                return bool(server.asked)

            await place.until(is_asked, "the API server asks the other webhook")
            server.asked.clear()
            yield server
        finally:
            await place.client.delete(CONFIGURATIONS, name)
