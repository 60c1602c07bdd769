"""CronJobs: stored as templates of Jobs. Nothing here runs their schedules."""

from __future__ import annotations

import zoneinfo

from vacate.admission.checks import not_negative, same, shown_selector, unsupported
from vacate.admission.context import Context
from vacate.admission.metadata import keep
from vacate.admission.strategy import KindStrategy, count_generation
from vacate.api.fielderrors import FieldError, invalid, required
from vacate.api.lenient import child, mapping, text
from vacate.api.objects import Obj, name_of
from vacate.embedded.registry.apps import podtemplate
from vacate.embedded.registry.batch import jobspec
from vacate.embedded.registry.batch.schedule import schedule_complaint

_MAX_NAME = 52
_POLICIES = ("Allow", "Forbid", "Replace")
_JOB = "spec.jobTemplate.spec"
NOT_RUN = (
    "spec.schedule: the embedded cluster runs no schedules; the CronJob serves as a template of Jobs only"
)


class CronJobStrategy(KindStrategy):
    """Answers for CronJobs."""

    counts_generations = True

    def default(self, obj: Obj, ctx: Context) -> None:
        """Runs may overlap; of those that ended a few are kept."""
        spec = child(obj, "spec")
        podtemplate.default_template(child(child(spec, "jobTemplate"), "spec"), self.kind)
        if not spec.get("concurrencyPolicy"):
            spec["concurrencyPolicy"] = "Allow"
        spec.setdefault("suspend", False)
        spec.setdefault("successfulJobsHistoryLimit", 3)
        spec.setdefault("failedJobsHistoryLimit", 1)

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """The status is a controller's."""
        obj["status"] = {}
        podtemplate.drop_gated_fields(_job_spec(obj), None, ctx)

    def prepare_spec(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Status stays; a new spec is a new generation."""
        keep(new, old, "status")
        podtemplate.drop_gated_fields(_job_spec(new), _job_spec(old), ctx)
        count_generation(new, old, not same(new.get("spec"), old.get("spec")))

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """The spec, and a name to which the names of Jobs can be appended."""
        found = self._spec_errors(mapping(obj.get("spec")), ctx)
        if len(name := name_of(obj)) > _MAX_NAME:
            found.append(invalid("metadata.name", name, f"must be no more than {_MAX_NAME} characters"))
        return found

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The spec again."""
        ctx = podtemplate.tolerating_interceptors(ctx, {"spec": _job_spec(old)})
        return step + self._spec_errors(mapping(new.get("spec")), ctx)

    def _spec_errors(self, spec: Obj, ctx: Context) -> list[FieldError]:
        found = _schedule_errors(spec) + not_negative("spec", spec, "startingDeadlineSeconds")
        if (policy := text(spec.get("concurrencyPolicy"))) not in _POLICIES:
            found.append(unsupported("spec.concurrencyPolicy", policy, _POLICIES))
        job = mapping(mapping(spec.get("jobTemplate")).get("spec"))
        found += jobspec.spec_errors(job, ctx, _JOB)
        if (selector := job.get("selector")) is not None:
            found.append(
                invalid(f"{_JOB}.selector", shown_selector(selector), "`selector` will be auto-generated")
            )
        if job.get("manualSelector") is True:
            found.append(unsupported(f"{_JOB}.manualSelector", True, ("nil", "false")))
        for key in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
            found += not_negative("spec", spec, key)
        return found


def _job_spec(obj: Obj) -> Obj:
    return mapping(mapping(mapping(obj.get("spec")).get("jobTemplate")).get("spec"))


def _schedule_errors(spec: Obj) -> list[FieldError]:
    schedule, zone = text(spec.get("schedule")), spec.get("timeZone")
    found = []
    if not schedule:
        found.append(required("spec.schedule"))
    elif "TZ" in schedule:
        found.append(invalid("spec.schedule", schedule, "cannot use TZ or CRON_TZ in schedule"))
    elif wrong := schedule_complaint(schedule):
        found.append(invalid("spec.schedule", schedule, wrong))
    if zone is not None and zone not in zoneinfo.available_timezones():
        found.append(invalid("spec.timeZone", zone, f"unknown time zone {zone}"))
    return found


def warnings_of(obj: Obj) -> list[str]:
    """Warnings about what the embedded cluster does not do."""
    found = [] if mapping(obj.get("spec")).get("suspend") is True else [NOT_RUN]
    return found + jobspec.warnings_of(_job_spec(obj))
