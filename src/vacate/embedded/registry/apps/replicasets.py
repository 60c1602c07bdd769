"""ReplicaSets."""

from __future__ import annotations

from typing import ClassVar

from vacate.admission.checks import not_negative
from vacate.admission.context import Context
from vacate.api.fielderrors import FieldError
from vacate.api.objects import Obj
from vacate.api.untyped import child, mapping
from vacate.embedded.registry.apps import podtemplate as template


class ReplicaSetStrategy(template.WorkloadStrategy):
    """Answers for ReplicaSets."""

    new_status: ClassVar[Obj | None] = {"replicas": 0}
    parts = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    counts = ("replicas", *parts, "observedGeneration", "terminatingReplicas")

    def default(self, obj: Obj, ctx: Context) -> None:
        """One replica, and the template's defaults."""
        spec = child(obj, "spec")
        spec.setdefault("replicas", 1)
        template.default_template(spec, self.kind)

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """The spec."""
        spec = mapping(obj.get("spec"))
        found = not_negative("spec", spec, "replicas") + not_negative("spec", spec, "minReadySeconds")
        return found + template.selector_and_template_errors(spec, ctx)
