"""The matrix on a running cluster: all cases side by side, each in a namespace of its own."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from support.evictions.clusters import EvictionCluster
from support.matrix.place import Place, Refusal
from support.matrix.table import CASES, Case, run_case
from support.realcluster.evictions import REAL
from vacate.api.kinds import CONFIGMAPS, NAMESPACES, NODEMAINTENANCES, NODES, Kind
from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.client.client import Client
from vacate.client.http import HttpTransport
from vacate.client.kubeconfig import load_cluster
from vacate.client.requests import STRATEGIC_PATCH
from vacate.clock import SystemClock
from vacate.entropy import system_entropy
from vacate.errors import ApiError, InternalError, NotFound, TransportError, VacateError
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

    def __init__(self, cluster: EvictionCluster, client: Client, namespace: str, nodes: list[str]) -> None:
        super().__init__(client, namespace, nodes)
        self._cluster = cluster
        self._away: list[str] = []

    def now(self) -> float:
        """Seconds of the machine."""
        return time.monotonic()

    async def until(self, look: Callable[[], Awaitable[T | None]], what: str, seconds: float) -> T:
        """Look several times a second, also while the API server does not answer."""
        end = self.now() + seconds + BUSY_SECONDS

        async def seen() -> T | None:
            with contextlib.suppress(TransportError):
                return await look()
            return None

        while not (found := await seen()):
            assert self.now() < end, f"{what}: not within {seconds:g} s; {await self._shown()}"
            await asyncio.sleep(0.2)
        return found

    async def _shown(self) -> Obj:
        with contextlib.suppress(NotFound, TransportError):
            return await self.status()
        return {}

    async def stop(self, part: str) -> None:
        """A part of the whole cluster. That a node is lost is written at once, and not after a while."""
        self._away.append(part)
        self._cluster.stop_part(part)  # in this thread: what it starts would end with another one
        if part == "server":
            return
        await self.until(self._answers, "the API server answers", self.setup_seconds)
        if part == "node":
            lost = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "lost"}
            lost["lastTransitionTime"] = format_time(SystemClock().now())
            change = {"status": {"conditions": [lost]}}
            await self.client.patch(
                NODES, self.node, change, patch_type=STRATEGIC_PATCH, subresource="status"
            )

    async def start(self, part: str) -> None:
        """It is back."""
        self._cluster.start_part(part)
        self._away.remove(part)
        await self.until(self._answers, "the API server answers", self.setup_seconds)

    async def restore(self) -> None:
        """Bring back what a case that failed has left away."""
        for part in list(self._away):
            await self.start(part)

    async def _answers(self) -> Obj | None:
        return await self.client.get(NODES, self.node)

    async def refuse(self, refusal: Refusal) -> None:
        """By a policy, a webhook that nobody serves, or a quota; each for this namespace or drain alone."""
        if refusal.by == "quota":
            await (self._quota(refusal) if self._cluster.sort == REAL else self._fill())
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

    async def _fill(self) -> None:
        """The embedded cluster has no ResourceQuotas, but one for all objects together."""
        await self.stop("room")
        for size in (900_000, 60_000, 4_000, 1):
            body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"ballast": "x" * size}}
            with contextlib.suppress(InternalError):
                for number in itertools.count():
                    await self.client.create(
                        CONFIGMAPS, {**body, "metadata": {"name": f"b-{size}-{number}"}}, self.namespace
                    )

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
        if self._cluster.sort == REAL:
            for kind in (_BINDINGS, _POLICIES, _WEBHOOKS):
                await self.delete(kind, self.namespace)
            await self.delete(_QUOTAS, "tight")
        elif "room" in self._away:
            await self.client.delete_collection(CONFIGMAPS, self.namespace)


@contextlib.asynccontextmanager
async def live_place(cluster: EvictionCluster, client: Client) -> AsyncIterator[LivePlace]:
    """A new namespace; what the case has left is removed at the end."""
    name = f"m-{system_entropy().uid()[:8]}"
    nodes = sorted(one["metadata"]["name"] for one in (await client.list(NODES)).items)
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    place = LivePlace(cluster, client, name, nodes)
    try:
        yield place
    finally:
        await place.restore()
        with contextlib.suppress(ApiError):
            await place.allow()
        for node in nodes:
            await client.patch(NODES, node, {"metadata": {"labels": {f"example.com/{name}": None}}})
        for one in (place.drain_name, f"other-{name}"):
            await place.delete(NODEMAINTENANCES, one)
        await place.delete(NAMESPACES, name)


async def run_all(cluster: EvictionCluster, *names: str) -> dict[str, str]:
    """Run the cases of that sort of cluster, or those of these names; by case, why it failed.

    Those that would hold others run one after the other.
    """
    client = Client(HttpTransport(load_cluster([cluster.kubeconfig]), SystemClock()))
    failed: dict[str, str] = {}

    async def run(case: Case) -> None:
        try:
            async with live_place(cluster, client) as place:
                await run_case(place, case)
        except (VacateError, AssertionError, KeyError) as error:
            failed[case.name] = f"{type(error).__name__}: {error}"

    try:
        chosen = [one for one in CASES if cluster.sort in one.places and (not names or one.name in names)]
        await asyncio.gather(*(run(one) for one in chosen if cluster.sort not in one.alone))
        for one in chosen:
            if cluster.sort in one.alone:
                await run(one)
    finally:
        await client.aclose()
    return failed
