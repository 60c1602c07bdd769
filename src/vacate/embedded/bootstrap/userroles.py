"""The default roles for users: `cluster-admin`, `admin`, `edit`, `view`, and those that all users have.

The rules name kinds that are not served here too. So a question about them gets the answer that a real
cluster gives.
"""

from __future__ import annotations

from vacate.api.kinds import EVACUATIONS, LIFECYCLE_REQUESTS
from vacate.api.objects import Obj
from vacate.api.policyrules import CORE, READ, rule
from vacate.embedded.apiserver.auth.rbacrules import FULL_AUTHORITY
from vacate.embedded.bootstrap.rules import READ_WRITE, WRITE, cluster_role, default_role, urls
from vacate.install.manifests.roles import user_roles as product_roles

_VIEW = (
    rule(
        READ,
        CORE,
        "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods "
        "replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status",
    ),
    rule(
        READ,
        CORE,
        "bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status "
        "resourcequotas resourcequotas/status",
    ),
    rule(READ, CORE, "namespaces"),
    rule(READ, ("", "events.k8s.io"), "events"),
    rule(READ, "discovery.k8s.io", "endpointslices"),
    rule(
        READ,
        "apps",
        "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status "
        "replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale "
        "statefulsets/status",
    ),
    rule(READ, "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
    rule(READ, "batch", "cronjobs cronjobs/status jobs jobs/status"),
    rule(
        READ,
        "extensions",
        "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses "
        "ingresses/status networkpolicies replicasets replicasets/scale replicasets/status "
        "replicationcontrollers/scale",
    ),
    rule(READ, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
    rule(READ, "networking.k8s.io", "ingresses ingresses/status networkpolicies"),
    rule(READ, "resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates"),
    rule(READ, LIFECYCLE_REQUESTS.group, "evictionrequests evictions"),
)

_EDIT = (
    rule(READ, CORE, "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"),
    rule("impersonate", CORE, "serviceaccounts"),
    rule(WRITE, CORE, "pods pods/attach pods/exec pods/portforward pods/proxy"),
    rule("create", CORE, "pods/eviction"),
    rule(
        WRITE,
        CORE,
        "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets "
        "serviceaccounts services services/proxy",
    ),
    rule("create", CORE, "serviceaccounts/token"),
    rule(WRITE, ("", "events.k8s.io"), "events"),
    rule(
        WRITE,
        "apps",
        "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale "
        "statefulsets statefulsets/scale",
    ),
    rule(WRITE, "autoscaling", "horizontalpodautoscalers"),
    rule(WRITE, "batch", "cronjobs jobs"),
    rule(
        WRITE,
        "extensions",
        "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets "
        "replicasets/scale replicationcontrollers/scale",
    ),
    rule(WRITE, "policy", "poddisruptionbudgets"),
    rule(WRITE, "networking.k8s.io", "ingresses networkpolicies"),
    rule(READ_WRITE, "coordination.k8s.io", "leases"),
    rule(WRITE, "resource.k8s.io", "resourceclaims resourceclaimtemplates"),
    rule(WRITE, LIFECYCLE_REQUESTS.group, "evictionrequests"),
)

_ADMIN = (
    rule("create", "authorization.k8s.io", "localsubjectaccessreviews"),
    rule(READ_WRITE, "rbac.authorization.k8s.io", "rolebindings roles"),
)

_VIEW_EVACUATIONS = rule(READ, EVACUATIONS.group, "evacuations evacuations/status")
_EDIT_EVACUATIONS = rule(WRITE, EVACUATIONS.group, "evacuations")

_PUBLIC_PATHS = ("/healthz", "/livez", "/readyz", "/version", "/version/")
_DISCOVERY_PATHS = (
    "/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz",
    "/version", "/version/",
)  # fmt: skip
_MONITORING_PATHS = (
    "/flagz", "/healthz", "/healthz/*", "/livez", "/livez/*", "/metrics", "/metrics/slis", "/readyz",
    "/readyz/*", "/statusz",
)  # fmt: skip


def user_roles() -> list[Obj]:
    """The roles that are meant to be bound to users, and to all of them."""
    return [
        cluster_role("cluster-admin", *FULL_AUTHORITY),
        cluster_role("system:discovery", urls("get", *_DISCOVERY_PATHS)),
        cluster_role(
            "system:monitoring", urls("get", *_MONITORING_PATHS), rule("get", CORE, "nodes/metrics")
        ),
        cluster_role(
            "system:basic-user",
            rule("create", "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews"),
            rule("create", "authentication.k8s.io", "selfsubjectreviews"),
        ),
        cluster_role("system:public-info-viewer", urls("get", *_PUBLIC_PATHS)),
        cluster_role("admin", gathers="admin"),
        cluster_role("edit", into="admin", gathers="edit"),
        cluster_role("view", into="edit", gathers="view"),
        cluster_role("system:aggregate-to-admin", *_ADMIN, into="admin"),
        cluster_role("system:aggregate-to-edit", *_EDIT, into="edit"),
        cluster_role("system:aggregate-to-view", *_VIEW, into="view"),
        # What installations do not define has no roles among theirs.
        cluster_role("vacate:aggregate-evacuations-to-view", _VIEW_EVACUATIONS, into="view"),
        cluster_role("vacate:aggregate-evacuations-to-edit", _EDIT_EVACUATIONS, into="edit"),
        # Beside the roles of Kubernetes, so that those stay what they are; the same as an installation has.
        *map(default_role, product_roles()),
    ]
