"""Users with the roles of an installation, and what they did by the word of the API server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from support.evictions.namespace import EvictionNamespace
from support.https import Https
from support.realcluster.audit import Call, calls
from support.realcluster.evictions import RealCluster
from support.waiting import until
from vacate.api.kinds import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    ROLEBINDINGS,
    ROLES,
    SERVICEACCOUNTS,
    SUBJECTACCESSREVIEWS,
)
from vacate.api.objects import Obj
from vacate.client.client import Client
from vacate.client.http import HttpTransport
from vacate.client.kubeconfig import load_cluster
from vacate.clock import SystemClock


@dataclass(frozen=True)
class User:
    """Someone with a token."""

    user: str
    kubeconfig: Path

    @contextlib.asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        client = Client(HttpTransport(load_cluster([self.kubeconfig]), SystemClock()))
        try:
            yield client
        finally:
            await client.aclose()


async def user(
    place: EvictionNamespace,
    real: RealCluster,
    name: str,
    *cluster_roles: str,
    rules: Iterable[Obj] = (),
    everywhere: bool = False,
) -> User:
    """Someone who has these roles, in this namespace or in all, and in this one these rights beside them."""
    await place.client.create(SERVICEACCOUNTS, {"metadata": {"name": name}}, place.namespace)
    own: Obj = {"metadata": {"name": name}, "rules": list(rules)}
    await place.client.create(ROLES, own, place.namespace)
    for kind, role in (("Role", name), *(("ClusterRole", one) for one in cluster_roles)):
        bound_in, where = (ROLEBINDINGS, place.namespace)
        if everywhere and kind == "ClusterRole":
            bound_in, where = (CLUSTERROLEBINDINGS, "")
        binding = {
            "metadata": {"name": f"{name}-{role}" if where else f"{place.namespace}-{name}-{role}"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": place.namespace}],
        }
        await place.client.create(bound_in, binding, where)
    account = f"system:serviceaccount:{place.namespace}:{name}"
    for bound in (own, *[await place.client.get(CLUSTERROLES, one) for one in cluster_roles]):
        await asyncio.to_thread(until_granted, real.admin, account, bound["rules"], place.namespace)
    return User(account, real.account(place.namespace, name))


@dataclass(frozen=True, order=True)
class Right:
    """One verb on one resource, as small as a role can say it."""

    resource: str
    verb: str
    group: str = ""
    name: str = ""  # of the only object that is meant

    def covers(self, call: Call) -> bool:
        same = (self.resource, self.verb, self.group) == (call.resource, call.verb, call.group)
        return same and self.name in ("", call.name)


def rights_of(rules: Iterable[Obj]) -> Iterator[Right]:
    """Every right of some rules, one by one."""
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    for name in rule.get("resourceNames", [""]):
                        yield Right(resource, verb, group, name)


def until_granted(admin: Https, user: str, rules: Iterable[Obj], namespace: str = "") -> None:
    """Wait until the API server goes by a new role and its binding; it reads them after they are written.

    One right is enough: a role takes effect as a whole.
    """
    right = next(rights_of(rules), None)
    if right is None:
        return
    resource, _, subresource = right.resource.partition("/")
    attributes = {"group": right.group, "resource": resource, "subresource": subresource}
    attributes |= {"verb": right.verb, "name": right.name, "namespace": namespace}
    review = {"spec": {"user": user, "resourceAttributes": attributes}}
    until(lambda: admin.create(SUBJECTACCESSREVIEWS.collection_path(), review)["status"]["allowed"])


def done_by(real: RealCluster, user: str) -> list[Call]:
    """What a user asked for."""
    return [call for call in calls(real.audit_log) if call.user == user]


def unused(rights: Iterable[Right], done: list[Call]) -> set[Right]:
    """Rights that nothing of what was done has needed."""
    answered = [call for call in done if call.code < 500]
    return {right for right in rights if not any(right.covers(call) for call in answered)}


def refused(done: list[Call]) -> set[tuple[str, str]]:
    """What a user tried and was never allowed to do; a new API server has yet to read its roles."""
    allowed = {(call.verb, call.resource) for call in done if not call.forbidden}
    return {(call.verb, call.resource) for call in done if call.forbidden} - allowed
