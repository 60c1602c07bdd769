"""Roles and ClusterRoles: rules about resources, or about paths."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.admission.checks import readable_selector, selector_errors
from vacate.admission.context import Context, Traits
from vacate.admission.nameformats import name_is_role
from vacate.admission.strategy import KindStrategy
from vacate.api.fielderrors import FieldError, invalid, required
from vacate.api.objects import Obj
from vacate.api.untyped import mapping, maps, sequence

_SELECTORS = "aggregationRule.clusterRoleSelectors"


class RoleStrategy(KindStrategy):
    """Answers for roles of either sort."""

    # Roles may be created by PUT.
    traits = Traits(create_on_update=True)

    def name_format(self, name: str, prefix: bool) -> Sequence[str]:
        """A path segment."""
        return name_is_role(name, prefix)

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """Rules, and the selectors of those that gather other roles' rules."""
        return self._errors(obj, lenient_values=False)

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The whole again; selector values that were wrong before may stay."""
        lenient = bool(_aggregation_errors(old, lenient_values=False))
        return self.metadata_errors(new) + self._errors(new, lenient_values=lenient) + step

    def _errors(self, obj: Obj, *, lenient_values: bool) -> list[FieldError]:
        found: list[FieldError] = []
        rules = maps(obj.get("rules"))
        for index, rule in enumerate(rules):
            found += _rule_errors(rule, f"rules[{index}]", self.kind.namespaced)
        # Declared with the type, and so after all that is checked by hand.
        verbless = [index for index, rule in enumerate(rules) if not sequence(rule.get("verbs"))]
        if not self.kind.namespaced and obj.get("aggregationRule") is not None:
            found += _aggregation_errors(obj, lenient_values=lenient_values)
        return found + [required(f"rules[{index}].verbs") for index in verbless]


def _rule_errors(rule: Obj, path: str, namespaced: bool) -> list[FieldError]:
    found: list[FieldError] = []
    if urls := sequence(rule.get("nonResourceURLs")):
        where = f"{path}.nonResourceURLs"
        if namespaced:
            found.append(invalid(where, urls, "namespaced rules cannot apply to non-resource URLs"))
        if any(sequence(rule.get(key)) for key in ("apiGroups", "resources", "resourceNames")):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            found.append(invalid(where, urls, detail))
        return found
    for key, what in (("apiGroups", "api group"), ("resources", "resource")):
        if not sequence(rule.get(key)):
            found.append(required(f"{path}.{key}", f"resource rules must supply at least one {what}"))
    return found


def _aggregation_errors(role: Obj, *, lenient_values: bool) -> list[FieldError]:
    selectors = sequence(mapping(role.get("aggregationRule")).get("clusterRoleSelectors"))
    found: list[FieldError] = []
    if not selectors:
        detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        found.append(required(_SELECTORS, detail))
    for index, selector in enumerate(selectors):
        path = f"{_SELECTORS}[{index}]"
        found += selector_errors(selector, path, lenient_values=lenient_values)
        if readable_selector(selector) is None:
            found.append(invalid(path, None, "invalid label selector."))
    return found
