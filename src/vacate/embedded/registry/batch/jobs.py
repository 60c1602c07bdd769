"""Jobs."""

from __future__ import annotations

from vacate.admission.checks import (
    readable_selector,
    selector_errors,
    shown_selector,
    unchanged,
)
from vacate.admission.context import Context
from vacate.api.fielderrors import FieldError, invalid, required
from vacate.api.objects import Obj, copied, dig, metadata, name_of
from vacate.api.untyped import child, mapping, text
from vacate.embedded.registry.apps import podtemplate
from vacate.embedded.registry.batch import jobspec

JOB_NAME, CONTROLLER_UID = "batch.kubernetes.io/job-name", "batch.kubernetes.io/controller-uid"
_OLD_JOB_NAME, _OLD_CONTROLLER_UID = "job-name", "controller-uid"
_FIXED = ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
# What may change in the template of a Job that is suspended and has not begun.
_PLACEMENT = ("affinity", "nodeSelector", "tolerations", "schedulingGates")


class JobStrategy(podtemplate.WorkloadStrategy):
    """Answers for Jobs."""

    counts = ("active", "succeeded", "failed", "ready", "terminating")

    def default(self, obj: Obj, ctx: Context) -> None:
        """One pod that succeeds once."""
        spec = child(obj, "spec")
        podtemplate.default_template(spec, self.kind)
        if spec.get("completions") is None and spec.get("parallelism") is None:
            spec["completions"] = 1
        spec.setdefault("parallelism", 1)
        spec.setdefault("backoffLimit", 6 if spec.get("backoffLimitPerIndex") is None else 2**31 - 1)
        spec.setdefault("completionMode", jobspec.NON_INDEXED)
        spec.setdefault("suspend", False)
        spec.setdefault("manualSelector", False)
        policy = "TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed"
        spec.setdefault("podReplacementPolicy", policy)

    def prepare_new(self, obj: Obj, ctx: Context) -> None:
        """Pods are distinguished by the Job's UID."""
        super().prepare_new(obj, ctx)
        spec = child(obj, "spec")
        if spec.get("manualSelector") is not True:
            _generate_selector(obj, spec)
        if not metadata(obj).get("labels") and (labels := dig(spec, "template", "metadata", "labels")):
            metadata(obj)["labels"] = copied(labels)

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """The spec, and labels by which the Job finds its own pods only."""
        spec = mapping(obj.get("spec"))
        found = _generated_errors(obj, spec) + jobspec.spec_errors(spec, ctx)
        selector, template = spec.get("selector"), mapping(spec.get("template"))
        if selector is None:
            found.append(required("spec.selector"))
        else:
            found += selector_errors(selector, "spec.selector")
        readable = readable_selector(selector)
        if readable is not None:
            found += podtemplate.mismatch_errors(template, None if selector is None else readable)
        return found

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The spec again; what was begun goes on as it is."""
        spec, before = mapping(new.get("spec")), mapping(old.get("spec"))
        found = super().update_errors(new, old, step, ctx)
        found += unchanged("spec.completions", spec.get("completions"), before.get("completions"))
        found += _template_change_errors(spec, before, old)
        for key in _FIXED:
            found += unchanged(f"spec.{key}", spec.get(key), before.get(key))
        return found


def _generate_selector(obj: Obj, spec: Obj) -> None:
    """Labels that the user gave stay; where they contradict, the Job is refused."""
    name, uid = name_of(obj), text(metadata(obj).get("uid"))
    labels = child(child(child(spec, "template"), "metadata"), "labels")
    for key, value in _generated_labels(name, uid).items():
        labels.setdefault(key, value)
    child(child(spec, "selector"), "matchLabels").setdefault(CONTROLLER_UID, uid)


def _generated_labels(name: str, uid: str) -> dict[str, str]:
    return {_OLD_JOB_NAME: name, JOB_NAME: name, _OLD_CONTROLLER_UID: uid, CONTROLLER_UID: uid}


def _generated_errors(obj: Obj, spec: Obj) -> list[FieldError]:
    selector = spec.get("selector")
    if spec.get("manualSelector") is True or selector is None:
        return []
    wanted = _generated_labels(name_of(obj), text(metadata(obj).get("uid")))
    labels = mapping(dig(spec, "template", "metadata", "labels"))
    where, found = "spec.template.metadata.labels", []
    for key in (_OLD_CONTROLLER_UID, _OLD_JOB_NAME, CONTROLLER_UID, JOB_NAME):
        if key not in labels:
            found.append(required(where, f"must be '{wanted[key]}'"))
        elif labels[key] != wanted[key]:
            found.append(invalid(where, labels, f"must be '{wanted[key]}'"))
    readable = readable_selector(selector)
    if readable is not None and not readable.matches(wanted):
        found.append(invalid("spec.selector", shown_selector(selector), "`selector` not auto-generated"))
    return found


def _template_change_errors(spec: Obj, before: Obj, old: Obj) -> list[FieldError]:
    new, given = mapping(spec.get("template")), mapping(before.get("template"))
    if before.get("suspend") is True and dig(old, "status", "startTime") is None:
        return unchanged("spec.template.spec", _without_placement(new), _without_placement(given))
    return unchanged("spec.template", new, given)


def _without_placement(template: Obj) -> Obj:
    return {key: value for key, value in mapping(template.get("spec")).items() if key not in _PLACEMENT}
