"""The matrix on a running cluster: all cases side by side, each in a namespace of its own."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import datetime as dt
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from support.evictions.clusters import EMBEDDED, EvictionCluster
from support.matrix.place import Place, Refusal
from support.matrix.table import CASES, Case, run_case
from support.realcluster.evictions import HOME, REAL, REVIEW_SECONDS
from support.realcluster.otherwebhook import OtherWebhook
from support.tlsserver import serving
from vacate.api.events import NORMAL
from vacate.api.identity import service_account_user
from vacate.api.installednames import MANAGER
from vacate.api.kinds import (
    CLUSTERROLES,
    CONFIGMAPS,
    EVENTS,
    NAMESPACES,
    NODEMAINTENANCES,
    NODES,
    PODS,
    SUBJECTACCESSREVIEWS,
    Kind,
)
from vacate.api.kinds import VALIDATINGADMISSIONPOLICIES as _POLICIES
from vacate.api.kinds import VALIDATINGADMISSIONPOLICYBINDINGS as _BINDINGS
from vacate.api.objects import Obj
from vacate.api.times import format_time, parse_time
from vacate.client.client import Client
from vacate.client.http import HttpTransport
from vacate.client.kubeconfig import load_cluster
from vacate.client.requests import STRATEGIC_PATCH
from vacate.clock import SystemClock
from vacate.embedded.bootstrap.controllerroles import CONTROLLER_PREFIX
from vacate.embedded.cluster.controlplane import EVICTION_CONTROLLER
from vacate.entropy import system_entropy
from vacate.errors import ApiError, InternalError, NotFound, TransportError, VacateError
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.model import Limits
from vacate.maintenance.names import CLAIMS
from vacate.webhook.kinds import VALIDATING_WEBHOOKS

T = TypeVar("T")
BUSY_SECONDS = 150.0
"""What a busy machine may take longer, until something is seen here."""
SLOW_LOOKS = 10.0
MAX_ALLOWANCE = 60.0
"""Until the product itself goes on it may take longer by so many times what one look took at most, and by no
more seconds than that."""
_QUOTAS = Kind("", "v1", "ResourceQuota", "resourcequotas", "resourcequota", namespaced=True)
_OPERATIONS = {"POST": "CREATE", "PATCH": "UPDATE", "DELETE": "DELETE"}
_MESSAGES = {
    "policy": "not now",
    "webhook": 'admission webhook "company.example.com" denied the request: no',
    "quota": "exceeded quota: tight, requested: pods=1, used: pods=1, limited: pods=1",
}
"""What a policy says. The embedded cluster has neither webhooks nor ResourceQuotas: there a policy stands for
them, with their words."""
_NOBODY = "https://127.0.0.1:1/nobody"
_MANAGERS = {
    REAL: (service_account_user(HOME, MANAGER), MANAGER),
    EMBEDDED: (EVICTION_CONTROLLER.name, f"{CONTROLLER_PREFIX}evictionrequest-controller"),
}
"""The account of Vacate's controllers, and its role."""


def _rule(method: str, kind: Kind, subresource: str = "") -> Obj:
    """Of a policy or a webhook."""
    return {
        "apiGroups": [kind.group],
        "apiVersions": ["*"],
        "operations": [_OPERATIONS[method]],
        "resources": ["/".join(filter(None, (kind.plural, subresource)))],
    }


def _less(rule: Obj, group: str, resource: str, verb: str) -> list[Obj]:
    """The rule of a role without one verb for one resource."""
    if group not in rule.get("apiGroups", []) or resource not in rule["resources"]:
        return [rule]
    others = [one for one in rule["resources"] if one != resource]
    verbs = [one for one in rule["verbs"] if one != verb]
    parts = ({**rule, "resources": others}, {**rule, "resources": [resource], "verbs": verbs})
    return [one for one in parts if one["resources"] and one["verbs"]]


def progress_within(seconds: float, longest_look: float) -> float:
    """How long after the removal of a cause the product may write that it goes on, on a machine this slow."""
    return seconds + min(SLOW_LOOKS * longest_look, MAX_ALLOWANCE)


class LivePlace(Place):
    """A namespace of a running cluster."""

    def __init__(self, cluster: EvictionCluster, client: Client, namespace: str, nodes: list[str]) -> None:
        super().__init__(client, namespace, nodes)
        self._cluster = cluster
        self._away: list[str] = []
        self._rules: list[Obj] = []  # of the manager's role, while a right is missing there
        self._undo = contextlib.ExitStack()
        self._longest_look = 0.0

    def now(self) -> float:
        """Seconds of the machine."""
        return time.monotonic()

    async def until(self, look: Callable[[], Awaitable[T | None]], what: str, seconds: float) -> T:
        """Look several times a second, also while the API server does not answer."""
        end = self.now() + seconds + BUSY_SECONDS

        async def seen() -> T | None:
            began = self.now()
            with contextlib.suppress(TransportError):
                found = await look()
                self._longest_look = max(self._longest_look, self.now() - began)
                return found
            return None

        while not (found := await seen()):
            assert self.now() < end, f"{what}: not within {seconds:g} s; {await self._shown()}"
            await asyncio.sleep(0.2)
        return found

    async def check_progress(
        self, what: str, since: dt.datetime, removed: dt.datetime, seconds: float
    ) -> None:
        """By the first time that the product has written after the cause went: not when it was seen here."""
        events = list((await self.client.list(EVENTS, self.namespace)).items)
        drains = (await self.client.list(EVENTS, "default")).items
        events += [one for one in drains if one["involvedObject"].get("name") == self.drain_name]
        times = [one.get("lastTimestamp") for one in events if one.get("type") == NORMAL]
        drained = [parse_time(one["drainedTime"]) for one in (await self.status())["nodes"]]
        if max(drained) < since.replace(microsecond=0):
            return  # it did not wait for the removal
        known = [at for one in times if one and (at := parse_time(one)) >= since.replace(microsecond=0)]
        known += drained
        assert known, f"{what}: nothing says when the drain went on"
        took, allowed = (min(known) - removed).total_seconds(), progress_within(seconds, self._longest_look)
        assert took <= allowed, f"{what}: went on after {took:.0f} s, not within {allowed:.0f} s"

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
        self._undo.close()
        for part in list(self._away):
            await self.start(part)

    async def _answers(self) -> Obj | None:
        return await self.client.get(NODES, self.node)

    async def refuse(self, refusal: Refusal) -> None:
        """By what it says; policies, webhooks and quotas refuse this namespace or drain alone."""
        if refusal.by == "quota" and self._cluster.sort == REAL:
            await self._quota(refusal)
        elif refusal.by == "quota" and refusal.kind != PODS:
            await self._fill()
        elif refusal.by == "rights":
            await self._take_right(refusal)
        else:
            await self._refuse_admission(refusal)

    async def _refuse_admission(self, refusal: Refusal) -> None:
        rules = [_rule(refusal.method, refusal.kind, refusal.subresource), _rule("POST", CONFIGMAPS)]
        if refusal.by == "policy" or self._cluster.sort == EMBEDDED:
            spec = {
                "matchConstraints": {"resourceRules": rules},
                "matchConditions": self._here(refusal),
                "validations": [{"expression": "false", "message": _MESSAGES[refusal.by]}],
            }
            await self.client.create(_POLICIES, self._named(_POLICIES, {"spec": spec}))
            bound = {"policyName": self.namespace, "validationActions": ["Deny"]}
            await self.client.create(_BINDINGS, self._named(_BINDINGS, {"spec": bound}))
        else:
            hook = {
                "name": f"{self.namespace}.example.com",
                "clientConfig": self._webhook() if refusal.by == "webhook" else {"url": _NOBODY},
                "rules": rules,
                "matchConditions": self._here(refusal),
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "timeoutSeconds": 2 if refusal.by == "away" else REVIEW_SECONDS,
            }
            await self.client.create(
                VALIDATING_WEBHOOKS, self._named(VALIDATING_WEBHOOKS, {"webhooks": [hook]})
            )
        await self.until(self._is_refused, "the API server refuses", 30.0)

    def _webhook(self) -> Obj:
        """One that refuses whatever it is asked, served from here."""
        server = self._undo.enter_context(serving(OtherWebhook()))
        server.refuses = True
        return {"url": f"{server.url}/", "caBundle": base64.b64encode(server.authority.pem).decode()}

    def _here(self, refusal: Refusal) -> list[Obj]:
        """What is refused: of this namespace or drain, and ConfigMaps, to see that it takes effect."""
        namespaced = f"request.namespace == '{self.namespace}'"
        cause = {
            (
                NODES,
                "",
            ): f"object.metadata.?annotations[?'{CLAIMS}'].orValue('').contains('{self.drain_name}')",
            (NODES, "status"): f"request.userInfo.username == '{_MANAGERS[self._cluster.sort][0]}'",
            (NODEMAINTENANCES, refusal.subresource): f"request.name == '{self.drain_name}'",
        }.get((refusal.kind, refusal.subresource), namespaced)
        probe = "request.resource.resource == 'configmaps'"
        return [{"name": "here", "expression": f"{probe} ? {namespaced} : {cause}"}]

    async def _take_right(self, refusal: Refusal) -> None:
        """From the role of the manager, for the whole cluster."""
        user, role = _MANAGERS[self._cluster.sort]
        verb = {"POST": "create", "PATCH": "patch", "DELETE": "delete"}[refusal.method]
        resource = "/".join(filter(None, (refusal.kind.plural, refusal.subresource)))
        self._rules = (await self.client.get(CLUSTERROLES, role))["rules"]
        left = [part for one in self._rules for part in _less(one, refusal.kind.group, resource, verb)]
        await self.client.patch(CLUSTERROLES, role, {"rules": left})
        asked = {
            "group": refusal.kind.group,
            "resource": refusal.kind.plural,
            "subresource": refusal.subresource,
            "verb": verb,
            "namespace": self.namespace if refusal.kind.namespaced else "",
        }
        body = {
            "apiVersion": SUBJECTACCESSREVIEWS.api_version,
            "kind": SUBJECTACCESSREVIEWS.kind,
            "spec": {"user": user, "resourceAttributes": asked},
        }

        async def gone() -> bool | None:
            return not (await self.client.create(SUBJECTACCESSREVIEWS, body))["status"]["allowed"] or None

        await self.until(gone, "the right is gone", 30.0)

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
        if self._rules:
            await self.client.patch(CLUSTERROLES, _MANAGERS[self._cluster.sort][1], {"rules": self._rules})
            self._rules = []
        elif "room" in self._away:
            await self.client.delete_collection(CONFIGMAPS, self.namespace)
        else:
            for kind in (_BINDINGS, _POLICIES, VALIDATING_WEBHOOKS):
                await self.delete(kind, self.namespace)
            await self.delete(_QUOTAS, "tight")


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
                if case.limits != Limits():
                    await place.stop("unlimited manager")
                await run_case(place, case)
        except (VacateError, AssertionError, KeyError) as error:
            failed[case.name] = f"{type(error).__name__}: {error}"

    try:
        chosen = [
            one
            for one in CASES
            if cluster.sort in one.places
            and EVICTION_REQUEST in one.request_kinds
            and (not names or one.name in names)
        ]
        await asyncio.gather(*(run(one) for one in chosen if cluster.sort not in one.alone))
        for one in chosen:
            if cluster.sort in one.alone:
                await run(one)
    finally:
        await client.aclose()
    return failed
