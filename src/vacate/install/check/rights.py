"""Asks the API server what the accounts of an installation may do, and what the caller may do."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from vacate.api.identity import service_account_groups, service_account_user
from vacate.api.installednames import (
    HOOKS,
    NODE_FENCER,
    NODE_MAINTAINER,
    SHUTDOWN_AGENT,
    VIEWER,
    WEB,
)
from vacate.api.kinds import (
    CLUSTERROLEBINDINGS,
    DAEMONSETS,
    DEPLOYMENTS,
    EVICTIONREQUESTS,
    NODEMAINTENANCES,
    NODES,
    PODS,
    ROLEBINDINGS,
    SUBJECTACCESSREVIEWS,
    Kind,
)
from vacate.api.objects import Obj, dig, name_of, namespace_of
from vacate.client.access import may, own_user
from vacate.client.client import Client
from vacate.errors import ApiError, Forbidden, NotFound, VacateError
from vacate.fencing.annotations import FENCE_VERB
from vacate.install.check import findings as find
from vacate.install.check.findings import Finding, Right
from vacate.install.manifests.hooks import hooks
from vacate.install.manifests.roles import roles
from vacate.install.manifests.shutdownagent import shutdown_agent
from vacate.install.manifests.web import web
from vacate.install.settings import DEFAULT_HOOKS, Settings, ShutdownAgent
from vacate.views.model import Remedy
from vacate.views.remedies import granting

T = TypeVar("T")


async def together(some: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """What they return, in their order; the first error, once none of them runs any more."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in some]
    except* VacateError as group_of_errors:
        found: BaseException = group_of_errors
        while isinstance(found, BaseExceptionGroup):
            found = found.exceptions[0]
        raise found from None
    return [task.result() for task in tasks]


class RightsCheck:
    """Questions about rights; as many at once as the room has places."""

    def __init__(self, client: Client, namespace: str, room: asyncio.Semaphore) -> None:
        self._client = client
        self._namespace = namespace
        self._room = room

    async def accounts(self, settings: Settings, again: Remedy) -> Finding:
        """Those of the installation: what they should be allowed, by the API server's own answers."""
        made = roles(settings)
        if await self._is_there(DEPLOYMENTS, HOOKS, settings.namespace):
            made += hooks(replace(settings, hooks=DEFAULT_HOOKS))
        if await self._is_there(DAEMONSETS, SHUTDOWN_AGENT, ShutdownAgent().namespace):
            made += shutdown_agent(replace(settings, shutdown_agent=ShutdownAgent()))
        if await self._is_there(DEPLOYMENTS, WEB, settings.namespace):
            made += web(settings)  # whose account must have none
        rights = find.wanted_rights(made)
        answers = await together(map(self._is_allowed, rights))
        lacking = [right for right, yes in zip(rights, answers, strict=True) if not yes]
        return find.accounts(len(rights), lacking, await self._surplus(made), again)

    async def _is_allowed(self, right: Right) -> bool:
        namespace, _, name = right.account.partition("/")
        spec = {"user": service_account_user(namespace, name), "resourceAttributes": right.attributes}
        groups = [*service_account_groups(namespace), "system:authenticated"]
        async with self._room:
            review = await self._client.create(SUBJECTACCESSREVIEWS, {"spec": {**spec, "groups": groups}})
        return bool(dig(review, "status", "allowed"))

    async def _surplus(self, made: Sequence[Obj]) -> list[Obj]:
        """Bindings of Vacate's accounts that no installation makes."""
        own = {(one["kind"], name_of(one), namespace_of(one) or "") for one in made}
        accounts = {(namespace_of(one), name_of(one)) for one in made if one["kind"] == "ServiceAccount"}
        found = []
        for kind in (CLUSTERROLEBINDINGS, ROLEBINDINGS):
            for one in (await self._client.list(kind)).items:
                subjects = {
                    (str(by.get("namespace")), str(by.get("name")))
                    for by in one.get("subjects") or []
                    if by.get("kind") == "ServiceAccount"
                }
                if subjects & accounts and (kind.kind, name_of(one), namespace_of(one) or "") not in own:
                    found.append({**one, "kind": kind.kind})
        return found

    async def caller(self) -> Finding:
        """What the one who asks may do in a namespace, and in the cluster."""
        try:
            user = await own_user(self._client)
        except ApiError:
            user = ""
        where = self._namespace
        evicts = f"evict pods in {where}"
        needs: dict[str, tuple[tuple[Kind, str, str], ...]] = {
            "look at evictions": ((EVICTIONREQUESTS, "list", where),),
            "look at drains": ((NODEMAINTENANCES, "list", ""),),
            evicts: ((EVICTIONREQUESTS, "create", where), (PODS, "delete", where)),
            "drain nodes": ((NODEMAINTENANCES, "create", ""), (NODES, "list", "")),
            "fence nodes": ((NODES, "patch", ""), (NODES, FENCE_VERB, "")),
        }
        allowed = {
            task: all([await may(self._client, *one) for one in needed]) for task, needed in needs.items()
        }
        looks = dict.fromkeys(("look at evictions", "look at drains"), VIEWER)
        to = {**looks, "drain nodes": NODE_MAINTAINER, "fence nodes": NODE_FENCER}
        grants = {task: granting(role, user) for task, role in to.items()}
        grants[evicts] = granting("edit", user, where)  # of which the role of requesters is a part
        return find.caller(user, allowed, grants)

    async def _is_there(self, kind: Kind, name: str, namespace: str) -> bool:
        try:
            await self._client.get(kind, name, namespace)
        except (NotFound, Forbidden):
            return False
        return True
