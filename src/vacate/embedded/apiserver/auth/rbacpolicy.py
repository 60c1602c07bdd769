"""All roles and bindings of a cluster, read once, and the rules that they give to a user.

An aggregated ClusterRole has no rules of its own that count: its rules are those of the roles that its
selectors choose, at the moment of asking. Nobody has to write them into the object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vacate.api.identity import User, quote, service_account_user
from vacate.api.objects import Obj, name_of, namespace_of
from vacate.api.policyrules import Rule
from vacate.api.selectors.labels import selector_of
from vacate.embedded.apiserver.auth.rbacrules import rules_of
from vacate.errors import VacateError


@dataclass(frozen=True, slots=True)
class Subject:
    """A user, a group or a service account, as a binding names it."""

    kind: str
    name: str
    namespace: str = ""

    def applies_to(self, user: User, namespace: str = "") -> bool:
        """Whether the user is meant, by a binding in that namespace or by one for the whole cluster."""
        if self.kind == "User":
            return user.name == self.name
        if self.kind == "Group":
            return self.name in user.groups
        if self.kind == "ServiceAccount":
            home = self.namespace or namespace
            return bool(home) and user.name == service_account_user(home, self.name)
        return False


@dataclass(frozen=True, slots=True)
class RoleRef:
    """The role that a binding gives."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Binding:
    """A RoleBinding, or without a namespace a ClusterRoleBinding."""

    name: str
    namespace: str
    ref: RoleRef
    subjects: tuple[Subject, ...]

    def source(self, subject: Subject) -> str:
        """How an answer names the binding that allowed it."""
        own = f"RoleBinding {quote(f'{self.name}/{self.namespace}')}"
        if not self.namespace:
            own = f"ClusterRoleBinding {quote(self.name)}"
        return f"{own} of {self.ref.kind} {quote(self.ref.name)} to {self._shown_subject(subject)}"

    def _shown_subject(self, subject: Subject) -> str:
        if subject.kind != "ServiceAccount":
            return f"{subject.kind} {quote(subject.name)}"
        return f"{subject.kind} {quote(f'{subject.name}/{subject.namespace or self.namespace}')}"


@dataclass(frozen=True, slots=True)
class Grant:
    """What one binding gives to one user; no rules where the role does not exist."""

    source: str
    ref: RoleRef
    rules: tuple[Rule, ...] | None


class Policy:
    """The cluster's roles and bindings at one moment."""

    def __init__(
        self,
        *,
        roles: Iterable[Obj] = (),
        cluster_roles: Iterable[Obj] = (),
        role_bindings: Iterable[Obj] = (),
        cluster_role_bindings: Iterable[Obj] = (),
    ) -> None:
        self._roles = {(namespace_of(role), name_of(role)): rules_of(role) for role in roles}
        self._cluster_roles = _by_name(cluster_roles)
        self._resolved: dict[str, tuple[Rule, ...]] = {}  # of the cluster roles that were asked for
        self._cluster_bindings = tuple(map(binding_of, cluster_role_bindings))
        self._bindings: dict[str, list[Binding]] = {}
        for binding in map(binding_of, role_bindings):
            self._bindings.setdefault(binding.namespace, []).append(binding)

    def cluster_grants(self, user: User) -> Iterator[Grant]:
        """What the user is given everywhere."""
        yield from self._grants(self._cluster_bindings, user, "")

    def namespace_grants(self, user: User, namespace: str) -> Iterator[Grant]:
        """What the user is given in one namespace, beyond what holds everywhere."""
        yield from self._grants(self._bindings.get(namespace, ()), user, namespace)

    def role_rules(self, ref: RoleRef, namespace: str) -> tuple[Rule, ...] | None:
        """The rules of a role as a binding in that namespace sees it, or None where it does not exist."""
        if ref.kind == "ClusterRole":
            return self._cluster_rules(ref.name)
        return self._roles.get((namespace, ref.name)) if ref.kind == "Role" and namespace else None

    def _cluster_rules(self, name: str) -> tuple[Rule, ...] | None:
        if name not in self._resolved:
            role = self._cluster_roles.get(name)
            if role is None:
                return None
            self._resolved[name] = _resolve(role, self._cluster_roles)
        return self._resolved[name]

    def _grants(self, bindings: Iterable[Binding], user: User, namespace: str) -> Iterator[Grant]:
        for binding in bindings:
            subject = next((one for one in binding.subjects if one.applies_to(user, namespace)), None)
            if subject is not None:
                yield Grant(binding.source(subject), binding.ref, self.role_rules(binding.ref, namespace))


def binding_of(obj: Obj) -> Binding:
    """Read a binding of either kind."""
    subjects = obj.get("subjects")
    return Binding(
        name_of(obj),
        namespace_of(obj),
        role_ref_of(obj),
        tuple(map(_subject_of, subjects)) if isinstance(subjects, list) else (),
    )


def role_ref_of(binding: Obj) -> RoleRef:
    """The role that the binding object names."""
    ref = binding.get("roleRef") or {}
    return RoleRef(str(ref.get("kind") or ""), str(ref.get("name") or ""))


def effective_rules(cluster_roles: Iterable[Obj]) -> dict[str, tuple[Rule, ...]]:
    """The rules of every ClusterRole, aggregation carried out."""
    by_name = _by_name(cluster_roles)
    return {name: _resolve(role, by_name) for name, role in by_name.items()}


def _by_name(cluster_roles: Iterable[Obj]) -> dict[str, Obj]:
    return {name_of(role): role for role in sorted(cluster_roles, key=name_of)}


def is_aggregated(role: Mapping[str, Any]) -> bool:
    """Whether the role takes its rules from others."""
    return isinstance(role.get("aggregationRule"), dict)


def _resolve(role: Obj, by_name: Mapping[str, Obj]) -> tuple[Rule, ...]:
    if not is_aggregated(role):
        return rules_of(role)
    seen = {name_of(role)}
    found: dict[Rule, None] = {}
    _collect(role, by_name, seen, found)
    return tuple(found)


def _collect(role: Obj, by_name: Mapping[str, Obj], seen: set[str], found: dict[Rule, None]) -> None:
    for name in _selected(role, by_name):
        if name in seen:
            continue
        seen.add(name)
        if is_aggregated(by_name[name]):
            _collect(by_name[name], by_name, seen, found)
        else:
            found.update(dict.fromkeys(rules_of(by_name[name])))


def _selected(role: Obj, by_name: Mapping[str, Obj]) -> Iterator[str]:
    for chosen in role["aggregationRule"].get("clusterRoleSelectors") or ():
        try:
            selector = selector_of(chosen)
        except VacateError:
            continue  # a selector that cannot be read chooses nothing
        for name, candidate in by_name.items():
            if selector.matches(candidate.get("metadata", {}).get("labels") or {}):
                yield name


def _subject_of(obj: Mapping[str, Any]) -> Subject:
    return Subject(str(obj.get("kind") or ""), str(obj.get("name") or ""), str(obj.get("namespace") or ""))
