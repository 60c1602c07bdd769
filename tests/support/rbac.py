"""A policy that a test holds in its hands."""

from __future__ import annotations

from collections.abc import Iterable

from vacate.api.kinds import CLUSTERROLEBINDINGS, CLUSTERROLES, ROLEBINDINGS, ROLES, Kind
from vacate.api.objects import Obj
from vacate.embedded.apiserver.auth.authorization import Authorizer
from vacate.embedded.bootstrap import bootstrap_objects

_KINDS = {kind.kind: kind for kind in (ROLES, ROLEBINDINGS, CLUSTERROLES, CLUSTERROLEBINDINGS)}


class HeldPolicy:
    """Roles and bindings in a list; every change counts the version up."""

    def __init__(self, *objects: Obj) -> None:
        self.version = 1
        self.reads = 0
        self._objects = list(objects)

    def add(self, *objects: Obj) -> None:
        self._objects += objects
        self.version += 1

    def remove(self, name: str) -> None:
        self._objects = [obj for obj in self._objects if obj["metadata"]["name"] != name]
        self.version += 1

    def objects(self, kind: Kind) -> Iterable[Obj]:
        self.reads += 1
        return [obj for obj in self._objects if obj["kind"] == kind.kind]


def rule(verbs: str, resources: str, group: str = "", names: str = "") -> Obj:
    """A rule about resources of one group; the texts are lists."""
    made: Obj = {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split()}
    return {**made, "resourceNames": names.split()} if names else made


def role(name: str, *rules: Obj, namespace: str = "", **more: Obj) -> Obj:
    """A Role, or without a namespace a ClusterRole."""
    meta = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": meta,
        "rules": list(rules),
        **more,
    }


def bind(role_name: str, *users: str, namespace: str = "", local: bool = False, groups: str = "") -> Obj:
    """A binding of the role's own name; in a namespace to a ClusterRole unless the role is local."""
    meta = {"name": role_name, "namespace": namespace} if namespace else {"name": role_name}
    subjects = [{"kind": "User", "name": user} for user in users]
    subjects += [{"kind": "Group", "name": group} for group in groups.split()]
    return {
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": meta,
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "Role" if local else "ClusterRole",
            "name": role_name,
        },
        "subjects": subjects,
    }


def given(user: str, *rules: Obj) -> tuple[Obj, Obj]:
    """A ClusterRole for one user, and its binding."""
    return role(f"of-{user}", *rules), bind(f"of-{user}", user)


def authorizer(*objects: Obj) -> Authorizer:
    """An authoriser over exactly these roles and bindings."""
    return Authorizer(HeldPolicy(*objects))


def default_authorizer(*objects: Obj) -> Authorizer:
    """An authoriser over what a new cluster has, and these roles and bindings."""
    defaults = [obj for kind, obj in bootstrap_objects() if kind in _KINDS.values()]
    return Authorizer(HeldPolicy(*defaults, *objects))
