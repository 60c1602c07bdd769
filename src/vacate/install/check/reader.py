"""Reads what an installation consists of, and asks the API server what it would answer.

Nothing is written: whether the webhook is asked is tried with a dry run that it refuses.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable
from typing import TypeVar

from vacate.api.installednames import (
    DEFAULT_NAMESPACE,
    EMBEDDED_BUILD,
    MANAGER,
    MUTATING,
    PART_OF,
    VALIDATING,
)
from vacate.api.kinds import (
    CLUSTERROLEBINDINGS,
    DAEMONSETS,
    DEPLOYMENTS,
    EVENTS,
    EVICTIONREQUESTS,
    LEASES,
    NODEMAINTENANCES,
    NODES,
    PODS,
    Kind,
)
from vacate.api.objects import Obj, dig, name_of, namespace_of
from vacate.api.options import ListOptions
from vacate.api.types import Lease, Node
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.client.client import Client
from vacate.client.serverclock import ServerClock
from vacate.clock import Clock
from vacate.crds.catalogue import DECLARATIONS
from vacate.crds.definition import definitions
from vacate.errors import ApiError, Forbidden, NotFound
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.install.apply.inventory import Inventory, line_of, object_of
from vacate.install.apply.preflight import OLDEST_MINOR
from vacate.install.apply.pruner import why_kept
from vacate.install.apply.readiness import daemons_left, reason_of, rollout_left
from vacate.install.apply.requests import existing, read
from vacate.install.check import findings as find
from vacate.install.check.findings import Finding, State
from vacate.install.check.rights import RightsCheck, together
from vacate.install.check.shown import install_again, shown_settings
from vacate.install.manifests.policies import policies
from vacate.install.manifests.roles import roles
from vacate.install.objectkinds import (
    DEFINITIONS,
    kind_of,
    shown,
)
from vacate.install.objects import everything
from vacate.install.settings import Settings
from vacate.runtime.managerlease import manager_leases
from vacate.views.managerhealth import manager_health, unattended_maintenance, unattended_request
from vacate.views.model import Remedy
from vacate.views.phrases import command_line, counted
from vacate.webhook.kinds import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS

T = TypeVar("T")
_SIDE_BY_SIDE = 8
_NODE_LEASES = "kube-node-lease"
_OURS = ListOptions(label_selector=",".join(f"{key}={value}" for key, value in PART_OF.items()))
_CONFIGURATIONS = ((MUTATING_WEBHOOKS, MUTATING), (VALIDATING_WEBHOOKS, VALIDATING))
_PROBE: Obj = {
    "metadata": {"name": "00000000-0000-0000-0000-000000000000"},
    "spec": {
        "target": {"podRef": {"name": "no-such-pod", "uid": "00000000-0000-0000-0000-000000000000"}},
        "requesters": [{"name": "check.cli.vacate.dev"}],
    },
}
"""A request for a pod that cannot exist: the webhook refuses it, and nothing else does before."""


class InstallationCheck:
    """One look at a cluster and at what is installed in it."""

    def __init__(self, client: Client, clock: Clock, namespace: str, program: str) -> None:
        """`namespace` is the caller's, in which it is asked what the caller may do."""
        self._client = client
        self._clock = clock
        self._namespace = namespace
        self._program = program
        self._room = asyncio.Semaphore(_SIDE_BY_SIDE)
        self._rights = RightsCheck(client, namespace, self._room)
        self._settings = Settings()
        self._again = install_again(self._settings, program)
        self._configurations: list[Obj] = []
        self._leases: list[Lease] | None = None
        self._release = ""

    async def findings(self) -> list[Finding]:
        """All of it, a line for each part."""
        first = await self._begin()
        if self._embedded:
            return [*first, *await self._all(("definitions", self._served), *self._common)]
        if await self._absent():
            missing = Finding(
                "installation", State.FAILED, "Vacate is not installed in this cluster",
                (
                    Remedy("Install it", f"{self._program} install --image IMAGE --wait"),
                    Remedy("Or plan a drain, which needs nothing installed", f"{self._program} plan NODE"),
                ),
            )  # fmt: skip
            rest = (("you", self._rights.caller), ("clocks", self._clocks), ("leftovers", self._leftovers))
            return [*first, missing, *await self._all(*rest)]
        return [
            *first,
            *await self._all(
                ("definitions", self._defined), ("objects", self._objects), ("processes", self._processes),
                ("webhook", self._webhook), ("webhook CA", self._authority),
                ("failure policies", self._failure_policies), ("accounts", self._accounts), *self._common,
                ("leftovers", self._leftovers),
            ),
        ]  # fmt: skip

    async def causes(self) -> list[Finding]:
        """Only what fails of that which keeps Vacate from doing anything; for commands that wait in vain."""
        await self._begin()
        found = await self._all(
            ("definitions", self._defined), ("processes", self._processes), ("webhook", self._webhook),
            ("accounts", self._accounts),
        )  # fmt: skip
        return [one for one in found if one.state is State.FAILED]

    @property
    def _embedded(self) -> bool:
        return self._release.endswith(EMBEDDED_BUILD)

    @property
    def _common(self) -> tuple[tuple[str, Callable[[], Awaitable[Finding]]], ...]:
        return ("manager", self._manager), ("you", self._rights.caller), ("clocks", self._clocks)

    async def _begin(self) -> list[Finding]:
        version = await read(self._client, "/version")
        self._release = str(version.get("gitVersion", ""))
        minor = "".join(one for one in str(version.get("minor", "")) if one.isdigit())
        self._leases = await manager_leases(self._client)
        self._configurations = [one for kind, name in _CONFIGURATIONS if (one := await self._get(kind, name))]
        namespace = await self._home()
        deployments = await self._list(DEPLOYMENTS, namespace, _OURS)
        by_name = {name_of(one): one for one in self._configurations}
        self._settings = shown_settings(
            namespace, by_name.get(MUTATING), by_name.get(VALIDATING), deployments
        )
        self._again = install_again(self._settings, self._program, kept=await self._keeps_options())
        if minor and int(minor) < OLDEST_MINOR and not self._embedded:
            text = f"Kubernetes {self._release} is too old; Vacate needs 1.{OLDEST_MINOR} or newer"
            remedy = Remedy(f"Upgrade the cluster to 1.{OLDEST_MINOR} or newer")
            return [Finding("versions", State.FAILED, text, (remedy,))]
        return [find.versions(self._release, self._leases, self._again)]

    async def _home(self) -> str:
        """The namespace of the installation, as its own objects show it."""
        for one in self._configurations:
            for hook in one.get("webhooks") or []:
                if found := dig(hook, "clientConfig", "service", "namespace"):
                    return str(found)
        binding = await self._get(CLUSTERROLEBINDINGS, MANAGER)
        named = [
            str(one.get("namespace")) for one in dig(binding or {}, "subjects") or [] if one.get("namespace")
        ]
        leases = [one.metadata.namespace for one in self._leases or ()]
        return next(iter([*named, *leases]), DEFAULT_NAMESPACE)

    async def _absent(self) -> bool:
        """Also where the definitions have stayed when all else was removed, as Helm leaves them."""
        if self._configurations or any(one.spec.holder_identity for one in self._leases or ()):
            return False
        unserved = [one for one in DECLARATIONS if not await self._client.serves(one.kind)]
        if len(unserved) == len(DECLARATIONS):
            return True
        there = await together(map(self._there, await self._expected()))
        return all(one is False for one in there)

    async def _all(self, *checks: tuple[str, Callable[[], Awaitable[Finding]]]) -> list[Finding]:
        return await together(self._guarded(name, check) for name, check in checks)

    async def _guarded(self, name: str, check: Callable[[], Awaitable[Finding]]) -> Finding:
        """What the caller may not read is said, and so is what could not be found out."""
        try:
            return await check()
        except Forbidden as error:
            ask = Remedy("An administrator sees it with", f"{self._program} check")
            return Finding(name, State.UNSEEN, str(error), (ask,))
        except ApiError as error:
            return Finding(name, State.UNSEEN, f"the API server does not answer this: {error}")

    async def _served(self) -> Finding:
        names = [one.kind.resource for one in DECLARATIONS if not await self._client.serves(one.kind)]
        needed = [one.resource for one in (EVICTIONREQUESTS, NODEMAINTENANCES) if one.resource in names]
        if needed:
            text = f"this embedded cluster does not serve {find.some(needed)}"
            remedy = Remedy("Start it with the feature gates of these kinds", f"{self._program} up")
            return Finding("definitions", State.FAILED, text, (remedy,))
        rest = f"; not served, as their feature gates are closed: {find.some(names)}" if names else ""
        return Finding("definitions", State.OK, f"Vacate is part of this embedded cluster{rest}")

    async def _defined(self) -> Finding:
        served = {one.kind.resource: await self._client.serves(one.kind) for one in DECLARATIONS}
        unserved = [name for name, yes in served.items() if not yes]
        differing, seen = [], True
        for wanted in definitions(self._settings.allowed_interceptors):
            try:
                found = await self._client.get(DEFINITIONS, name_of(wanted))
            except NotFound:
                continue
            except Forbidden:
                seen = False
                break
            if find.differs(wanted["spec"], found["spec"]):
                differing.append(name_of(wanted))
        return find.definitions(unserved, differing, seen, self._again)

    async def _objects(self) -> Finding:
        expected = await self._expected()
        answers = await together(map(self._there, expected))
        missing = [shown(one) for one, there in zip(expected, answers, strict=True) if there is False]
        return find.objects_there(missing, len(expected), answers.count(None), self._again)

    async def _expected(self) -> list[Obj]:
        """What is noted as installed; beside it what every installation with these settings has."""
        noted = [obj for line in await self._noted() if (obj := object_of(line)) is not None]
        made = [*roles(self._settings), *policies(self._settings)]
        return list({line_of(one): one for one in [*noted, *made]}.values())

    async def _noted(self) -> list[str]:
        try:
            return await Inventory(self._client, self._settings.namespace).lines()
        except Forbidden:
            return []

    async def _keeps_options(self) -> bool:
        try:
            return bool(await Inventory(self._client, self._settings.namespace).options())
        except ApiError:
            return False

    async def _there(self, obj: Obj) -> bool | None:
        async with self._room:
            try:
                return await existing(self._client, obj) is not None
            except Forbidden:
                return None

    async def _processes(self) -> Finding:
        namespace = self._settings.namespace
        found = list((await self._client.list(DEPLOYMENTS, namespace, _OURS)).items)
        daemons = await self._list(DAEMONSETS, "", _OURS)
        pods = await self._list(PODS, namespace, _OURS)
        events = await self._list(EVENTS, namespace)
        wrong, remedies = [], list[Remedy]()
        for one in found:
            name = name_of(one)
            if dig(one, "spec", "replicas") == 0:
                wrong.append(f"deployment/{name} is scaled to 0")
                scale = command_line(
                    "kubectl", "-n", namespace, "scale", f"deployment/{name}", "--replicas=2"
                )
                remedies.append(Remedy("Start it", scale))
            elif left := rollout_left(one):
                wrong.append(
                    ": ".join(filter(None, (f"deployment/{name}", left, reason_of(one, pods, events))))
                )
                remedies.append(_describe(namespace, one))
        for one in daemons:
            if left := daemons_left(one):
                wrong.append(f"daemonset/{name_of(one)}: {left}")
                remedies.append(_describe(namespace_of(one), one))
        if wrong:
            return Finding("processes", State.FAILED, "; ".join(wrong), tuple(remedies))
        total = counted(len(found) + len(daemons), "Deployment or DaemonSet", "Deployments and DaemonSets")
        text = f"all copies of {total} are available" if found or daemons else "none runs inside the cluster"
        return Finding("processes", State.OK, text)

    async def _manager(self) -> Finding:
        requests = [
            EVICTION_REQUEST.read(one) for one in await self._typed(EVICTIONREQUESTS, EVICTION_REQUEST.wire)
        ]
        drains = await self._typed(NODEMAINTENANCES, NodeMaintenance)
        late = unattended_maintenance(*drains) or unattended_request(requests)
        now = self._clock.now()
        health = manager_health(self._leases, now, late, embedded=self._embedded, program=self._program)
        return find.manager(health, self._leases, now)

    async def _webhook(self) -> Finding:
        if len(self._configurations) < len(_CONFIGURATIONS):
            for kind, name in _CONFIGURATIONS:
                try:
                    await self._client.get(kind, name)
                except NotFound:
                    text = f"{kind.singular}/{name} is not there: nothing is sent to the webhook"
                    return Finding("webhook", State.FAILED, text, (self._again,))
        began = self._clock.monotonic()
        try:
            await self._client.create(EVICTIONREQUESTS, _PROBE, self._namespace, dry_run=True)
            answer = "a request that it refuses was accepted"
        except NotFound:
            raise
        except ApiError as error:
            if isinstance(error, Forbidden) and " cannot create resource " in error.message:
                raise
            answer = error.message
        return find.webhook_answer(answer, self._clock.monotonic() - began, self._settings, self._again)

    async def _authority(self) -> Finding:
        found = [await self._client.get(kind, name) for kind, name in _CONFIGURATIONS]
        return find.authority(found, self._settings, self._clock.now())

    async def _failure_policies(self) -> Finding:
        found = [await self._client.get(kind, name) for kind, name in _CONFIGURATIONS]
        return find.failure_policies(found, self._settings, self._again)

    async def _accounts(self) -> Finding:
        return await self._rights.accounts(self._settings, self._again)

    async def _clocks(self) -> Finding:
        nodes = await self._typed(NODES, Node)
        leases = {one.metadata.name: one for one in await self._typed(LEASES, Lease, _NODE_LEASES)}
        offset = self._clock.offset if isinstance(self._clock, ServerClock) else dt.timedelta()
        pairs = [(node, leases.get(node.metadata.name)) for node in nodes]
        return find.clocks(offset, [one for one in pairs if one[1]], self._clock.now())

    async def _leftovers(self) -> Finding:
        namespace = self._settings.namespace
        noted = set(await self._noted())
        wanted = {line_of(one) for one in await self._expected()} if self._configurations else set()
        candidates = [one for one in everything(namespace) if line_of(one) not in noted | wanted]
        found = [one for one in await together(map(self._leftover, candidates)) if one is not None]
        installed = bool(noted) or bool(self._configurations)
        if installed:
            left = [shown(one) for one in found if noted and not why_kept(one)]
            text = f"of an earlier installation, and not of this one: {find.some(left)}"
            remedy = self._again
        else:
            left = [shown(one) for one in found]
            text = f"of an installation that was removed: {find.some(left)}"
            kept = any(kind_of(one) == DEFINITIONS for one in found)
            words = ["uninstall", *(["-n", namespace] if namespace != DEFAULT_NAMESPACE else [])]
            remedy = Remedy(
                "Remove them" + (", and all requests and drains with them" if kept else ""),
                command_line(self._program, *words, *(["--crds"] if kept else [])),
            )
        if left:
            return Finding("leftovers", State.WARNING, text, (remedy,))
        return Finding("leftovers", State.OK, "none")

    async def _leftover(self, obj: Obj) -> Obj | None:
        async with self._room:
            found = await existing(self._client, obj)
        if found is None:
            return None
        return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], **found}

    async def _get(self, kind: Kind, name: str, namespace: str = "") -> Obj | None:
        """The object; None also for those who may not read it."""
        try:
            return await self._client.get(kind, name, namespace)
        except (NotFound, Forbidden):
            return None

    async def _list(self, kind: Kind, namespace: str = "", options: ListOptions = ListOptions()) -> list[Obj]:
        """The objects; none for those who may not list them."""
        return await self._typed(kind, dict, namespace, options)

    async def _typed(
        self, kind: Kind, into: type[T], namespace: str = "", options: ListOptions = ListOptions()
    ) -> list[T]:
        try:
            return list((await self._client.list(kind, namespace, options, into=into)).items)
        except ApiError:
            return []


def _describe(namespace: str, workload: Obj) -> Remedy:
    labels = dig(workload, "spec", "selector", "matchLabels") or {}
    selector = ",".join(f"{key}={value}" for key, value in labels.items())
    command = command_line("kubectl", "-n", namespace, "describe", "pods", "-l", selector)
    return Remedy(f"See what its pods wait for: {name_of(workload)}", command)
