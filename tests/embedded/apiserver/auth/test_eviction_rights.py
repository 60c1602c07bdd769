"""Who may do what to EvictionRequests by default."""

from __future__ import annotations

import pytest

from support.rbac import bind, default_authorizer
from support.rights import Rights, resource_name, written_rights
from vacate.api.identity import Access, User
from vacate.api.kinds import ALL_VERBS, EVICTIONREQUESTS, LIFECYCLE_REQUESTS, NODEMAINTENANCES
from vacate.embedded.bootstrap.identities import CONTROLLER_MANAGER, controller
from vacate.embedded.registry.kinds import SERVED_KINDS

pytestmark = pytest.mark.unit

GROUP = EVICTIONREQUESTS.group
CONTROLLER = controller("evictionrequest-controller")
PEOPLE = [bind(role, role, namespace="shop") for role in ("view", "edit", "admin")]
AUTHORIZER = default_authorizer(*PEOPLE)

READ = {"get", "list", "watch"}
HOOK_JOBS = ("eviction-hook-jobs", "vacate-hooks-jobs")
"""Rights of the hooks interceptor, which has an account of its own."""
WRITE = {"create", "delete", "patch", "update"}


def allowed(user: User, resource: str, group: str = "", namespace: str = "shop") -> set[str]:
    """The verbs that the user may use."""
    plural, _, sub = resource.partition("/")
    return {
        verb
        for verb in ALL_VERBS
        if AUTHORIZER.authorize(Access(user, verb, group, "v1", plural, sub, namespace, "it")).allowed
    }


@pytest.mark.parametrize(
    ("who", "requests", "status"),
    [
        ("view", READ, READ),
        ("edit", READ | WRITE, READ),
        ("admin", READ | WRITE, READ),
        ("nobody", set(), set()),
    ],
)
def test_people(who: str, requests: set[str], status: set[str]) -> None:
    assert allowed(User(who), "evictionrequests", GROUP) == requests
    assert allowed(User(who), "evictionrequests/status", GROUP) == status


def test_who_may_edit_may_request_evictions_by_kubernetes_own_api() -> None:
    """So it is in Kubernetes, which does not ask for the right to delete the pod."""
    assert allowed(User("edit"), LIFECYCLE_REQUESTS.plural, LIFECYCLE_REQUESTS.group) >= {"create"}


@pytest.mark.parametrize(
    ("who", "verbs"), [("view", READ), ("edit", READ), ("admin", READ), ("nobody", set())]
)
def test_node_maintenance_is_read_by_all_and_written_by_no_common_role(who: str, verbs: set[str]) -> None:
    assert allowed(User(who), "nodemaintenances", NODEMAINTENANCES.group) == verbs


def test_the_controllers_may_do_exactly_what_is_written_down() -> None:
    """On the embedded server they have the rights of an installation together, and no others."""
    user = User(CONTROLLER.name, CONTROLLER.groups)
    names = {(kind.group, kind.plural) for kind in SERVED_KINDS}
    names |= {(kind.group, f"{kind.plural}/{sub.name}") for kind in SERVED_KINDS for sub in kind.subresources}
    found = {
        resource_name(group, name): verbs for group, name in names if (verbs := allowed(user, name, group))
    }
    written: Rights = {"events": {"create", "patch"}}
    for name, rights in written_rights().items():
        if name in HOOK_JOBS:
            continue
        for resource, verbs in rights.items():
            written.setdefault(resource, set()).update(verbs)
    served = {resource_name(group, name) for group, name in names}
    assert found == {resource: verbs for resource, verbs in written.items() if resource in served}


def test_its_lock_lies_in_the_system_namespace_alone() -> None:
    user = User(CONTROLLER.name, CONTROLLER.groups)
    elsewhere = {"list"}  # fencing reads the leases of nodes
    assert (
        allowed(user, "leases", "coordination.k8s.io", "kube-system")
        == {"create", "get", "patch"} | elsewhere
    )
    assert allowed(user, "leases", "coordination.k8s.io") == elsewhere


def test_the_controller_manager_does_not_evict() -> None:
    """It collects and deletes requests with everything else, but it does not drive them."""
    user = User(CONTROLLER_MANAGER.name, CONTROLLER_MANAGER.groups)
    assert "create" not in allowed(user, "pods/eviction")
    assert {"delete", "deletecollection", "list", "watch"} <= allowed(user, "evictionrequests", GROUP)
