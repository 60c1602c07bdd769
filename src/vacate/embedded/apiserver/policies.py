"""The admission policies in force, asked about each write between its admission and the store.

They are compiled anew after a policy or what binds it has changed. Those of this server itself are there
without being stored. No policy is asked about policies, or nobody could undo one that refuses everything.
"""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api import status
from vacate.api.identity import Access, User, service_account_groups
from vacate.api.kinds import NAMESPACES, Kind
from vacate.api.kinds import VALIDATINGADMISSIONPOLICIES as POLICIES
from vacate.api.kinds import VALIDATINGADMISSIONPOLICYBINDINGS as BINDINGS
from vacate.api.objects import Obj, name_of
from vacate.api.options import DeleteOptions
from vacate.api.selectors.labels import selector_of
from vacate.client.requests import given_options
from vacate.embedded.apiserver.auth.authorization import Authorizer
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.response.stored import decode
from vacate.embedded.cel.expressions import Asked
from vacate.embedded.cel.policies import Binding, Policy, Refusal, Review
from vacate.embedded.registry.kinds import SERVED_KINDS
from vacate.embedded.store.store import Store
from vacate.embedded.store.types import Entry, Key
from vacate.errors import ApiError

_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}
_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}


class Policies:
    """Asks the policies of a store, and `own` ones beside them."""

    def __init__(self, store: Store, authorizer: Authorizer, own: Sequence[Obj] = ()) -> None:
        self._store, self._authorizer, self._own = store, authorizer, own
        self.in_force = True  # not while the default objects are put in place
        self._version = (-1, -1)
        self._bindings: list[Binding] = []
        self._concerned: dict[tuple[str, str, str], list[Binding]] = {}

    def admit(
        self, call: Call, new: Obj | None, old: Obj | None, options: DeleteOptions | None = None
    ) -> None:
        """Raise what the first policy answers that refuses; note what others warn of."""
        version = (self._store.touched(POLICIES.resource), self._store.touched(BINDINGS.resource))
        if version != self._version:
            self._compile(version)
        if not self._bindings or not self.in_force or call.kind in (POLICIES, BINDINGS):
            return
        operation = "CREATE" if old is None else "DELETE" if new is None else "UPDATE"
        key = (call.kind.resource, call.subresource, operation)
        concerned = self._concerned.get(key)
        if concerned == []:
            return
        request = _request(call, operation, name_of(new or {}), options)
        if concerned is None:
            concerned = [one for one in self._bindings if one.concerns(request)]
            self._concerned[key] = concerned
        if concerned:
            self._ask(call, concerned, request, new, old)

    def _compile(self, version: tuple[int, int]) -> None:
        stored = [decode(kind, one) for kind in (POLICIES, BINDINGS) for one in self._entries(kind)]
        objects = [*self._own, *stored]
        policies = {name_of(one): Policy(one) for one in objects if one["kind"] == POLICIES.kind}
        bound = [one for one in objects if one["kind"] == BINDINGS.kind]
        made = [
            Binding(policy, one)
            for one in bound
            if (policy := policies.get(one["spec"]["policyName"])) is not None
        ]
        self._bindings = sorted(made, key=lambda one: (one.policy.name, one.name))
        self._concerned = {}
        self._version = version

    def _entries(self, kind: Kind, namespace: str = "") -> Sequence[Entry]:
        return self._store.list(kind.resource, namespace).entries

    def _ask(
        self, call: Call, concerned: Sequence[Binding], request: Obj, new: Obj | None, old: Obj | None
    ) -> None:
        entry = self._store.tip(Key(NAMESPACES.resource, "", call.namespace)) if call.namespace else None
        namespace = decode(NAMESPACES, entry) if entry is not None else None

        def authorize(asked: Asked) -> tuple[bool, str]:
            return self._authorize(call.user, asked)

        def params_of(kind: Obj, ref: Obj) -> list[Obj]:
            return self._params(kind, ref, call.namespace)

        review = Review(request, new, old, namespace, authorize)
        refused: list[tuple[Binding, Refusal]] = []
        for one in concerned:
            found = one.refusals(review, params_of)
            if "Warn" in one.actions:
                call.validation.notes += [
                    f"Validation failed for {POLICIES.kind} {_named(one)}: {refusal.message}"
                    for refusal in found
                ]
            if "Deny" in one.actions:
                refused += [(one, refusal) for refusal in found]
        if refused:
            raise _refusal(call.kind, request.get("name", ""), *refused[0])

    def _authorize(self, user: User, asked: Asked) -> tuple[bool, str]:
        if other := asked.get("user"):
            user = User(other, service_account_groups(other.split(":")[2]))
        parts = {key: asked.get(key, "") for key in ("group", "resource", "subresource", "namespace", "name")}
        decided = self._authorizer.authorize(Access(user, asked["verb"], path=asked.get("path"), **parts))
        return decided.allowed, decided.reason

    def _params(self, sort: Obj, ref: Obj, namespace: str) -> list[Obj]:
        """The objects by name or selector, in the namespace named or that of the request."""
        known = (sort["apiVersion"], sort["kind"])
        kind = next((one for one in SERVED_KINDS if (one.api_version, one.kind) == known), None)
        if kind is None:
            return []
        place = (ref.get("namespace") or namespace) if kind.namespaced else ""
        found = [decode(kind, one) for one in self._entries(kind, place)]
        if name := ref.get("name"):
            return [one for one in found if name_of(one) == name]
        selector = selector_of(ref.get("selector"))
        return [one for one in found if selector.matches(one["metadata"].get("labels"))]


def _named(binding: Binding) -> str:
    return f"'{binding.policy.name}' with binding '{binding.name}'"


def _refusal(kind: Kind, name: str, binding: Binding, refusal: Refusal) -> ApiError:
    """In the words of kube-apiserver: forbidden, whatever the reason."""
    message = f"{POLICIES.kind} {_named(binding)} denied request: {refusal.message}"
    found = status.to_status(
        status.forbidden(kind, name or "Unknown", message, causes=[{"message": message}])
    )
    code = _CODES.get(refusal.reason, 422)
    return status.from_status({**found, "reason": refusal.reason, "code": code}, code)


def _request(call: Call, operation: str, name: str, options: DeleteOptions | None) -> Obj:
    """The AdmissionRequest, without its objects."""
    kind, user = call.kind, call.user
    sub = kind.subresource(call.subresource)
    shown = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    if sub is not None and sub.kind:
        shown = {"group": sub.group, "version": sub.version, "kind": sub.kind}
    resource = {"group": kind.group, "version": kind.version, "resource": kind.plural}
    about: Obj = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    about["extra"] = {key: list(values) for key, values in user.extra.items()}
    request: Obj = {"kind": shown, "requestKind": shown, "resource": resource, "requestResource": resource}
    request |= {"subResource": call.subresource, "requestSubResource": call.subresource}
    # A namespace is in itself.
    request |= {"name": call.name or name, "namespace": name if kind == NAMESPACES else call.namespace}
    request = {key: value for key, value in request.items() if value}
    request["userInfo"] = {key: value for key, value in about.items() if value}
    dry_run = call.dry_run or (options is not None and options.is_dry_run)
    return {**request, "operation": operation, "dryRun": dry_run, "options": _options(operation, options)}


def _options(operation: str, given: DeleteOptions | None) -> Obj:
    fields = {} if given is None else given_options(given)
    return {"kind": _OPTIONS[operation], "apiVersion": "meta.k8s.io/v1", **fields}
