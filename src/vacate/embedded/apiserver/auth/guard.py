"""Questions of rights that only the object itself answers: what it would grant, and verbs behind verbs."""

from __future__ import annotations

from vacate.api.identity import Access
from vacate.api.objects import Obj
from vacate.embedded.apiserver.auth.escalation import confirm_no_escalation
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.storage import Storage


def guard(storage: Storage, call: Call, new: Obj, old: Obj | None) -> None:
    """Refuse roles and bindings that would grant more than the user holds."""
    verb = "create" if old is None else "update"
    confirm_no_escalation(storage.authorizer, _access(call, verb), call.kind, new, old)


def require(storage: Storage, call: Call, verb: str) -> None:
    """Refuse where the user may not also use this verb on the same address."""
    storage.authorizer.require(_access(call, verb))


def _access(call: Call, verb: str) -> Access:
    kind = call.kind
    return Access(
        call.user, verb, kind.group, kind.version, kind.plural, call.subresource, call.namespace, call.name
    )
