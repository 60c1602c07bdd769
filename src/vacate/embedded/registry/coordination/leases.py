"""Leases: who holds something, and until when."""

from __future__ import annotations

from vacate.admission.context import Context, Traits
from vacate.admission.metadata import keep
from vacate.admission.strategy import KindStrategy
from vacate.api.fielderrors import FieldError, invalid
from vacate.api.objects import Obj
from vacate.api.untyped import mapping

# Fields of coordinated leader election, which is not switched on in this release by default.
_COORDINATED = ("strategy", "preferredHolder")


class LeaseStrategy(KindStrategy):
    """Answers for leases. An update must say what it updates: PUT without resourceVersion is refused."""

    # Leases may be created by PUT, and never overwritten blindly.
    traits = Traits(unconditional_update=False, create_on_update=True)
    checks_finalizers = False

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """Drop what is switched off."""
        for key in _COORDINATED:
            mapping(obj.get("spec")).pop(key, None)

    def prepare_spec(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Drop what is switched off and was not there."""
        before = mapping(old.get("spec"))
        for key in _COORDINATED:
            if before.get(key) is None:
                keep(mapping(new.get("spec")), before, key)

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """Numbers that make sense."""
        spec = mapping(obj.get("spec"))
        found: list[FieldError] = []
        duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
        if type(duration) is int and duration <= 0:
            found.append(invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
        if type(transitions) is int and transitions < 0:
            detail = "must be greater than or equal to 0"
            found.append(invalid("spec.leaseTransitions", transitions, detail))
        return found

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The spec again."""
        return step + self.field_errors(new, ctx)
