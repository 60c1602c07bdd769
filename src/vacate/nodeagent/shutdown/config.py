"""PURE. The configuration of graceful node shutdown: fields of KubeletConfiguration, as the kubelet has them.

An administrator's file can be used as it is: fields that are not about shutdown are left alone, and so are
feature gates of the kubelet that nothing here knows.
"""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vacate.api.durations import format_duration, parse_duration
from vacate.api.integers import MAX_INT32, MIN_INT32
from vacate.errors import ConfigError, ConfigErrors
from vacate.features import FeatureGates
from vacate.nodeagent.shutdown.buckets import SYSTEM_CRITICAL_PRIORITY, Bucket, total_seconds

GATE = "GracefulNodeShutdown"
PRIORITY_GATE = "GracefulNodeShutdownBasedOnPodPriority"
TOTAL, CRITICAL = "shutdownGracePeriod", "shutdownGracePeriodCriticalPods"
BY_PRIORITY = "shutdownGracePeriodByPodPriority"
FIELDS = (TOTAL, CRITICAL, BY_PRIORITY)
ENTRY_FIELDS = ("priority", "shutdownGracePeriodSeconds")
KIND, API_VERSION = "KubeletConfiguration", "kubelet.config.k8s.io/v1beta1"

_MAX_SECONDS = MAX_INT32
_MAX_DURATION = 100


@dataclass(frozen=True, slots=True)
class ShutdownConfig:
    """How a node shuts down. Without buckets the feature is off, and `disabled_because` says why."""

    buckets: tuple[Bucket, ...] = ()
    disabled_because: str = f"neither {TOTAL} nor {BY_PRIORITY} is set"
    spread_over: float = 0.0  # if not 0: so much time in all, shared by the buckets that have pods

    @property
    def enabled(self) -> bool:
        """Whether pods are terminated in order when the node shuts down."""
        return bool(self.buckets)

    @property
    def total_seconds(self) -> float:
        """The longest that a shutdown can take."""
        return self.spread_over or total_seconds(self.buckets)


_brief = reprlib.Repr()
_brief.maxlevel, _brief.maxstring, _brief.maxother, _brief.maxlong = 2, 60, 60, 60


def shown(value: object) -> str:
    """A value for an error message, however large or deep it is."""
    return _brief.repr(value)


def migrate(total: float, critical: float) -> tuple[Bucket, ...]:
    """The two periods of the older configuration as buckets: critical pods last, the others before them."""
    return (Bucket(0, total - critical), Bucket(SYSTEM_CRITICAL_PRIORITY, critical))


def read_config(document: Any, gates: FeatureGates | None = None, source: str = "") -> ShutdownConfig:
    """What a KubeletConfiguration says about shutdown, or one ConfigError with everything that is wrong.

    `gates` are those of the command line; the file's own `featureGates` apply where those say nothing.
    """
    problems: list[str] = []
    if not isinstance(document, Mapping):
        raise ConfigError(f"{source or 'the file'}: not a {KIND}: a mapping of fields is expected")
    for name, wanted in (("kind", KIND), ("apiVersion", API_VERSION)):
        if document.get(name) != wanted:
            problems.append(f"{name}: must be {wanted}, not {shown(document.get(name))}")
    for name in document:
        if meant := _misspelt(name):
            problems.append(f"{name}: is not a field; write {meant}")
    enabled = _gates(document.get("featureGates"), gates or FeatureGates(), problems)
    total, critical = _period(document, TOTAL, problems), _period(document, CRITICAL, problems)
    entries = _entries(document.get(BY_PRIORITY), problems)
    if not problems:
        _check_together(document, total, critical, entries, enabled, problems)
    if problems:
        raise ConfigErrors(f"{source}: {one}" if source else one for one in problems)
    return _made(total, critical, entries, enabled)


def _made(
    total: float, critical: float, entries: tuple[Bucket, ...], enabled: Mapping[str, bool]
) -> ShutdownConfig:
    if not enabled[GATE]:
        return ShutdownConfig((), f"feature gate {GATE} is off")
    if entries:
        if total_seconds(entries) > 0:
            return ShutdownConfig(tuple(sorted(entries, key=lambda one: one.priority)), "")
        return ShutdownConfig((), f"every entry of {BY_PRIORITY} has 0 seconds")
    return ShutdownConfig(migrate(total, critical), "") if total > 0 else ShutdownConfig()


def _check_together(
    document: Mapping[str, Any],
    total: float,
    critical: float,
    entries: tuple[Bucket, ...],
    enabled: Mapping[str, bool],
    problems: list[str],
) -> None:
    if critical > total:
        problems.append(
            f"{CRITICAL}: must not be longer than {TOTAL}, which is {format_duration(total)}: it is the last "
            "part of it; raise that or lower this"
        )
    if entries and (total or critical):
        given = TOTAL if total else CRITICAL
        problems.append(f"{BY_PRIORITY}: cannot be combined with {given}; remove one of the two")
    if (entries or total) and not enabled[GATE] and GATE in (document.get("featureGates") or {}):
        return  # switched off in the file on purpose; the periods may stay for later
    if entries and not enabled[PRIORITY_GATE]:
        problems.append(f"{BY_PRIORITY}: needs feature gate {PRIORITY_GATE}; open it, or use {TOTAL}")


def _misspelt(name: object) -> str:
    """Which field was meant by one that nobody has: left alone, it would switch the feature off unnoticed."""
    if not isinstance(name, str) or name in FIELDS or not name.lower().startswith(TOTAL.lower()):
        return ""
    close = difflib.get_close_matches(name.lower(), [one.lower() for one in FIELDS], 1, 0.9)
    return next((one for one in FIELDS if one.lower() in close), "")


def _gates(given: Any, flags: FeatureGates, problems: list[str]) -> dict[str, bool]:
    chosen = {name: flags.enabled(name) for name in (GATE, PRIORITY_GATE)}
    if given is None:
        return chosen
    if not isinstance(given, Mapping):
        problems.append("featureGates: must map names of gates to true or false")
        return chosen
    for name in chosen:
        if name not in given or name in dict(flags.overrides):
            continue
        if isinstance(given[name], bool):
            chosen[name] = given[name]
        else:
            problems.append(f"featureGates.{name}: must be true or false, not {shown(given[name])}")
    return chosen


def _period(document: Mapping[str, Any], name: str, problems: list[str]) -> float:
    value = document.get(name)
    if value is None:
        return 0.0
    if not isinstance(value, str):
        problems.append(f"{name}: must be a duration such as 30s, not {shown(value)}")
        return 0.0
    try:
        if len(value) > _MAX_DURATION:
            raise ValueError(f"{shown(value)} is longer than any duration is written")
        seconds = parse_duration(value)
    except ValueError as error:
        problems.append(f"{name}: {error}")
        return 0.0
    if seconds < 0 or 0 < seconds < 1 or seconds > _MAX_SECONDS:
        problems.append(f"{name}: must be 0, or from 1s to {_MAX_SECONDS}s, not {value}")
        return 0.0
    return seconds


def _entries(given: Any, problems: list[str]) -> tuple[Bucket, ...]:
    if given is None:
        return ()
    if not isinstance(given, list):
        problems.append(f"{BY_PRIORITY}: must be a list of entries with {' and '.join(ENTRY_FIELDS)}")
        return ()
    made: dict[int, Bucket] = {}
    for index, entry in enumerate(given):
        path = f"{BY_PRIORITY}[{index}]"
        if not isinstance(entry, Mapping):
            problems.append(f"{path}: must have {' and '.join(ENTRY_FIELDS)}")
            continue
        for name in entry:
            if name not in ENTRY_FIELDS:
                problems.append(f"{path}: has no field {shown(name)}; there are {' and '.join(ENTRY_FIELDS)}")
        priority = _integer(entry, "priority", path, MIN_INT32, MAX_INT32, problems)
        seconds = _integer(entry, "shutdownGracePeriodSeconds", path, 0, _MAX_SECONDS, problems)
        if priority is None or seconds is None:
            continue
        if priority in made:
            problems.append(f"{path}.priority: {priority} is given twice; keep one entry of each value")
            continue
        made[priority] = Bucket(priority, float(seconds))
    return tuple(made.values())


def _integer(
    entry: Mapping[str, Any], name: str, path: str, least: int, most: int, problems: list[str]
) -> int | None:
    value = entry.get(name, 0)  # Kubernetes omits a zero
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    problems.append(f"{path}.{name}: must be an integer from {least} to {most}, not {shown(value)}")
    return None
