"""What a strategy asks about the cluster, and how it is answered without waiting.

Strategies ask in plain calls and know nothing of networks. So a review is begun with what it will surely
ask looked up. Where a strategy asks for more, it is broken off with the `Question`; the caller finds the
answer and begins anew. The order of the questions is the strategy's own: rights come before anything that
would reveal the pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from vacate.api.identity import Access, User
from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.client.client import Client
from vacate.errors import ConfigError, NotFound


@dataclass(frozen=True, slots=True)
class AccessCheck:
    """Whether the user of the review has a right. One review has one user."""

    verb: str
    group: str
    version: str
    resource: str
    subresource: str
    namespace: str
    name: str

    @classmethod
    def about(cls, access: Access) -> AccessCheck:
        """The question of an access."""
        return cls(
            access.verb, access.group, access.version, access.resource, access.subresource,
            access.namespace, access.name,
        )  # fmt: skip

    def access(self, user: User) -> Access:
        """The same with the user in it."""
        return Access(
            user, self.verb, self.group, self.version, self.resource, self.subresource, self.namespace,
            self.name,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ObjectLookup:
    """What another object looks like now."""

    kind: Kind
    namespace: str
    name: str

    async def found(self, client: Client) -> Obj | None:
        """The object at the API server; None where there is none, or can be none of such a name."""
        try:
            return await client.get(self.kind, self.name, self.namespace)
        except (NotFound, ConfigError):
            return None


Question = AccessCheck | ObjectLookup


class LookupRequired(Exception):
    """A review needs to know this first."""

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self.question = question


@dataclass(frozen=True, slots=True)
class LookupResults:
    """The answers so far."""

    rights: Mapping[AccessCheck, bool] = field(default_factory=dict)
    objects: Mapping[ObjectLookup, Obj | None] = field(default_factory=dict)

    def may(self, access: Access) -> bool:
        """Whether the access is allowed."""
        question = AccessCheck.about(access)
        if question not in self.rights:
            raise LookupRequired(question)
        return self.rights[question]

    def lookup(self, kind: Kind, namespace: str, name: str) -> Obj | None:
        """The object, None where there is none."""
        question = ObjectLookup(kind, namespace, name)
        if question not in self.objects:
            raise LookupRequired(question)
        return self.objects[question]

    def with_right(self, question: AccessCheck, allowed: bool) -> LookupResults:
        """Knowing this as well."""
        return LookupResults({**self.rights, question: allowed}, self.objects)

    def with_object(self, question: ObjectLookup, found: Obj | None) -> LookupResults:
        """Knowing this as well."""
        return LookupResults(self.rights, {**self.objects, question: found})
