"""The matrix on a running cluster: all cases side by side, each in a namespace of its own."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from support.matrix.place import Place, Refusal
from support.matrix.table import CASES, Case, run_case
from vacate.api.kinds import CONFIGMAPS, NAMESPACES, NODEMAINTENANCES, NODES, Kind
from vacate.api.objects import Obj
from vacate.client.client import Client
from vacate.client.http import HttpTransport
from vacate.client.kubeconfig import load_cluster
from vacate.clock import SystemClock
from vacate.entropy import system_entropy
from vacate.errors import ApiError, NotFound
from vacate.maintenance.names import CLAIMS

T = TypeVar("T")
BUSY_SECONDS = 150.0
"""What a busy machine may take longer."""
_GROUP = "admissionregistration.k8s.io"
_POLICIES = Kind(
    _GROUP, "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", "v", namespaced=False
)
_BINDINGS = Kind(
    _GROUP,
    "v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    "b",
    namespaced=False,
)
_WEBHOOKS = Kind(
    _GROUP, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "w", namespaced=False
)
_QUOTAS = Kind("", "v1", "ResourceQuota", "resourcequotas", "resourcequota", namespaced=True)
_OPERATIONS = {"POST": "CREATE", "PATCH": "UPDATE", "DELETE": "DELETE"}


class LivePlace(Place):
    """A namespace of a running cluster. Refusals need a real API server."""

    def now(self) -> float:
        """Seconds of the machine."""
        return time.monotonic()

    async def until(self, look: Callable[[], Awaitable[T | None]], what: str, seconds: float) -> T:
        """Look several times a second."""
        end = self.now() + seconds + BUSY_SECONDS
        while not (found := await look()):
            assert self.now() < end, f"{what}: not within {seconds:g} s; {await self._shown()}"
            await asyncio.sleep(0.2)
        return found

    async def _shown(self) -> Obj:
        with contextlib.suppress(NotFound):
            return await self.status()
        return {}

    async def refuse(self, refusal: Refusal) -> None:
        """By a policy, a webhook that nobody serves, or a quota; each for this namespace or drain alone."""
        if refusal.by == "quota":
            await self._quota(refusal)
            return
        rule = {
            "apiGroups": [refusal.kind.group],
            "apiVersions": ["*"],
            "operations": [_OPERATIONS[refusal.method]],
            "resources": ["/".join(filter(None, (refusal.kind.plural, refusal.subresource)))],
        }
        probe = {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE"],
            "resources": ["configmaps"],
        }
        scope = {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}}
        if refusal.by == "away":
            hook = {
                "name": f"{self.namespace}.example.com",
                "clientConfig": {"url": "https://127.0.0.1:1/nobody"},
                "rules": [rule, probe],
                "namespaceSelector": scope,
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "timeoutSeconds": 2,
            }
            await self.client.create(_WEBHOOKS, self._named(_WEBHOOKS, {"webhooks": [hook]}))
        else:
            claimed = f"object.metadata.?annotations[?'{CLAIMS}'].orValue('').contains('{self.drain_name}')"
            refused = f"!({claimed})" if refusal.kind is NODES else "false"
            constraints = {"resourceRules": [rule, probe]}
            if refusal.kind.namespaced:
                constraints["namespaceSelector"] = scope  # type: ignore[assignment]
            else:
                elsewhere = f"object.metadata.namespace != '{self.namespace}'"
                refused = f"request.resource.resource == 'configmaps' ? {elsewhere} : {refused}"
            spec = {
                "matchConstraints": constraints,
                "validations": [{"expression": refused, "message": "not now"}],
            }
            await self.client.create(_POLICIES, self._named(_POLICIES, {"spec": spec}))
            bound = {"policyName": self.namespace, "validationActions": ["Deny"]}
            await self.client.create(_BINDINGS, self._named(_BINDINGS, {"spec": bound}))
        await self.until(self._is_refused, "the API server refuses", 30.0)

    async def _is_refused(self) -> bool | None:
        """Whether what was just created has taken effect: it refuses a ConfigMap, too."""
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe"}}
        try:
            await self.client.create(CONFIGMAPS, body, self.namespace)
        except ApiError:
            return True
        await self.client.delete(CONFIGMAPS, "probe", self.namespace)
        return None

    async def _quota(self, refusal: Refusal) -> None:
        hard = {f"count/{refusal.kind.resource}": "0"}
        body = {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "tight"},
            "spec": {"hard": hard},
        }
        await self.client.create(_QUOTAS, body, self.namespace)

        async def counted() -> bool | None:
            found = await self.client.get(_QUOTAS, "tight", self.namespace)
            return bool(found.get("status", {}).get("hard")) or None

        await self.until(counted, "the quota is counted", 60.0)

    def _named(self, kind: Kind, parts: Obj) -> Obj:
        made = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": self.namespace}}
        return {**made, **parts}

    async def allow(self) -> None:
        """Nothing is refused any more."""
        for kind in (_BINDINGS, _POLICIES, _WEBHOOKS):
            await self.delete(kind, self.namespace)
        await self.delete(_QUOTAS, "tight")


@contextlib.asynccontextmanager
async def live_place(client: Client) -> AsyncIterator[LivePlace]:
    """A new namespace; what the case has left is removed at the end."""
    name = f"m-{system_entropy().uid()[:8]}"
    nodes = sorted(one["metadata"]["name"] for one in (await client.list(NODES)).items)
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    place = LivePlace(client, name, nodes)
    try:
        yield place
    finally:
        with contextlib.suppress(ApiError):
            await place.allow()
        for node in nodes:
            await client.patch(NODES, node, {"metadata": {"labels": {f"example.com/{name}": None}}})
        for one in (place.drain_name, f"other-{name}"):
            await place.delete(NODEMAINTENANCES, one)
        await place.delete(NAMESPACES, name)


async def run_all(kubeconfig: Path, sort: str) -> dict[str, str]:
    """Run the cases of that sort of cluster, those that would hold others one after the other; by case, why
    it failed."""
    client = Client(HttpTransport(load_cluster([kubeconfig]), SystemClock()))
    failed: dict[str, str] = {}

    async def run(case: Case) -> None:
        try:
            async with live_place(client) as place:
                await run_case(place, case)
        except (ApiError, AssertionError, KeyError) as error:
            failed[case.name] = f"{type(error).__name__}: {error}"

    try:
        chosen = [one for one in CASES if sort in one.places]
        await asyncio.gather(*(run(one) for one in chosen if not one.alone))
        for one in chosen:
            if one.alone:
                await run(one)
    finally:
        await client.aclose()
    return failed
