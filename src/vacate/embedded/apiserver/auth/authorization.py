"""May this user do that? RBAC over the cluster's own roles and bindings, with `system:masters` above it.

An answer is compiled once for each user and question and kept until a role or binding changes, so that a
request costs two lookups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from vacate.api.identity import MASTERS, Access, User, is_resource_access, quote
from vacate.api.kinds import CLUSTERROLEBINDINGS, CLUSTERROLES, ROLEBINDINGS, ROLES, Kind
from vacate.api.objects import Obj
from vacate.api.policyrules import Rule
from vacate.embedded.apiserver.auth.rbacmessages import forbidden, join_errors
from vacate.embedded.apiserver.auth.rbacpolicy import Grant, Policy, RoleRef
from vacate.embedded.apiserver.auth.rbacrules import allows_any_name, allows_path


class RbacSource(Protocol):
    """Where roles and bindings come from."""

    @property
    def version(self) -> int:
        """Another number after any role or binding changed."""
        ...

    def objects(self, kind: Kind) -> Iterable[Obj]:
        """All objects of one of the four kinds of RBAC, of all namespaces, in key order."""
        ...


@dataclass(frozen=True, slots=True)
class Decision:
    """Yes or no, and why."""

    allowed: bool
    reason: str = ""


_Choices = tuple[tuple[frozenset[str] | None, Decision], ...]
_MASTER = Decision(allowed=True)
_REMEMBERED_CHARACTERS = (
    1024  # anybody may ask anything, and what is longer than this is never asked in earnest
)
_Question = tuple[str, str, str, str, str, str | None]


class Authorizer:
    """Answers questions about access; safe to ask on every request."""

    def __init__(self, source: RbacSource, *, max_users: int = 1024, max_answers: int = 4096) -> None:
        self._source = source
        self._max_users = max_users
        self._max_answers = max_answers
        self._version: int | None = None
        self._policy = Policy()
        self._users: dict[tuple[str, tuple[str, ...]], _UserAnswers] = {}

    def authorize(self, access: Access) -> Decision:
        """Whether the access is allowed, and by which binding, or what went wrong while looking."""
        if MASTERS in access.user.groups:  # before the policy is read: it has nothing to say
            return _MASTER
        return self._answers_for(access.user).answer(access)

    def require(self, access: Access) -> None:
        """Return where the access is allowed and raise Forbidden where it is not."""
        verdict = self.authorize(access)
        if not verdict.allowed:
            raise forbidden(access, verdict.reason)

    def rules_for(self, user: User, namespace: str) -> tuple[list[Rule], list[RoleRef]]:
        """All rules that the user holds in the namespace, and the roles that are bound and do not exist."""
        self._refresh()
        grants = list(self._policy.cluster_grants(user))
        if namespace:
            grants += self._policy.namespace_grants(user, namespace)
        rules = [rule for grant in grants for rule in grant.rules or ()]
        return rules, [grant.ref for grant in grants if grant.rules is None]

    def role_rules(self, ref: RoleRef, namespace: str) -> tuple[Rule, ...] | None:
        """The rules of a role as a binding in the namespace sees it, or None where it does not exist."""
        self._refresh()
        return self._policy.role_rules(ref, namespace)

    def _answers_for(self, user: User) -> _UserAnswers:
        if self._source.version != self._version:
            self._refresh()
        key = (user.name, user.groups)
        answers = self._users.get(key)
        if answers is None:
            if len(self._users) >= self._max_users:
                self._users.clear()
            answers = self._users[key] = _UserAnswers(user, self._policy, self._max_answers)
        return answers

    def _refresh(self) -> None:
        version = self._source.version
        if version == self._version:
            return
        self._policy = Policy(
            roles=self._source.objects(ROLES),
            cluster_roles=self._source.objects(CLUSTERROLES),
            role_bindings=self._source.objects(ROLEBINDINGS),
            cluster_role_bindings=self._source.objects(CLUSTERROLEBINDINGS),
        )
        self._users.clear()
        self._version = version


class _UserAnswers:
    """The answers to one user under one version of the policy."""

    __slots__ = ("_answers", "_cluster", "_limit", "_policy", "_user")

    def __init__(self, user: User, policy: Policy, limit: int) -> None:
        self._user = user
        self._policy = policy
        self._cluster = tuple(policy.cluster_grants(user))
        self._limit = limit
        self._answers: dict[_Question, _Choices] = {}

    def answer(self, access: Access) -> Decision:
        question = (
            access.verb,
            access.group,
            access.resource,
            access.subresource,
            access.namespace,
            access.path,
        )
        choices = self._answers.get(question)
        if choices is None:
            choices = self._compile(question, access)
        if len(choices) > 1:
            for names, verdict in choices:
                if names is not None and access.name in names:
                    return verdict
        return choices[-1][1]  # what holds for every name

    def _compile(self, question: _Question, access: Access) -> _Choices:
        choices = tuple(self._choices(access))
        if sum(len(part or "") for part in question) <= _REMEMBERED_CHARACTERS:
            if len(self._answers) >= self._limit:
                self._answers.clear()
            self._answers[question] = choices
        return choices

    def _choices(self, access: Access) -> Iterator[tuple[frozenset[str] | None, Decision]]:
        """Ways to be allowed by name where rules name objects, and last what holds for every other name."""
        missing: list[str] = []
        for grant in self._grants(access):
            if grant.rules is None:
                missing.append(_not_found(grant.ref))
                continue
            allowed = Decision(allowed=True, reason=f"RBAC: allowed by {grant.source}")
            for rule in grant.rules:
                if not _may_allow(rule, access):
                    continue
                if not rule.names or not is_resource_access(access):
                    yield None, allowed
                    return
                yield frozenset(rule.names), allowed
        yield None, Decision(allowed=False, reason=f"rbac: RBAC: {join_errors(missing)}" if missing else "")

    def _grants(self, access: Access) -> Iterator[Grant]:
        yield from self._cluster
        if access.namespace:
            yield from self._policy.namespace_grants(self._user, access.namespace)


def _may_allow(rule: Rule, access: Access) -> bool:
    if access.path is None:
        return allows_any_name(rule, access)
    return allows_path(rule, access.verb, access.path)


def _not_found(ref: RoleRef) -> str:
    if ref.kind not in ("Role", "ClusterRole"):
        return f"unsupported role reference kind: {quote(ref.kind)}"
    return f"{ref.kind.lower()}.rbac.authorization.k8s.io {quote(ref.name)} not found"
