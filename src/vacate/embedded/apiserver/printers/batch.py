"""Jobs, CronJobs and pod templates."""

from __future__ import annotations

import datetime as dt
from typing import Any

from vacate.api.ages import age, human_duration, since
from vacate.api.columns import AGE, CONTAINERS, IMAGES, NAME, Column, Printer, wide
from vacate.api.objects import Obj, dig, name_of
from vacate.api.times import parse_time
from vacate.api.untyped import mapping, maps
from vacate.embedded.apiserver.printers.workloads import container_cells, selector_cell

_NONE = "<none>"


def _job(obj: Obj, now: dt.datetime) -> list[Any]:
    spec, status = mapping(obj.get("spec")), mapping(obj.get("status"))
    done, wanted = status.get("succeeded", 0), spec.get("completions")
    if wanted is None:
        most = spec.get("parallelism") or 0
        shown = f"{done}/1 of {most}" if most > 1 else f"{done}/1"
    else:
        shown = f"{done}/{wanted}"
    row = [name_of(obj), _job_state(obj), shown, _duration(status, now), age(obj, now)]
    return row + container_cells(obj) + [selector_cell(obj, invalid=_NONE)]


def _job_state(obj: Obj) -> str:
    conditions = {
        one.get("type") for one in maps(dig(obj, "status", "conditions")) if one.get("status") == "True"
    }
    for kind in ("Complete", "Failed"):
        if kind in conditions:
            return kind
    if dig(obj, "metadata", "deletionTimestamp"):
        return "Terminating"
    for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if kind in conditions:
            return kind
    return "Running"


def _duration(status: Obj, now: dt.datetime) -> str:
    start, end = status.get("startTime"), status.get("completionTime")
    if not start:
        return ""
    return since(start, now) if not end else human_duration(parse_time(end) - parse_time(start))


def _cron_job(obj: Obj, now: dt.datetime) -> list[Any]:
    spec, status = mapping(obj.get("spec")), mapping(obj.get("status"))
    last = status.get("lastScheduleTime")
    shown = since(last, now) if last else _NONE
    suspended = "True" if spec.get("suspend") is True else "False"
    zone = spec.get("timeZone") or _NONE
    active = len(maps(status.get("active")))
    job = {"spec": mapping(mapping(spec.get("jobTemplate")).get("spec"))}
    row = [name_of(obj), spec.get("schedule", ""), zone, suspended, active, shown, age(obj, now)]
    return row + container_cells(job) + [selector_cell(job, invalid=_NONE) or _NONE]


def _pod_template(obj: Obj, _: dt.datetime) -> list[Any]:
    template = mapping(obj.get("template"))
    labels = mapping(dig(template, "metadata", "labels"))
    shown = ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or _NONE
    return [name_of(obj), *container_cells({"spec": {"template": template}}), shown]


_SELECTOR = wide("Selector", "Which pods belong to it.")
JOBS = Printer(
    (
        NAME,
        Column("Status", "How it stands."),
        Column("Completions", "How many of the wanted pods have succeeded."),
        Column("Duration", "How long it took, or has been running."),
        AGE,
        CONTAINERS,
        IMAGES,
        _SELECTOR,
    ),
    _job,
)
CRONJOBS = Printer(
    (
        NAME,
        Column("Schedule", "When it would run."),
        Column("Timezone", "By which time zone."),
        Column("Suspend", "Whether it is suspended."),
        Column("Active", "How many of its Jobs run.", type="integer"),
        Column("Last Schedule", "When it ran last."),
        AGE,
        CONTAINERS,
        IMAGES,
        _SELECTOR,
    ),
    _cron_job,
)
PODTEMPLATES = Printer(
    (
        NAME,
        Column("Containers", "Names of the containers in the template."),
        Column("Images", "Images of the containers in the template."),
        Column("Pod Labels", "Labels of the pods to come."),
    ),
    _pod_template,
)
