"""What an account is held to holds however a write is sent: each verb, subresource, form, version, dry run.

The policies and roles are those of an installation, about accounts in a namespace of the case.
"""

from __future__ import annotations

import asyncio
import copy
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from support.arms.arm import MERGE_PATCH, Answer, As, Obj
from support.arms.caseapi import CaseApi
from support.arms.kinds import MINIMAL
from support.arms.kube import REAL
from support.arms.marks import CONFORMANCE, without
from support.oddversions import OK, answers_to, code_of
from support.oddversions import WRITES as HOWS
from support.waiting import LIMIT
from vacate.api.identity import MASTERS, NODE_NAME_EXTRA, service_account_user
from vacate.api.installednames import MANAGER, SHUTDOWN_AGENT, WEBHOOK
from vacate.api.kinds import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    EVENTS,
    NODES,
    PODS,
    SUBJECTACCESSREVIEWS,
    Kind,
)
from vacate.api.kinds import VALIDATINGADMISSIONPOLICIES as POLICIES
from vacate.api.kinds import VALIDATINGADMISSIONPOLICYBINDINGS as BINDINGS
from vacate.install import Settings, objects
from vacate.install.manifests.confinement import WRITES, Write
from vacate.install.manifests.ownevents import COMPONENTS
from vacate.install.manifests.policyobjects import by_user
from vacate.install.settings import ShutdownAgent

pytestmark = [CONFORMANCE, without("kubectl", because="kubectl sends versions and forms of its own")]

ACCOUNTS = (MANAGER, WEBHOOK, SHUTDOWN_AGENT)
FORGED = "vacate.dev/forged"
"""An annotation that no account writes."""


@dataclass
class Held:
    """An account of the case, with its role and its policies, and one object of each kind that it writes."""

    api: CaseApi
    account: str
    user: str
    rules: Sequence[Obj]
    names: Mapping[Kind, str]

    @property
    def writes(self) -> list[Write]:
        """Of the kinds that every API server has."""
        return [one for one in WRITES if one.account == self.account and one.kind in self.names]

    @property
    def by(self) -> dict[str, Any]:
        """In its name, with every right, so that only policies refuse; and on the node that its pod is on."""
        node = {f"Impersonate-Extra-{NODE_NAME_EXTRA.replace('/', '%2f')}": self.names[NODES]}
        return {"as_user": As(self.user, (MASTERS,)), "headers": node}

    def path(self, one: Write) -> str:
        return self.api.at(one.kind, self.names[one.kind], one.subresource)

    async def read(self, one: Write) -> Obj:
        return (await self.api.arm.call("GET", self.path(one))).ok()

    async def merge(self, one: Write, change: Obj) -> Answer:
        """Tried: nothing is kept."""
        options = {"content_type": MERGE_PATCH, "query": {"dryRun": "All"}, **self.by}
        return await self.api.arm.call("PATCH", self.path(one), body=change, **options)


async def held(api: CaseApi, account: str) -> Held:
    settings = Settings(
        namespace=api.namespace,
        eviction_bridge=True,
        termination_reasons=True,
        shutdown_agent=ShutdownAgent(namespace=api.namespace),
    )
    user, names = service_account_user(api.namespace, account), {}
    kinds = {one.kind for one in WRITES if one.account == account and one.kind in MINIMAL}
    for kind in sorted({NODES, *kinds}, key=lambda kind: kind is not NODES):  # the pod is on that node
        name = names[kind] = api.unique(kind.singular)
        obj = MINIMAL[kind](name)
        if kind is PODS:
            obj["spec"]["nodeName"] = names[NODES]
        if kind is EVENTS:  # of its own, about its node
            about = {"kind": NODES.kind, "name": names[NODES], "namespace": api.namespace}
            obj |= {"source": {"component": COMPONENTS[account][0]}, "involvedObject": about}
        await api.given(kind, obj)
    made = {(one["kind"], one["metadata"]["name"]): one for one in objects(settings)}
    for (kind_name, name), policy in made.items():
        if kind_name != POLICIES.kind or by_user(user) not in policy["spec"].get("matchConditions", ()):
            continue
        binding = copy.deepcopy(made[BINDINGS.kind, name])
        binding["metadata"]["name"] = binding["spec"]["policyName"] = api.unique(name)
        await api.given(POLICIES, {**policy, "metadata": {"name": api.unique(name)}})
        await api.given(BINDINGS, binding)
    found = Held(api, account, user, made[CLUSTERROLES.kind, account]["rules"], names)
    for one in found.writes:
        await _until(partial(_refuses, found, one))
    return found


async def _refuses(found: Held, one: Write) -> bool:
    return (await found.merge(one, {"metadata": {"annotations": {FORGED: "x"}}})).failed


async def _until(ask: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(LIMIT):
        while not await ask():  # noqa: ASYNC110  only asking again shows what another process does
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("account", ACCOUNTS)
async def test_no_way_to_write_and_no_version_passes(api: CaseApi, account: str) -> None:
    found, wrong = await held(api, account), {}
    hows = [*HOWS, "strategic", *(["apply"] if api.arm.name == REAL else [])]
    for one, how in itertools.product(found.writes, hows):
        read = await found.read(one)
        forged = {"annotations": {**read["metadata"].get("annotations", {}), FORGED: "x"}}
        answers = await answers_to(api.arm, found.path(one), how, read, {"metadata": forged}, **found.by)
        for version, answer in answers.items():
            code = code_of(version, how, unconditional=True)
            expected = 403 if code == OK else code
            if answer.code != expected:
                wrong[one.name, how, version] = (answer.code, expected, answer.message)
    assert wrong == {}


FORMS = ("application/yaml", "application/cbor", "application/vnd.kubernetes.protobuf", "text/plain", "")


@pytest.mark.parametrize("account", ACCOUNTS)
async def test_no_form_of_a_body_passes(api: CaseApi, account: str) -> None:
    """JSON is YAML, which real servers read; whatever is none of a form is refused as such."""
    found = await held(api, account)
    for one, form in itertools.product(found.writes, FORMS):
        read = await found.read(one)
        forged = {**read["metadata"].get("annotations", {}), FORGED: "x"}
        body = {**read, "metadata": {**read["metadata"], "annotations": forged}}
        answer = await api.arm.call("PUT", found.path(one), body=body, content_type=form, **found.by)
        assert answer.code in (
            (403,) if form == "application/yaml" and api.arm.name == REAL else (400, 403, 415)
        )
        assert FORGED not in (await found.read(one))["metadata"].get("annotations", {}), (one.name, form)


async def permitted(found: Held, one: Write) -> Obj:
    """Something that the account writes."""
    if one.annotations:
        return {"metadata": {"annotations": {one.annotations[0]: "1"}}}
    if one.top:
        return {one.top[0]: 2}
    assert one.items is not None, one.name
    part = "status" if one.subresource else "spec"
    there = (await found.read(one)).get(part, {}).get(one.items.field, [])
    own = {one.items.key: one.items.names[0], "status": "True", "effect": "NoSchedule"}
    own.pop("effect" if one.subresource else "status")
    return {part: {one.items.field: [*there, own]}}


@pytest.mark.parametrize("account", ACCOUNTS)
async def test_what_the_account_writes_passes(api: CaseApi, account: str) -> None:
    found = await held(api, account)
    for one in found.writes:
        if one.annotations or one.top or one.items is not None:
            (await found.merge(one, await permitted(found, one))).ok()


def _new_labels(account: str, kind: Kind) -> dict[str, int]:
    """What is answered where one is new. Pods select nodes, mostly by labels without a prefix."""
    prefixed = account != SHUTDOWN_AGENT or kind is EVENTS
    bare = account == MANAGER and kind not in (NODES, EVENTS)
    passing = {"example.com/team": prefixed, "team": bare, "app.kubernetes.io/name": False}
    passing["cluster.x-k8s.io/name"] = False
    return {label: OK if passes else 403 for label, passes in passing.items()}


@pytest.mark.parametrize("account", ACCOUNTS)
async def test_new_labels_of_others_pass_where_other_plugins_may_add_them(api: CaseApi, account: str) -> None:
    """Policies cannot tell who has added them: Services may select pods by those that pass."""
    found = await held(api, account)
    for one in found.writes:
        wanted = _new_labels(account, one.kind)
        codes = {label: (await found.merge(one, labelled(label))).code for label in wanted}
        assert codes == wanted, one.name


def labelled(label: str) -> Obj:
    return {"metadata": {"labels": {label: "x"}}}


VERBS = {
    "create": ("POST", False),
    "update": ("PUT", True),
    "patch": ("PATCH", True),
    "delete": ("DELETE", True),
    "deletecollection": ("DELETE", False),
}
"""How each verb is sent, and whether to an object by its name."""
SUBRESOURCES = {
    "": tuple(VERBS),
    "status": ("update", "patch"),
    "scale": ("update", "patch"),
    "eviction": ("create",),
    "binding": ("create",),
    "ephemeralcontainers": ("update", "patch"),
    "resize": ("update", "patch"),
}


def granted(rules: Sequence[Obj], verb: str, kind: Kind, sub: str) -> bool:
    resource = f"{kind.plural}/{sub}" if sub else kind.plural
    return any(
        kind.group in rule["apiGroups"] and resource in rule["resources"] and verb in rule["verbs"]
        for rule in rules
        if "resourceNames" not in rule
    )


@pytest.mark.parametrize("account", ACCOUNTS)
async def test_what_no_policy_is_about_no_role_gives(api: CaseApi, account: str) -> None:
    """Every verb of every subresource: it is refused for want of a right, or a policy is asked about it."""
    found = await held(api, account)
    role = api.unique(account)
    subject = {"kind": "ServiceAccount", "namespace": api.namespace, "name": account}
    api_group = "rbac.authorization.k8s.io"
    await api.given(CLUSTERROLES, {"metadata": {"name": role}, "rules": list(found.rules)})
    await api.given(
        CLUSTERROLEBINDINGS,
        {
            "metadata": {"name": role},
            "roleRef": {"apiGroup": api_group, "kind": "ClusterRole", "name": role},
            "subjects": [subject],
        },
    )
    asked = {"verb": "get", "resource": "pods", "namespace": api.namespace, "name": found.names[PODS]}
    review = {"spec": {"user": found.user, "resourceAttributes": asked}}

    async def in_force() -> bool:
        answer = await api.arm.call("POST", SUBJECTACCESSREVIEWS.collection_path(), body=review)
        return bool(answer.ok(201)["status"]["allowed"])

    await _until(in_force)
    for kind, (sub, verbs) in itertools.product(found.names, SUBRESOURCES.items()):
        served = kind.subresource(sub) is not None if sub else True
        for verb in verbs if served else ():
            method, by_name = VERBS[verb]
            path = api.at(kind, found.names[kind] if by_name or sub else "", sub)
            body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "x"}}
            answer = await api.arm.call(
                method,
                path,
                body=None if method == "DELETE" else body,
                content_type=MERGE_PATCH if method == "PATCH" else "application/json",
                query={"dryRun": "All"},
                **{**found.by, "as_user": As(found.user)},
            )
            refused = answer.failed and "cannot" in (answer.message or "") and answer.code == 403
            assert refused is not granted(found.rules, verb, kind, sub), (kind.plural, sub, verb, answer)
