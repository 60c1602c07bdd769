"""RoleBindings and ClusterRoleBindings: one role for good, given to users, groups and service accounts."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.admission.checks import IMMUTABLE, unsupported
from vacate.admission.context import Context, Traits
from vacate.admission.nameformats import name_is_role, name_is_subdomain
from vacate.admission.strategy import KindStrategy
from vacate.api.fielderrors import FieldError, complaints, invalid, required
from vacate.api.objects import Obj
from vacate.api.untyped import mapping, maps, text

_GROUP = "rbac.authorization.k8s.io"
_SUBJECT_KINDS = ("ServiceAccount", "User", "Group")


class BindingStrategy(KindStrategy):
    """Answers for bindings of either sort."""

    # Bindings may be created by PUT.
    traits = Traits(create_on_update=True)

    def name_format(self, name: str, prefix: bool) -> Sequence[str]:
        """A path segment."""
        return name_is_role(name, prefix)

    def default(self, obj: Obj, ctx: Context) -> None:
        """The group of roles, users and groups goes without saying."""
        role = obj.get("roleRef")
        if type(role) is dict and not role.get("apiGroup"):
            role["apiGroup"] = _GROUP
        for subject in maps(obj.get("subjects")):
            if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
                subject["apiGroup"] = _GROUP

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """The role, then the subjects."""
        kinds = ("Role", "ClusterRole") if self.kind.namespaced else ("ClusterRole",)
        found = _role_errors(mapping(obj.get("roleRef")), kinds)
        for index, subject in enumerate(maps(obj.get("subjects"))):
            found += _subject_errors(subject, f"subjects[{index}]", self.kind.namespaced)
        return found

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The whole again, and the same role."""
        found = self.metadata_errors(new) + self.field_errors(new, ctx) + step
        role = _shown(mapping(new.get("roleRef")))
        if role != _shown(mapping(old.get("roleRef"))):
            found.append(invalid("roleRef", role, IMMUTABLE))
        return found


def _role_errors(role: Obj, kinds: tuple[str, ...]) -> list[FieldError]:
    found: list[FieldError] = []
    group, kind, name = (text(role.get(key)) for key in ("apiGroup", "kind", "name"))
    if group != _GROUP:
        found.append(unsupported("roleRef.apiGroup", group, (_GROUP,)))
    if kind not in kinds:
        found.append(unsupported("roleRef.kind", kind, kinds))
    if not name:
        return [*found, required("roleRef.name")]
    return found + complaints("roleRef.name", name, name_is_role(name, False))


def _subject_errors(subject: Obj, path: str, namespaced: bool) -> list[FieldError]:
    kind, name, group = (text(subject.get(key)) for key in ("kind", "name", "apiGroup"))
    found = [] if name else [required(f"{path}.name")]
    if kind == "ServiceAccount":
        if name:
            found += complaints(f"{path}.name", name, name_is_subdomain(name, False))
        if group:
            found.append(unsupported(f"{path}.apiGroup", group, ("",)))
        if not namespaced and not text(subject.get("namespace")):
            found.append(required(f"{path}.namespace"))
    elif kind in _SUBJECT_KINDS:
        if group != _GROUP:
            found.append(unsupported(f"{path}.apiGroup", group, (_GROUP,)))
    else:
        found.append(unsupported(f"{path}.kind", kind, _SUBJECT_KINDS))
    return found


def _shown(role: Obj) -> Obj:
    return {shown: text(role.get(key)) for shown, key in _SHOWN_KEYS}


_SHOWN_KEYS = (("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name"))
