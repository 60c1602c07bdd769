"""Short forms in which the tables of default roles are written."""

from __future__ import annotations

from vacate.api.kinds import CLUSTERROLEBINDINGS, CLUSTERROLES, ROLEBINDINGS, ROLES, Kind
from vacate.api.objects import Obj
from vacate.api.policyrules import Rule, rule

RBAC_GROUP = "rbac.authorization.k8s.io"
AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"
BOOTSTRAPPING = "kubernetes.io/bootstrapping"
AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"

WRITE = "create delete deletecollection patch update"
READ_WRITE = "create delete deletecollection get list patch update watch"


def urls(verbs: str, *paths: str) -> Rule:
    """A rule about paths."""
    return Rule(tuple(verbs.split()), urls=paths)


EVENTS = rule("create patch update", ("", "events.k8s.io"), "events")


def cluster_role(name: str, *rules: Rule, into: str = "", gathers: str = "") -> Obj:
    """A default ClusterRole; `into` and `gathers` name the aggregated role on its two sides."""
    role = _default(CLUSTERROLES, name)
    if into:
        role["metadata"]["labels"][f"{AGGREGATE}{into}"] = "true"
    if gathers:
        selector = {"matchLabels": {f"{AGGREGATE}{gathers}": "true"}}
        role["aggregationRule"] = {"clusterRoleSelectors": [selector]}
    role["rules"] = [one.to_obj() for one in rules]
    return role


def default_role(role: Obj) -> Obj:
    """A ClusterRole of Vacate as a default one, which a restart puts right."""
    made = _default(CLUSTERROLES, role["metadata"]["name"])
    made["metadata"]["labels"] |= role["metadata"]["labels"]
    made["rules"] = role["rules"]
    return made


def role(namespace: str, name: str, *rules: Rule) -> Obj:
    """A default Role."""
    made = _default(ROLES, name, namespace)
    made["rules"] = [one.to_obj() for one in rules]
    return made


def cluster_binding(name: str, *subjects: Obj, to: str = "") -> Obj:
    """A default ClusterRoleBinding, to the ClusterRole of its own name unless another is given."""
    return _bound(_default(CLUSTERROLEBINDINGS, name), "ClusterRole", to or name, subjects)


def binding(namespace: str, name: str, *subjects: Obj) -> Obj:
    """A default RoleBinding to the Role of its own name."""
    return _bound(_default(ROLEBINDINGS, name, namespace), "Role", name, subjects)


def user(name: str) -> Obj:
    """A subject that is a user."""
    return {"apiGroup": RBAC_GROUP, "kind": "User", "name": name}


def group(name: str) -> Obj:
    """A subject that is a group."""
    return {"apiGroup": RBAC_GROUP, "kind": "Group", "name": name}


def service_account(name: str, namespace: str = "kube-system") -> Obj:
    """A subject that is a service account."""
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def _bound(made: Obj, kind: str, name: str, subjects: tuple[Obj, ...]) -> Obj:
    made["roleRef"] = {"apiGroup": RBAC_GROUP, "kind": kind, "name": name}
    if subjects:
        made["subjects"] = list(subjects)
    return made


def _default(kind: Kind, name: str, namespace: str = "") -> Obj:
    metadata: Obj = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    metadata["labels"] = {BOOTSTRAPPING: "rbac-defaults"}
    metadata["annotations"] = {AUTO_UPDATE: "true"}
    return {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}
