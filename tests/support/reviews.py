"""AdmissionReviews as kube-apiserver sends them, and a webhook in this process to send them to."""

from __future__ import annotations

import base64
import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from multidict import CIMultiDict, MultiDict

from support.embedded import ADMIN, Embedded
from vacate.api.identity import MASTERS
from vacate.api.kinds import CLUSTERROLEBINDINGS, CLUSTERROLES, EVICTIONREQUESTS, Kind
from vacate.api.objects import Obj
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.crds.catalogue import declaration_of
from vacate.crds.definition import definition_for
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.embedded.apiserver.patch.jsonpatch import apply_json_patch
from vacate.metrics import Metrics
from vacate.webhook.handler import Service
from vacate.webhook.metrics import WebhookMetrics
from vacate.webhook.reviewer import Reviewer, WebhookConfig
from vacate.wire.message import Request

ADMIN_INFO: Obj = {"username": "admin", "groups": [MASTERS, "system:authenticated"]}
MUTATE, VALIDATE = "/mutate/evictionrequests", "/validate/evictionrequests"
MUTATE_PODS, VALIDATE_PODS = "/mutate/pods", "/validate/pods"
MUTATE_WORKLOAD_PODS = "/mutate/workloadpods"


async def let_evict(server: Embedded, *users: str, more: Sequence[Obj] = (), name: str = "evicts") -> None:
    """Let the users evict pods, and whatever else the rules say."""
    rules = [{"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]}, *more]
    await server.seed(CLUSTERROLES, {"metadata": {"name": name}, "rules": rules})
    subjects = [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user} for user in users]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    binding = {"metadata": {"name": name}, "roleRef": role, "subjects": subjects}
    await server.seed(CLUSTERROLEBINDINGS, binding)


@dataclass(frozen=True)
class ReviewAnswer:
    """The answer to a review."""

    code: int
    body: Obj

    @property
    def response(self) -> Obj:
        assert self.code == 200, self.body
        found: Obj = self.body["response"]
        return found

    @property
    def allowed(self) -> bool:
        return bool(self.response["allowed"])

    @property
    def refusal(self) -> Obj:
        """The Status with which the write is refused."""
        assert not self.allowed
        found: Obj = self.response["status"]
        return found

    @property
    def patch(self) -> list[Obj]:
        encoded = self.response.get("patch")
        return orjson.loads(base64.b64decode(encoded)) if encoded else []

    def applied(self, obj: Obj) -> Obj:
        """The object with the changes of the webhook."""
        assert self.allowed, self.body
        result: Obj = apply_json_patch(copy.deepcopy(obj), self.patch)
        return result


class Hook:
    """A webhook, beside an embedded server or beside whatever else the client reaches."""

    def __init__(self, client: Client, clock: Clock, terms: WebhookConfig | None = None) -> None:
        self.clock = clock
        self.terms = terms or WebhookConfig()
        self.metrics = Metrics()
        counted = WebhookMetrics(self.metrics.registry)
        self.service = Service(Reviewer(client, clock, self.metrics), lambda: self.terms, clock, counted)

    @classmethod
    def beside(cls, server: Embedded, terms: WebhookConfig | None = None) -> Hook:
        return cls(Client(InProcessTransport(server.server, ADMIN)), server.clock, terms)

    async def ask(self, path: str, review: Obj) -> ReviewAnswer:
        return await self.send(path, orjson.dumps(review))

    async def send(self, path: str, body: bytes, content_type: str = "application/json") -> ReviewAnswer:
        headers = CIMultiDict({"Content-Type": content_type})
        answer = await self.service.handle(Request("POST", path, MultiDict(), headers, body))
        assert isinstance(answer.body, bytes)
        return ReviewAnswer(answer.status, orjson.loads(answer.body))


def review(
    operation: str,
    *,
    new: Obj | None = None,
    old: Obj | None = None,
    kind: Kind = EVICTIONREQUESTS,
    namespace: str = "shop",
    subresource: str = "",
    user: Mapping[str, Any] | None = None,
    **more: Any,
) -> Obj:
    """What kube-apiserver sends. Objects of our kind come pruned and with the defaults of the schema."""
    meta = (new or old or {}).get("metadata", {})
    request: Obj = {
        "uid": "4b5c7b1e-5e2f-4c38-9d8a-000000000001",
        "kind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "resource": {"group": kind.group, "version": kind.version, "resource": kind.plural},
        "namespace": namespace,
        "operation": operation,
        "userInfo": copy.deepcopy(dict(user or ADMIN_INFO)),
        "object": seen(new, kind),
        "oldObject": seen(old, kind),
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        **more,
    }
    if meta.get("name"):
        request["name"] = meta["name"]
    if subresource:
        request["subResource"] = subresource
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def seen(obj: Obj | None, kind: Kind) -> Obj | None:
    """The object as it stands when webhooks are asked."""
    if obj is None:
        return None
    made = {"apiVersion": kind.api_version, "kind": kind.kind, **copy.deepcopy(obj)}
    if kind is EVICTIONREQUESTS:
        declaration_of(kind).structure.prune(made)
        declaration_of(kind).structure.fill_defaults(made)
    return made


def refused_by_definition(kind: Kind, status: Obj) -> bool:
    """Whether API servers refuse this by the rules of the definition, without asking a webhook."""
    (version,) = definition_for(kind)["spec"]["versions"]
    messages = tuple(_messages(version["schema"]["openAPIV3Schema"]))
    causes = status.get("details", {}).get("causes") or []
    return bool(causes) and all(one["message"].endswith(messages) for one in causes)


def _messages(schema: Obj) -> Iterator[str]:
    yield from (one["message"] for one in schema.get("x-kubernetes-validations", ()))
    for inner in (*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])):
        yield from _messages(inner)
