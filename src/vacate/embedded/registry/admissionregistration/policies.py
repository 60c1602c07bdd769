"""ValidatingAdmissionPolicies and their bindings: which expressions may be stored, and what is filled in."""

from __future__ import annotations

from collections.abc import Iterator

from vacate.admission.checks import unsupported
from vacate.admission.context import Context, Traits
from vacate.admission.strategy import KindStrategy, count_generation
from vacate.api.fielderrors import FieldError, invalid, required
from vacate.api.objects import Obj
from vacate.api.untyped import mapping, maps, text
from vacate.embedded.cel.expressions import Expression

_ACTIONS = ("Audit", "Deny", "Warn")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized")
_RULE_PARTS = ("apiGroups", "apiVersions", "operations", "resources")
_NEITHER = "validations or auditAnnotations must contain at least one item"


class _Strategy(KindStrategy):
    """What both kinds have in common."""

    # A PUT must name the version that it replaces.
    traits = Traits(unconditional_update=False)
    counts_generations = True
    _constraints = "matchConstraints"

    def default(self, obj: Obj, ctx: Context) -> None:
        """All namespaces and objects, and resources in whatever version they are written."""
        match = mapping(obj.get("spec")).get(self._constraints)
        if isinstance(match, dict):
            match.setdefault("matchPolicy", "Equivalent")
            match.setdefault("namespaceSelector", {})
            match.setdefault("objectSelector", {})
            for rule in (*maps(match.get("resourceRules")), *maps(match.get("excludeResourceRules"))):
                rule.setdefault("scope", "*")

    def prepare_spec(self, new: Obj, old: Obj, ctx: Context) -> None:
        """The status is another's; changes of the spec are counted."""
        if "status" in old:
            new["status"] = old["status"]
        else:
            new.pop("status", None)
        count_generation(new, old, new.get("spec") != old.get("spec"))

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """As for a new object."""
        return step + self.field_errors(new, ctx)

    def _rule_errors(self, spec: Obj) -> Iterator[FieldError]:
        for key in ("resourceRules", "excludeResourceRules"):
            for index, rule in enumerate(maps(mapping(spec.get(self._constraints)).get(key))):
                for part in _RULE_PARTS:
                    if not rule.get(part):
                        yield required(f"spec.{self._constraints}.{key}[{index}].{part}")


class AdmissionPolicyStrategy(_Strategy):
    """Answers for ValidatingAdmissionPolicies."""

    def default(self, obj: Obj, ctx: Context) -> None:
        """What cannot be evaluated is refused."""
        super().default(obj, ctx)
        if isinstance(obj.get("spec"), dict):
            obj["spec"].setdefault("failurePolicy", "Fail")

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """The status is not the creator's."""
        obj.pop("status", None)

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """What it is about, and that all of its expressions can be evaluated."""
        spec = mapping(obj.get("spec"))
        found = list(self._rule_errors(spec))
        if not isinstance(spec.get("matchConstraints"), dict):
            found.append(required("spec.matchConstraints"))
        elif not spec["matchConstraints"].get("resourceRules"):
            found.append(required("spec.matchConstraints.resourceRules"))
        for index, one in enumerate(maps(spec.get("matchConditions"))):
            found += _expression_errors(one, f"spec.matchConditions[{index}]", {})
        variables: dict[str, str] = {}
        for index, one in enumerate(maps(spec.get("variables"))):
            found += _expression_errors(one, f"spec.variables[{index}]", variables, sort="")
            variables[text(one.get("name"))] = text(one.get("expression"))
        if not spec.get("validations") and not spec.get("auditAnnotations"):
            found += [required(f"spec.{key}", _NEITHER) for key in ("validations", "auditAnnotations")]
        for index, one in enumerate(maps(spec.get("validations"))):
            path = f"spec.validations[{index}]"
            found += _expression_errors(one, path, variables)
            if one.get("messageExpression"):
                found += _expression_errors(one, path, variables, "messageExpression", "string")
            if one.get("reason") is not None and one["reason"] not in _REASONS:
                found.append(unsupported(f"{path}.reason", one["reason"], _REASONS))
        return found


class AdmissionPolicyBindingStrategy(_Strategy):
    """Answers for ValidatingAdmissionPolicyBindings."""

    _constraints = "matchResources"

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """Which policy, and what its refusals come to."""
        spec = mapping(obj.get("spec"))
        actions, path = spec.get("validationActions") or [], "spec.validationActions"
        found = [] if text(spec.get("policyName")) else [required("spec.policyName")]
        found += self._rule_errors(spec)
        if not actions:
            found.append(required(path))
        for index, one in enumerate(actions):
            if one not in _ACTIONS:
                found.append(unsupported(f"{path}[{index}]", one, _ACTIONS))
        if {"Deny", "Warn"} <= set(actions):
            detail = "must not contain both Deny and Warn (repeating the same validation failure information "
            found.append(
                invalid(path, actions, f"{detail}in the API response and headers serves no purpose)")
            )
        return found


def _expression_errors(
    owner: Obj, path: str, variables: dict[str, str], key: str = "expression", sort: str = "bool"
) -> list[FieldError]:
    """Why an expression is refused: it is missing, cannot be compiled, or says something of another sort."""
    source, path = text(owner.get(key)), f"{path}.{key}"
    if not source.strip():
        return [required(path, "expression is not specified" if key == "expression" else "")]
    try:
        compiled = Expression(source, variables)
    except ValueError as error:
        return [invalid(path, source, str(error))]
    if not sort or (compiled.is_condition if sort == "bool" else compiled.is_text):
        return []
    return [invalid(path, source, f"must evaluate to {sort}")]
