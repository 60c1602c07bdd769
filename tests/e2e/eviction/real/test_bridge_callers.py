"""The bridge writes nothing for a caller who may not evict: whoever refuses, and when."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from multidict import CIMultiDict

from support.evictions.namespace import EvictionNamespace
from support.realcluster.evictions import RealCluster
from support.realcluster.otherwebhook import other_webhook
from support.realcluster.users import User, until_granted, user
from vacate.api.installednames import WEBHOOK
from vacate.api.kinds import (
    CLUSTERROLES,
    EVICTIONREQUESTS,
    ROLEBINDINGS,
    ROLES,
    Kind,
)
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.client import requests
from vacate.errors import ApiError, Forbidden, TooManyRequests

_POLICY = ("admissionregistration.k8s.io", "v1")
POLICIES = Kind(
    *_POLICY, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", "validatingadmissionpolicy",
    namespaced=False,
)  # fmt: skip
BINDINGS = Kind(
    *_POLICY, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings",
    "validatingadmissionpolicybinding", namespaced=False,
)  # fmt: skip
FLUSH = "flush.example.com"
NODE, USER = "system:node:fake-0", "kim@example.com"
EVICT = {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]}
DELETE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"]}
REQUEST = {"apiGroups": [EVICTIONREQUESTS.group], "resources": ["evictionrequests"], "verbs": ["create"]}


@dataclass(frozen=True)
class Caller:
    """Someone who evicts: an account with its token, or whomever an administrator acts as."""

    user: str
    place: EvictionNamespace
    account: User | None = None
    headers: tuple[tuple[str, str], ...] = ()

    async def evict(self, name: str) -> None:
        if self.account is not None:
            async with self.account.client() as client:
                await client.evict(name, self.place.namespace)
            return
        request = requests.evict(name, self.place.namespace)
        request.headers = CIMultiDict([*request.headers.items(), *self.headers])
        await self.place.client.send(request)

    async def answer(self, name: str) -> ApiError | None:
        """What the caller hears when it may not evict now."""
        try:
            await self.evict(name)
        except ApiError as error:
            return error
        return None


async def caller(place: EvictionNamespace, real: RealCluster, sort: str, *rules: Obj) -> Caller:
    """A caller of the eviction API with these rights in the namespace."""
    rights = rules or (EVICT,)
    if sort == "account":
        account = await user(place, real, "evictor", rules=rights)
        return Caller(account.user, place, account)
    name = NODE if sort == "node" else USER
    await place.client.create(ROLES, {"metadata": {"name": sort}, "rules": [*rights]}, place.namespace)
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": sort}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}
    binding = {"metadata": {"name": sort}, "roleRef": role, "subjects": [subject]}
    await place.client.create(ROLEBINDINGS, binding, place.namespace)
    await asyncio.to_thread(until_granted, real.admin, name, rights, place.namespace)
    groups = ("system:nodes",) if sort == "node" else ("ops", "dev")
    more = (
        () if sort == "node" else (("Impersonate-Extra-example.com%2fteam", "a b"), ("Impersonate-Uid", "7"))
    )
    headers = (("Impersonate-User", name), *(("Impersonate-Group", one) for one in groups), *more)
    return Caller(name, place, headers=headers)


async def waits(place: EvictionNamespace, who: Caller, pod: Obj) -> None:
    """The eviction is requested in the caller's name, perhaps after the answer to an earlier attempt."""

    async def requested() -> tuple[ApiError, EvictionRequest] | None:
        """Callers try again: on a busy machine the first answers may be that nothing is known yet."""
        heard = await who.answer(pod["metadata"]["name"])
        assert heard is not None
        made = await place.requests()
        return (heard, made[0]) if made and heard.has_cause("EvictionRequest") else None

    heard, request = await place.until(requested, "the caller waits for the request")
    assert isinstance(heard, TooManyRequests)
    assert len(request.spec.requesters) == 1


async def is_refused(place: EvictionNamespace, who: Caller, pod: Obj, why: str) -> None:
    """The caller hears why, perhaps after another attempt, and nothing is written for it."""

    async def refused() -> ApiError | None:
        heard = await who.answer(pod["metadata"]["name"])
        assert heard is not None
        return heard if isinstance(heard, Forbidden) else None

    assert why in (await place.until(refused, "it is refused")).message
    assert await place.requests() == []
    await place.stays(pod)


@pytest.mark.parametrize("sort", ["user", "account", "node"])
async def test_what_another_webhook_refuses_is_not_requested(
    real: RealCluster, place: EvictionNamespace, sort: str
) -> None:
    pod = await place.pod("db-0", FLUSH)
    who = await caller(place, real, sort)
    async with other_webhook(place) as other:
        other.refuses = True
        await is_refused(place, who, pod, "not on Fridays")

        async def asked_in_a_dry_run() -> list[Obj]:
            """On a busy machine the other's refusal of the caller may come first, and alone."""
            await who.answer(pod["metadata"]["name"])
            return [one["userInfo"] for one in other.asked if one.get("dryRun")]

        asked = await place.until(asked_in_a_dry_run, "the other webhook is asked in the caller's name")
        assert {one["username"] for one in asked} == {who.user}
        other.refuses = False
        await waits(place, who, pod)
        assert {one["userInfo"]["username"] for one in other.asked if one.get("dryRun")} == {who.user}
        if sort == "user":
            sent = next(one["userInfo"] for one in other.asked if not one.get("dryRun"))
            assert sent["extra"] == {"example.com/team": ["a b"]}
            assert [asked[-1][key] for key in ("uid", "groups", "extra")] == [
                sent[key] for key in ("uid", "groups", "extra")
            ]
        other.asked.clear()
        await waits(place, who, pod)
        assert not [one for one in other.asked if one.get("dryRun")]  # once for a pod and a caller


@pytest.mark.parametrize("seconds", [1.0, 3.0])
async def test_a_webhook_that_refuses_slowly_is_heard(
    real: RealCluster, place: EvictionNamespace, seconds: float
) -> None:
    """Whoever denies first is what the caller hears: the other's refusal came too late for ever."""
    pod = await place.pod("db-0", FLUSH)
    who = await caller(place, real, "user")
    async with other_webhook(place) as other:
        other.refuses, other.seconds = True, seconds
        await is_refused(place, who, pod, "not on Fridays")
        other.refuses = False

        async def requested() -> bool:
            heard = await who.answer(pod["metadata"]["name"])
            assert isinstance(heard, TooManyRequests | Forbidden), heard  # perhaps of an earlier attempt
            return heard.has_cause("EvictionRequest") and bool(await place.requests())

        await place.until(requested, "a slow webhook that allows it delays the request only")


async def test_policies_and_roles_refuse_before(real: RealCluster, place: EvictionNamespace) -> None:
    pod = await place.pod("db-0", FLUSH)
    stranger = await caller(place, real, "account", DELETE)
    await is_refused(place, stranger, pod, 'cannot create resource "pods/eviction"')
    who = await caller(place, real, "user")
    async with refusing_policy(place):

        async def refused() -> bool:
            return isinstance(await who.answer("no-such-pod"), Forbidden)

        await place.until(refused, "the policy holds")
        await is_refused(place, who, pod, "no evictions here")
    await waits(
        place, Caller("admin", place), pod
    )  # of an administrator of everything, for whom nobody may act


async def test_a_spent_budget_is_what_the_request_waits_for(
    real: RealCluster, place: EvictionNamespace
) -> None:
    pod = await place.pod("db-0", FLUSH, labels={"app": "db"})
    await place.budget("db", minAvailable=1)
    await waits(place, await caller(place, real, "user"), pod)


async def test_on_servers_without_constrained_impersonation_callers_need_rights_of_their_own(
    real: RealCluster, place: EvictionNamespace
) -> None:
    first, second = await place.pod("db-0", FLUSH), await place.pod("db-1", FLUSH)
    plain, able = (
        await caller(place, real, "account"),
        await caller(place, real, "user", EVICT, DELETE, REQUEST),
    )
    role = await place.client.get(CLUSTERROLES, WEBHOOK)
    kept = [one for one in role["rules"] if not any("impersonate" in verb for verb in one["verbs"])]
    assert len(kept) == len(role["rules"]) - 2
    await restarted(real, place, kept)
    try:
        await is_refused(place, plain, first, "--bridge-unverified-callers=request")
        await waits(place, able, second)
        await restarted(real, place, kept, "--bridge-unverified-callers", "request")
        await waits(place, plain, first)
    finally:
        await restarted(real, place, role["rules"])


async def restarted(real: RealCluster, place: EvictionNamespace, rules: list[Obj], *options: str) -> None:
    """A webhook with these rights, which remembers nothing."""
    await place.client.patch(CLUSTERROLES, WEBHOOK, {"rules": rules})
    assert real.webhook.stop() == 0, real.webhook.output
    real.start_webhook(*options)


@contextlib.asynccontextmanager
async def refusing_policy(place: EvictionNamespace) -> AsyncIterator[None]:
    rule: dict[str, Any] = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    spec = {
        "matchConstraints": {"resourceRules": [{**rule, "resources": ["pods/eviction"]}]},
        "matchConditions": [{"name": "here", "expression": f"request.namespace == '{place.namespace}'"}],
        "validations": [
            {
                "expression": "'system:masters' in request.userInfo.groups",
                "message": "no evictions here",
                "reason": "Forbidden",
            }
        ],
    }
    name = {"metadata": {"name": f"none.{place.namespace}"}}
    bound = {"policyName": name["metadata"]["name"], "validationActions": ["Deny"]}
    await place.client.create(POLICIES, {**name, "spec": spec})
    await place.client.create(BINDINGS, {**name, "spec": bound})
    try:
        yield
    finally:
        for kind in (BINDINGS, POLICIES):
            await place.client.delete(kind, name["metadata"]["name"])
