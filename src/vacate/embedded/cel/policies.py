"""ValidatingAdmissionPolicies and what binds them, evaluated as kube-apiserver evaluates them.

Every kind is served in one version, so `matchPolicy: Equivalent` matches what `Exact` does. Where several
policies refuse a write, the first by name is answered. There is no budget for the cost of expressions, and no
audit log for annotations and the action `Audit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from vacate.api.objects import Obj, name_of
from vacate.api.selectors.labels import selector_of
from vacate.api.untyped import mapping, maps
from vacate.embedded.cel.expressions import Authorize, Expression, Variables, nothing_allowed

_MAX_MESSAGE = 5 * 1024
INVALID = "Invalid"

ParamsOf = Callable[[Obj, Obj], Sequence[Obj]]
"""The objects of a `paramKind` that a `paramRef` means."""


@dataclass
class Review:
    """A write under review. What is created has no old object, what is deleted no new one."""

    request: Obj  # as policies see it
    obj: Obj | None
    old: Obj | None
    namespace: Obj | None = None  # the one that the object is in
    authorize: Authorize = nothing_allowed

    @cached_property
    def variables(self) -> Variables:
        """The values that expressions speak of, converted once for all policies."""
        return self.with_params(None)

    def with_params(self, params: Obj | None) -> Variables:
        """The same with a parameter."""
        values = {"object": self.obj, "oldObject": self.old, "request": self.request, "params": params}
        return Variables({**values, "namespaceObject": self.namespace}, self.authorize)


@dataclass(frozen=True, slots=True)
class Refusal:
    """What one validation has against a write, and the reason of the Status."""

    message: str
    reason: str = INVALID


class Match:
    """Which writes a policy, or what binds it, is about."""

    def __init__(self, written: Obj) -> None:
        self._rules, self._excluded = (
            maps(written.get(key)) for key in ("resourceRules", "excludeResourceRules")
        )
        self._namespaces, self._objects = (
            selector_of(mapping(written.get(key))) for key in ("namespaceSelector", "objectSelector")
        )

    def concerns(self, request: Obj) -> bool:
        """Whether it may be about requests for this resource."""
        return not self._rules or any(_concerns(rule, request) for rule in self._rules)

    def matches(self, review: Review) -> bool:
        """Whether it is about this write."""
        request, about = review.request, _labels_of_namespace(review)
        if about is not None and not self._namespaces.matches(about):
            return False
        if not self._objects.everything and not any(
            self._objects.matches(_labels(one)) for one in (review.obj, review.old) if one is not None
        ):
            return False
        if any(_is_about(rule, request) for rule in self._excluded):
            return False
        return not self._rules or any(_is_about(rule, request) for rule in self._rules)


class Policy:
    """One policy, compiled."""

    def __init__(self, written: Obj) -> None:
        spec = written["spec"]
        self.name = name_of(written)
        self.match = Match(mapping(spec.get("matchConstraints")))
        self.param_kind: Obj | None = spec.get("paramKind")
        self.fails_closed = spec.get("failurePolicy") != "Ignore"
        variables = {one["name"]: one["expression"] for one in maps(spec.get("variables"))}
        self._conditions = [_Condition(one, {}) for one in maps(spec.get("matchConditions"))]
        self._validations = [_Condition(one, variables) for one in maps(spec.get("validations"))]

    def refusals(self, variables: Variables) -> Iterator[Refusal]:
        """What it has against a write that it is about."""
        verdicts = [one.verdict(variables) for one in self._conditions]
        if False in verdicts:
            return
        if errors := [one for one in verdicts if isinstance(one, str)]:
            if self.fails_closed:
                yield Refusal(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
            return
        for one in self._validations:
            verdict = one.verdict(variables)
            if isinstance(verdict, str) and self.fails_closed:
                yield Refusal(verdict)
            elif verdict is False:
                yield Refusal(one.message(variables), one.reason)


class _Condition:
    """A match condition, or a validation."""

    def __init__(self, written: Obj, variables: dict[str, str]) -> None:
        self._source, made = written["expression"].strip(), written.get("messageExpression")
        self._expression = Expression(self._source, variables)
        self._made = Expression(made, variables) if made else None
        self._message = (written.get("message") or "").strip() or f"failed expression: {self._source}"
        self.reason = written.get("reason") or INVALID

    def verdict(self, variables: Variables) -> bool | str:
        """Whether it holds, or why that cannot be said."""
        found = self._expression.verdict(variables)
        return f"expression '{self._source}' resulted in error: {found}" if isinstance(found, str) else found

    def message(self, variables: Variables) -> str:
        """Of a refusal: one that is made, where it is one line of a fitting length."""
        made = (self._made.text(variables) or "").strip() if self._made else ""
        return made if made and len(made) <= _MAX_MESSAGE and "\n" not in made else self._message


class Binding:
    """A policy in force: on which writes, with which parameters, and what its refusals come to."""

    def __init__(self, policy: Policy, written: Obj) -> None:
        spec = written["spec"]
        self.policy, self.name = policy, name_of(written)
        self._match = Match(mapping(spec.get("matchResources")))
        self._param_ref: Obj | None = spec.get("paramRef")
        self.actions: Sequence[str] = spec.get("validationActions") or ()

    def concerns(self, request: Obj) -> bool:
        """Whether it may be about requests for this resource."""
        return self.policy.match.concerns(request) and self._match.concerns(request)

    def refusals(self, review: Review, params_of: ParamsOf) -> list[Refusal]:
        """What the policy has against the write, once for each parameter."""
        if not (self.policy.match.matches(review) and self._match.matches(review)):
            return []
        kind, ref = self.policy.param_kind, self._param_ref
        if kind is None or ref is None:
            return list(self.policy.refusals(review.variables))
        params = params_of(kind, ref)
        if not params and ref.get("parameterNotFoundAction") != "Allow":
            why = "no params found for policy binding with `Deny` parameterNotFoundAction"
            return [Refusal(f"failed to configure binding: {why}")] if self.policy.fails_closed else []
        return [refusal for one in params for refusal in self.policy.refusals(review.with_params(one))]


def _concerns(rule: Obj, request: Obj) -> bool:
    resource, sub = request["resource"], request.get("subResource", "")
    return (
        _is_one_of(rule.get("apiGroups"), resource["group"])
        and _is_one_of(rule.get("apiVersions"), resource["version"])
        and _is_one_of(rule.get("operations"), request["operation"])
        and any(
            base in ("*", resource["resource"]) and part in ("*", sub)
            for base, _, part in (one.partition("/") for one in rule.get("resources") or ())
        )
    )


def _is_about(rule: Obj, request: Obj) -> bool:
    scope, names = rule.get("scope") or "*", rule.get("resourceNames") or ()
    namespaced = bool(request.get("namespace")) and request["resource"]["resource"] != "namespaces"
    return (
        _concerns(rule, request)
        and (scope == "*" or (scope == "Namespaced") is namespaced)
        and (not names or request.get("name", "") in names)
    )


def _is_one_of(listed: Sequence[str] | None, value: str) -> bool:
    return "*" in (listed or ()) or value in (listed or ())


def _labels(obj: Obj) -> dict[str, str]:
    return mapping(mapping(obj.get("metadata")).get("labels"))


def _labels_of_namespace(review: Review) -> dict[str, str] | None:
    """Of the namespace that the write is in, or about; None where it is about the whole cluster."""
    if review.request["resource"]["resource"] == "namespaces":
        return _labels(review.obj or review.old or {})
    if not review.request.get("namespace"):
        return None
    return _labels(review.namespace or {})
