"""Bringing default roles and bindings up to date without taking anything away.

Missing rules, subjects, labels and annotations are added; what an administrator added stays. An object whose
auto-update annotation says `false` is left alone.
"""

from __future__ import annotations

from collections.abc import Callable

from vacate.api.kinds import CLUSTERROLEBINDINGS, CLUSTERROLES, ROLEBINDINGS, ROLES, Kind
from vacate.api.objects import Obj, dig, metadata
from vacate.embedded.apiserver.auth.rbaccoverage import uncovered
from vacate.embedded.apiserver.auth.rbacrules import rules_of
from vacate.embedded.bootstrap.rules import AUTO_UPDATE

_SUBJECT_FIELDS = ("kind", "apiGroup", "name", "namespace")


def reconcile(kind: Kind, existing: Obj, wanted: Obj) -> Obj | None:
    """The next state of an object that exists, or None where it stays; most kinds always stay."""
    step = _STEPS.get(kind)
    return None if step is None else step(existing, wanted)


def reconcile_role(existing: Obj, wanted: Obj) -> Obj | None:
    """The role with everything that is wanted, or None where nothing is missing or it is protected."""
    if is_protected(existing):
        return None
    updated = _with_metadata(existing, wanted)
    same = existing.get("rules") == wanted.get("rules")
    missing = () if same else uncovered(rules_of(existing), rules_of(wanted))
    if missing:
        updated["rules"] = [*(existing.get("rules") or []), *(rule.to_obj() for rule in missing)]
    _reconcile_aggregation(updated, wanted)
    return updated if updated != existing else None


def reconcile_binding(existing: Obj, wanted: Obj) -> Obj | None:
    """The binding with all wanted subjects, or None. One for another role must be replaced instead."""
    if is_protected(existing) or must_recreate(existing, wanted):
        return None
    updated = _with_metadata(existing, wanted)
    present = [_identity(subject) for subject in existing.get("subjects") or []]
    missing = [one for one in wanted.get("subjects") or [] if _identity(one) not in present]
    if missing:
        updated["subjects"] = [*(existing.get("subjects") or []), *missing]
    return updated if updated != existing else None


def must_recreate(existing: Obj, wanted: Obj) -> bool:
    """Whether a binding gives another role than wanted: that cannot be changed, only deleted and created."""
    return "roleRef" in wanted and not is_protected(existing) and existing.get("roleRef") != wanted["roleRef"]


def is_protected(existing: Obj) -> bool:
    """Whether an administrator keeps the object as it is."""
    return bool(dig(existing, "metadata", "annotations", AUTO_UPDATE) == "false")


def _reconcile_aggregation(updated: Obj, wanted: Obj) -> None:
    expected = dig(wanted, "aggregationRule", "clusterRoleSelectors")
    if expected is None:
        updated.pop("aggregationRule", None)
        return
    present = dig(updated, "aggregationRule", "clusterRoleSelectors") or []
    missing = [selector for selector in expected if selector not in present]
    if missing:
        updated["aggregationRule"] = {"clusterRoleSelectors": [*present, *missing]}


def _with_metadata(existing: Obj, wanted: Obj) -> Obj:
    """The object with labels and annotations added; what does not change is shared with the old one."""
    meta = {**metadata(existing)}
    updated = {**existing, "metadata": meta}
    for field in ("annotations", "labels"):
        merged = {**(dig(wanted, "metadata", field) or {}), **(meta.get(field) or {})}
        if merged != (meta.get(field) or {}):
            meta[field] = merged
    return updated


def _identity(subject: Obj) -> tuple[str, ...]:
    return tuple(str(subject.get(field) or "") for field in _SUBJECT_FIELDS)


_STEPS: dict[Kind, Callable[[Obj, Obj], Obj | None]] = {
    ROLES: reconcile_role,
    CLUSTERROLES: reconcile_role,
    ROLEBINDINGS: reconcile_binding,
    CLUSTERROLEBINDINGS: reconcile_binding,
}
