"""Questions of rights that only the object itself answers: what it would grant, and verbs behind verbs."""

from __future__ import annotations

from vacate.api.identity import Access
from vacate.api.objects import Obj
from vacate.apiserver.context import Call
from vacate.apiserver.registry import Registry


def guard(registry: Registry, call: Call, new: Obj, old: Obj | None) -> None:
    """Refuse roles and bindings that would grant more than the user holds."""


def require(registry: Registry, call: Call, verb: str) -> None:
    """Refuse where the user may not also use this verb on the same address."""
    access = Access(
        call.user,
        verb,
        call.kind.group,
        call.kind.version,
        call.kind.plural,
        call.subresource,
        call.namespace,
        call.name,
    )
    registry.authorizer.require(access)
