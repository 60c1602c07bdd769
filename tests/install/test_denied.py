"""What the roles of an installation do not allow, so that no policy has to refuse it to a stolen token."""

from __future__ import annotations

import pytest

from support.rbac import authorizer, bind
from vacate.api.identity import Access, User, service_account_user
from vacate.api.installednames import (
    CERTIFICATES,
    INTERCEPTOR,
    MANAGER,
    NODE_MAINTAINER,
    REQUESTER,
    SHUTDOWN_AGENT,
    TLS_SECRET,
    VALIDATING,
    WEBHOOK,
)
from vacate.install import Settings, objects
from vacate.install.settings import ShutdownAgent

pytestmark = pytest.mark.unit

SETTINGS = Settings(eviction_bridge=True, termination_reasons=True, shutdown_agent=ShutdownAgent())
HOME = SETTINGS.namespace
USERS = [bind(role, role) for role in (INTERCEPTOR, NODE_MAINTAINER, REQUESTER)]
RBAC = {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}
AUTHORIZER = authorizer(*USERS, *(one for one in objects(SETTINGS) if one["kind"] in RBAC))
EVICTION, EVACUATION = "evictionrequest.coordination.k8s.io", "evacuation.coordination.k8s.io"
HOOKS = [f"{kind}webhookconfigurations.admissionregistration.k8s.io" for kind in ("mutating", "validating")]
POLICIES = [f"validatingadmissionpolic{one}.admissionregistration.k8s.io" for one in ("ies", "ybindings")]
WRITES = ("create", "update", "patch", "delete", "deletecollection")
REQUESTS = [f"evictionrequests.{EVICTION}", f"evacuations.{EVACUATION}"]
STATUSES = [f"{one}/status" for one in REQUESTS]
SECRETS = ("get", "list", "watch"), ["secrets"]
TOKENS = ("create",), ["serviceaccounts/token"]
BINDINGS = [f"{one}.rbac.authorization.k8s.io" for one in ("clusterroles", "clusterrolebindings", "roles")]
RUNS = (
    ("create",),
    ["pods", "jobs.batch", *(f"{one}.apps" for one in ("deployments", "statefulsets", "daemonsets"))],
)
NEVER: dict[str, list[tuple[tuple[str, ...], list[str]]]] = {
    REQUESTER: [(WRITES, STATUSES), (("delete",), ["pods"])],
    INTERCEPTOR: [(WRITES, [*REQUESTS, "pods"]), SECRETS],
    NODE_MAINTAINER: [(WRITES, ["nodemaintenances.vacate.dev/status", "fencingpolicies.vacate.dev/status"])],
    MANAGER: [RUNS, SECRETS, TOKENS, (WRITES, [*BINDINGS, *HOOKS, *POLICIES]), (("fence",), ["nodes"])],
    WEBHOOK: [RUNS, SECRETS, TOKENS, (WRITES, [*BINDINGS, *HOOKS, *POLICIES, *STATUSES])],
    CERTIFICATES: [RUNS, SECRETS, TOKENS, (WRITES, [*BINDINGS, *HOOKS, *POLICIES])],
    SHUTDOWN_AGENT: [RUNS, SECRETS, TOKENS, (WRITES, [*BINDINGS, *HOOKS, *POLICIES])],
}
"""By account or role: verbs, and resources as PLURAL[.GROUP][/SUBRESOURCE], of any name in any namespace."""


def user(account: str) -> User:
    home = {SHUTDOWN_AGENT: ShutdownAgent().namespace}.get(account, HOME)
    people = (INTERCEPTOR, NODE_MAINTAINER, REQUESTER)
    return User(account if account in people else service_account_user(home, account))


def may(account: str, verb: str, resource: str, name: str = "x") -> bool:
    whole, _, sub = resource.partition("/")
    plural, _, group = whole.partition(".")
    about = [(group, plural, sub, namespace, name) for namespace in ("", HOME, "kube-system")]
    asked = [Access(user(account), verb, one[0], "v1", *one[1:]) for one in about]
    return any(AUTHORIZER.authorize(one).allowed for one in asked)


@pytest.mark.parametrize("account", NEVER)
def test_what_no_role_gives(account: str) -> None:
    asked = [(verb, one) for verbs, resources in NEVER[account] for verb in verbs for one in resources]
    assert [(verb, one) for verb, one in asked if may(account, verb, one)] == []


def test_the_names_that_one_account_may_write() -> None:
    assert may(CERTIFICATES, "patch", HOOKS[1], VALIDATING)
    assert may(CERTIFICATES, "watch", "secrets", TLS_SECRET)
    assert may(MANAGER, "patch", "nodes")
    assert may(INTERCEPTOR, "patch", STATUSES[0])
