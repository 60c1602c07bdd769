"""Which hook a pod names, held against the administrator's list. Pure."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass

from vacate.api.durations import human_duration, seconds_of
from vacate.api.names import dns1123_label, dns1123_subdomain
from vacate.errors import VacateError
from vacate.interceptors.hooks.names import JOB, ON_FAILURE, TARGET, TIMEOUT
from vacate.interceptors.hooks.targets import AllowList, Target, allows
from vacate.sdk.values import OnFailure

_PATH = re.compile(r"[A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+)*")
_MAX_REFERENCE = 253
_MAX_JOB = 63


class HookRefused(VacateError):
    """The annotations of a pod name no hook that it may have; the message says what to change."""


@dataclass(frozen=True, slots=True)
class HttpHook:
    """A service to be called."""

    target: Target
    url: str
    timeout: float


@dataclass(frozen=True, slots=True)
class JobHook:
    """A Job to be made from the template of a CronJob."""

    cron_job: str
    timeout: float


Hook = HttpHook | JobHook


def hook_of(annotations: Mapping[str, str], namespace: str, allowed: AllowList) -> Hook | None:
    """The hook; None where the pod names none. HookRefused where it names one that it may not have."""
    target, job = annotations.get(TARGET), annotations.get(JOB)
    if target is None and job is None:
        return None
    if target is not None and job is not None:
        raise HookRefused(f"annotations {TARGET} and {JOB} exclude each other; remove one of them")
    if (mode := annotations.get(ON_FAILURE)) is not None and mode not in tuple(OnFailure):
        raise HookRefused(f"annotation {ON_FAILURE}: {_shown(mode)} is neither HandOver nor Hold")
    if target is not None:
        return _http(target, annotations, namespace, allowed)
    return _job(job or "", annotations, namespace, allowed)


def failure_mode(annotations: Mapping[str, str]) -> OnFailure:
    """What becomes of the turn when the hook has failed. Only the right word holds a turn."""
    return OnFailure.HOLD if annotations.get(ON_FAILURE) == OnFailure.HOLD else OnFailure.HAND_OVER


def _http(text: str, annotations: Mapping[str, str], namespace: str, allowed: AllowList) -> HttpHook:
    name, slash, path = text.partition("/")
    if len(text) > _MAX_REFERENCE or dns1123_label(name):
        raise HookRefused(
            f"annotation {TARGET}: {_shown(text)} names no target; write the name of a target that the "
            "administrator has allowed, and no address"
        )
    target = allowed.targets.get(name)
    # The same words for both: which targets there are is not for every namespace to know.
    if target is None or not allows(target.namespaces, namespace):
        raise HookRefused(
            f"annotation {TARGET}: target {name} is not allowed for namespace {namespace}; ask the "
            "administrator to add it to the allow-list of vacate hooks"
        )
    if slash and not target.allow_paths:
        raise HookRefused(f"annotation {TARGET}: target {name} takes no path; write {name}")
    if slash and (not _PATH.fullmatch(path) or set(path.split("/")) & {".", ".."}):
        raise HookRefused(
            f"annotation {TARGET}: {_shown(path)} is not a path; it may have letters, digits, - . _ ~ and /, "
            "and no part that is . or .."
        )
    return HttpHook(
        target, f"{target.url}/{path}" if slash else target.url, _seconds(annotations, target.timeout)
    )


def _job(name: str, annotations: Mapping[str, str], namespace: str, allowed: AllowList) -> JobHook:
    if len(name) > _MAX_JOB or dns1123_subdomain(name):
        raise HookRefused(f"annotation {JOB}: {_shown(name)} is not the name of a CronJob")
    if allowed.jobs is None or not allows(allowed.jobs.namespaces, namespace):
        raise HookRefused(
            f"annotation {JOB}: Jobs are not allowed for namespace {namespace}; ask the administrator to add "
            "it to the allow-list of vacate hooks"
        )
    return JobHook(name, _seconds(annotations, allowed.jobs.timeout))


def _seconds(annotations: Mapping[str, str], longest: float) -> float:
    text = annotations.get(TIMEOUT)
    if text is None:
        return longest
    seconds = seconds_of(text)
    if seconds is None or not 1 <= seconds <= longest:
        raise HookRefused(
            f"annotation {TIMEOUT}: {_shown(text)} is not a span of time between 1s and {_span(longest)}; "
            "write 90s, 30m or 1h30m"
        )
    return seconds


def _span(seconds: float) -> str:
    return human_duration(dt.timedelta(seconds=seconds))


def _shown(text: str) -> str:
    return ascii(text if len(text) <= 80 else f"{text[:79]}...")
