"""ControllerRevisions: what a workload's template was at some time."""

from __future__ import annotations

from vacate.admission.checks import NEGATIVE, unchanged
from vacate.admission.context import Context
from vacate.admission.strategy import KindStrategy
from vacate.api.fielderrors import FieldError, invalid, required
from vacate.api.objects import Obj
from vacate.api.untyped import integer


class ControllerRevisionStrategy(KindStrategy):
    """Answers for ControllerRevisions."""

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """A number, and data."""
        data, number = obj.get("data"), integer(obj.get("revision"))
        found: list[FieldError] = []
        if data is None:
            found.append(required("data", "data is mandatory"))
        elif type(data) is not dict:
            found.append(required("data", "data must be a valid JSON object"))
        if number < 0:
            found.append(invalid("revision", number, NEGATIVE))
        return found

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The same, with the same data."""
        return step + self.field_errors(new, ctx) + unchanged("data", new.get("data"), old.get("data"))
