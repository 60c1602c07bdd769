"""CronJobs: stored as templates of Jobs. Nothing here runs their schedules."""

from __future__ import annotations

from vacate.admission.context import Context
from vacate.api.fielderrors import FieldError, invalid, required
from vacate.api.objects import Obj, dig, name_of
from vacate.api.untyped import child, mapping, text
from vacate.embedded.registry.apps import podtemplate
from vacate.embedded.registry.batch import jobspec

_MAX_NAME = 52
_JOB = "spec.jobTemplate.spec"
NOT_RUN = (
    "spec.schedule: the embedded cluster runs no schedules; the CronJob serves as a template of Jobs only"
)


class CronJobStrategy(podtemplate.WorkloadStrategy):
    """Answers for CronJobs, of whose schedules only that there is one: nobody reads the rest."""

    def owner_of_template(self, obj: Obj) -> Obj:
        """The spec of the Jobs."""
        return mapping(mapping(mapping(obj.get("spec")).get("jobTemplate")).get("spec"))

    def default(self, obj: Obj, ctx: Context) -> None:
        """Runs may overlap; of those that ended a few are kept."""
        spec = child(obj, "spec")
        podtemplate.default_template(child(child(spec, "jobTemplate"), "spec"), self.kind)
        if not spec.get("concurrencyPolicy"):
            spec["concurrencyPolicy"] = "Allow"
        spec.setdefault("suspend", False)
        spec.setdefault("successfulJobsHistoryLimit", 3)
        spec.setdefault("failedJobsHistoryLimit", 1)

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """A schedule, the spec of the Jobs, and a name to which the names of Jobs can be appended."""
        found = [] if text(mapping(obj.get("spec")).get("schedule")) else [required("spec.schedule")]
        found += jobspec.spec_errors(self.owner_of_template(obj), ctx, _JOB)
        if len(name := name_of(obj)) > _MAX_NAME:
            found.append(invalid("metadata.name", name, f"must be no more than {_MAX_NAME} characters"))
        return found


def warnings_of(obj: Obj) -> list[str]:
    """Warnings about what the embedded cluster does not do."""
    found = [] if mapping(obj.get("spec")).get("suspend") is True else [NOT_RUN]
    return found + jobspec.warnings_of(mapping(dig(obj, "spec", "jobTemplate", "spec")))
