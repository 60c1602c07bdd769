"""Who may do what: a role for each part, and one for each kind of user."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.installednames import (
    CERTIFICATES,
    INTERCEPTOR,
    INTERCEPTOR_DELETES,
    MANAGER,
    MUTATING,
    NODE_FENCER,
    NODE_MAINTAINER,
    REQUESTER,
    SHUTDOWN_REQUESTER,
    TLS_SECRET,
    VALIDATING,
    VIEWER,
    WEBHOOK,
    labels,
)
from vacate.api.kinds import (
    DESCHEDULINGPOLICIES,
    EVACUATIONS,
    EVICTIONREQUESTS,
    FENCINGPOLICIES,
    LIFECYCLE_EVICTIONS,
    LIFECYCLE_REQUESTS,
    NODEMAINTENANCES,
)
from vacate.api.objects import Obj
from vacate.crds.catalogue import DECLARATIONS
from vacate.fencing.annotations import FENCE_VERB
from vacate.install.manifests.shutdownagent import REQUEST_VERBS
from vacate.install.settings import Settings
from vacate.wiring.controllers import rules as controller_rules
from vacate.wiring.fencing import FENCING_JOB_RULES

_API = "rbac.authorization.k8s.io/v1"
_REQUESTS, _STATUS = EVICTIONREQUESTS.plural, f"{EVICTIONREQUESTS.plural}/status"
_GROUP = EVICTIONREQUESTS.group
_EVACUATIONS, _EVACUATION_STATUS = EVACUATIONS.plural, f"{EVACUATIONS.plural}/status"
_MAINTENANCES = NODEMAINTENANCES.plural
_DESCHEDULING = DESCHEDULINGPOLICIES.plural
_READ = ("get", "list", "watch")
_KEEP = ("list", "watch", "patch")  # follow one object by its name, and change it


# Whether a manager works: the one Lease, in whichever namespace it is.
_MANAGER_LEASE: Obj = {
    "apiGroups": ["coordination.k8s.io"],
    "resources": ["leases"],
    "verbs": ["list"],
    "resourceNames": [MANAGER],
}

# As Kubernetes' own roles have it. Creating EvictionRequests there is for its own roles to give: nothing asks
# whether their author may delete the pod.
_LIFECYCLE: Obj = {
    "apiGroups": [LIFECYCLE_EVICTIONS.group],
    "resources": [LIFECYCLE_EVICTIONS.plural, LIFECYCLE_REQUESTS.plural],
    "verbs": [*_READ],
}


def roles(settings: Settings) -> list[Obj]:
    """Accounts, roles and bindings of the parts, and the roles for users, which are theirs to bind."""
    return [*_manager(settings), *_webhook(settings), *_certificates(settings), *user_roles()]


def former_roles(namespace: str) -> list[Obj]:
    """What earlier versions had and this one has not: the webhook kept its certificates itself."""
    meta = {"name": WEBHOOK, "namespace": namespace}
    return [{"apiVersion": _API, "kind": kind, "metadata": dict(meta)} for kind in ("Role", "RoleBinding")]


def user_roles() -> list[Obj]:
    """For requesters, authors of interceptors, those who drain nodes, and those who only look."""
    return [
        cluster_role_of(INTERCEPTOR, _intercepting()),
        # Deleting passes all budgets: an interceptor that needs it gets this role bound as well.
        cluster_role_of(INTERCEPTOR_DELETES, [role_rule("", ["pods"], ["delete"])]),
        # A requester needs the right to delete the pods as well, which `edit` has and this does not give.
        cluster_role_of(REQUESTER, _requesting(), aggregate_to="edit"),
        # Part of no other role: a NodeMaintenance has pods of every namespace evicted, also where its author
        # may delete none.
        cluster_role_of(NODE_MAINTAINER, _maintaining()),
        # Who may change nodes may not yet have them fenced: that is a verb of its own.
        cluster_role_of(NODE_FENCER, _fencing()),
        # For the identities of `vacate node`: a node that goes down requests evictions of its pods.
        cluster_role_of(
            SHUTDOWN_REQUESTER,
            [
                role_rule(_GROUP, [_REQUESTS], REQUEST_VERBS),
                role_rule(EVACUATIONS.group, [_EVACUATIONS], REQUEST_VERBS),
                role_rule(LIFECYCLE_REQUESTS.group, [LIFECYCLE_REQUESTS.plural], REQUEST_VERBS),
                role_rule(LIFECYCLE_EVICTIONS.group, [LIFECYCLE_EVICTIONS.plural], ["list", "watch"]),
            ],
        ),
        cluster_role_of(VIEWER, _viewing(), aggregate_to="view"),
    ]


def _viewing() -> list[Obj]:
    """Every kind of ours can be seen; who may write one is decided for each, in the roles below."""
    kinds = [one.kind for one in DECLARATIONS]
    seen = [role_rule(one.group, [one.plural, f"{one.plural}/status"], _READ) for one in kinds]
    return [*seen, _LIFECYCLE, _MANAGER_LEASE]


def _maintaining() -> list[Obj]:
    """All that `vacate drain` needs; what it leads to is done by the controller."""
    return [
        role_rule(
            NODEMAINTENANCES.group,
            [_MAINTENANCES, _DESCHEDULING],
            [*_READ, "create", "update", "patch", "delete"],
        ),
        role_rule(_GROUP, [_REQUESTS], _READ),
        role_rule(EVACUATIONS.group, [_EVACUATIONS], _READ),
        _LIFECYCLE,
        role_rule("", ["nodes", "pods"], ["get", "list"]),
        role_rule("policy", ["poddisruptionbudgets"], ["list"]),
        _MANAGER_LEASE,
    ]


def _fencing() -> list[Obj]:
    """All that `vacate fence --request` and `--approve` need: to mark nodes that a policy selects.

    Policies hold no credentials, and carry the fence out. To call an agent by hand takes rights of its own:
    to the Secret that the agent needs, and to pods and volumes.
    """
    return [
        role_rule("", ["nodes"], [*_READ, "patch", FENCE_VERB]),
        role_rule(FENCINGPOLICIES.group, [FENCINGPOLICIES.plural], ["get", "list"]),
        role_rule("", ["events"], ["create"]),  # who had it fenced
    ]


def _intercepting() -> list[Obj]:
    return [
        role_rule(_GROUP, [_REQUESTS], _READ),
        role_rule(_GROUP, [_STATUS], ["patch"]),
        role_rule(EVACUATIONS.group, [_EVACUATIONS], _READ),
        role_rule(EVACUATIONS.group, [_EVACUATION_STATUS], ["patch"]),
        role_rule(LIFECYCLE_EVICTIONS.group, [LIFECYCLE_EVICTIONS.plural], _READ),
        role_rule(LIFECYCLE_EVICTIONS.group, [f"{LIFECYCLE_EVICTIONS.plural}/status"], ["patch"]),
        role_rule("", ["pods"], ["get"]),
        role_rule("", ["pods/eviction"], ["create"]),
        role_rule("", ["events"], ["create", "patch"]),
    ]


def _requesting() -> list[Obj]:
    return [
        role_rule(_GROUP, [_REQUESTS], [*_READ, "create", "update", "patch", "delete"]),
        role_rule(EVACUATIONS.group, [_EVACUATIONS], [*_READ, "create", "update", "patch", "delete"]),
        _LIFECYCLE,
        role_rule("", ["pods"], _READ),
        role_rule("", ["events"], ["create"]),  # why they ask
        _MANAGER_LEASE,
    ]


def _manager(settings: Settings) -> list[Obj]:
    everywhere = [one.to_obj() for one in controller_rules()]
    at_home = [
        # A right to create cannot be narrowed to a name: the name is not known before.
        role_rule("coordination.k8s.io", ["leases"], ["create"]),
        role_rule("coordination.k8s.io", ["leases"], ["get", "patch"], only=[MANAGER]),
    ]
    if settings.fencing_jobs:
        # Fence agents of policies. Who creates Jobs gets whatever the accounts and Secrets here can do.
        at_home += [one.to_obj() for one in FENCING_JOB_RULES]
    return account_of(MANAGER, everywhere, at_home, settings)


def _webhook(settings: Settings) -> list[Obj]:
    everywhere = [
        role_rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
        role_rule("", ["pods"], ["get"]),
        role_rule("", ["events"], ["create"]),  # of force deletions
        # A pod has one request, whichever API it comes by.
        role_rule(_GROUP, [_REQUESTS], ["get"]),
        role_rule(EVACUATIONS.group, [_EVACUATIONS], ["get"]),
    ]
    if settings.pod_rules or settings.pod_webhooks:
        everywhere.append(role_rule("", ["namespaces"], ["get"]))
    if settings.pod_webhooks:  # to which workload a new pod belongs, and whether that has opted in
        everywhere.append(role_rule("apps", ["deployments", "replicasets", "statefulsets"], ["get"]))
    if settings.eviction_bridge:
        everywhere += _bridging()
    if settings.eviction_bridge or settings.termination_reasons:
        everywhere += _checking_callers()
    if settings.termination_reasons:
        everywhere += _annotating()
    if settings.prestop_wrapper:  # which pod asks for its reason
        everywhere.append(role_rule("authentication.k8s.io", ["tokenreviews"], ["create"]))
    return account_of(WEBHOOK, everywhere, [], settings)


def _bridging() -> list[Obj]:
    """To request evictions for callers: a requester must be allowed to delete the pods.

    Whether a node is drained tells which of two pods of a name a caller means.
    """
    return [
        role_rule(_GROUP, [_REQUESTS], ["get", "list", "create", "patch", "delete"]),
        role_rule(EVACUATIONS.group, [_EVACUATIONS], ["get", "create", "patch", "delete"]),
        role_rule(LIFECYCLE_REQUESTS.group, [LIFECYCLE_REQUESTS.plural], ["get", "create", "patch"]),
        role_rule(LIFECYCLE_EVICTIONS.group, [LIFECYCLE_EVICTIONS.plural], ["list"]),
        role_rule("", ["pods"], ["delete"]),
        role_rule("", ["nodes"], ["get"]),
        role_rule("policy", ["poddisruptionbudgets"], ["list"]),
        _MANAGER_LEASE,
    ]


def _checking_callers() -> list[Obj]:
    """To send an eviction as its caller, and nothing else, which no version before 1.36 takes for a right.

    It names the resources by an asterisk: RBAC has no pattern for the keys of extra fields.
    """
    sorts = ("user-info", "serviceaccount", "arbitrary-node")
    return [
        role_rule("authentication.k8s.io", ["*"], [f"impersonate:{sort}" for sort in sorts]),
        role_rule("", ["pods/eviction"], [f"impersonate-on:{sort}:create" for sort in sorts]),
    ]


def _annotating() -> list[Obj]:
    """To annotate pods, which a policy narrows to the annotations of a reason, and to see who owns them."""
    return [
        role_rule("", ["pods"], ["patch"]),
        role_rule("apps", ["daemonsets", "deployments", "replicasets", "statefulsets"], ["get"]),
    ]


def _certificates(settings: Settings) -> list[Obj]:
    """Rights that no listener may have: with them the admission of a cluster could be routed elsewhere."""
    if not settings.own_certificates:
        return []
    everywhere = [
        role_rule("admissionregistration.k8s.io", [f"{kind}webhookconfigurations"], _KEEP, only=[name])
        for kind, name in (("mutating", MUTATING), ("validating", VALIDATING))
    ]
    at_home = [
        # A right to create cannot be narrowed to a name: the name is not known before.
        role_rule("", ["secrets"], ["create"]),
        role_rule("", ["secrets"], _KEEP, only=[TLS_SECRET]),
    ]
    return account_of(CERTIFICATES, everywhere, at_home, settings)


def account_of(name: str, everywhere: list[Obj], at_home: list[Obj], settings: Settings) -> list[Obj]:
    """An account with its rights in all namespaces and in its own."""
    component = name.removeprefix("vacate-")
    meta = {"name": name, "namespace": settings.namespace, "labels": labels(component)}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}
    made = [account, cluster_role_of(name, everywhere), _binding(name, "ClusterRole", settings)]
    if at_home:
        made.append({"apiVersion": _API, "kind": "Role", "metadata": meta, "rules": at_home})
        made.append(_binding(name, "Role", settings))
    return made


def cluster_role_of(name: str, rules: list[Obj], *, aggregate_to: str = "") -> Obj:
    """A ClusterRole."""
    marks = labels(name.removeprefix("vacate-"))
    if aggregate_to:
        marks[f"rbac.authorization.k8s.io/aggregate-to-{aggregate_to}"] = "true"
    meta = {"name": name, "labels": marks}
    return {"apiVersion": _API, "kind": "ClusterRole", "metadata": meta, "rules": rules}


def _binding(name: str, kind: str, settings: Settings) -> Obj:
    meta: Obj = {"name": name, "labels": labels(name.removeprefix("vacate-"))}
    if kind == "Role":
        meta["namespace"] = settings.namespace
    return {
        "apiVersion": _API,
        "kind": f"{kind}Binding",
        "metadata": meta,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": settings.namespace}],
    }


def role_rule(group: str, resources: Sequence[str], verbs: Sequence[str], *, only: Sequence[str] = ()) -> Obj:
    """A rule about resources, or about those of some names only."""
    made: Obj = {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
    return {**made, "resourceNames": list(only)} if only else made
