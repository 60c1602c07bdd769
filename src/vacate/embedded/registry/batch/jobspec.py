"""The spec of a Job, be it a Job's own or that of the template in a CronJob."""

from __future__ import annotations

from vacate.admission.checks import not_negative, unsupported
from vacate.admission.context import Context
from vacate.api.fielderrors import FieldError, required
from vacate.api.objects import Obj
from vacate.api.untyped import mapping, text
from vacate.embedded.registry.apps import podtemplate

INDEXED, NON_INDEXED = "Indexed", "NonIndexed"
COUNTS = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
    "backoffLimitPerIndex", "maxFailedIndexes",
)  # fmt: skip
NOT_RUN = ("podFailurePolicy", "successPolicy", "backoffLimitPerIndex", "maxFailedIndexes")
"""What the controller of the embedded cluster does not look at."""
_MODES = (NON_INDEXED, INDEXED)
_REPLACEMENTS = ("Failed", "TerminatingOrFailed")


def spec_errors(spec: Obj, ctx: Context, path: str = "spec") -> list[FieldError]:
    """Counts, modes, and the template, whose pods must be able to end."""
    found: list[FieldError] = []
    for key in COUNTS:
        found += not_negative(path, spec, key)
    found += _mode_errors(spec, path)
    found += _replacement_errors(spec, path)
    template = mapping(spec.get("template"))
    found += podtemplate.content_errors(template, ctx, f"{path}.template")
    policy = text(mapping(template.get("spec")).get("restartPolicy"))
    where = f"{path}.template.spec.restartPolicy"
    if policy in ("", "Always"):
        found.append(required(where, 'valid values: "OnFailure", "Never"'))
    elif policy not in ("OnFailure", "Never"):
        found.append(unsupported(where, policy, ("OnFailure", "Never")))
    return found


def warnings_of(spec: Obj) -> list[str]:
    """Warnings about what the embedded cluster does not do."""
    found = [f"spec.{key}: the embedded cluster ignores it" for key in NOT_RUN if spec.get(key) is not None]
    if spec.get("completionMode") == INDEXED:
        found.append("spec.completionMode: the embedded cluster does not run Indexed Jobs")
    return found


def _mode_errors(spec: Obj, path: str) -> list[FieldError]:
    mode = spec.get("completionMode")
    if mode is None:
        return []
    if mode not in _MODES:
        return [unsupported(f"{path}.completionMode", mode, _MODES)]
    if mode == INDEXED and spec.get("completions") is None:
        return [required(f"{path}.completions", f"when completion mode is {INDEXED}")]
    return []


def _replacement_errors(spec: Obj, path: str) -> list[FieldError]:
    given = spec.get("podReplacementPolicy")
    where = f"{path}.podReplacementPolicy"
    return [] if given in (None, *_REPLACEMENTS) else [unsupported(where, given, _REPLACEMENTS)]
