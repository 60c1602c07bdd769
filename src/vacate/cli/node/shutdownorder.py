"""PURE. What a shutdown would do: each bucket with its pods and their allotted time, in words to read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vacate.api.durations import format_duration
from vacate.nodeagent.shutdown.buckets import Group, ShutdownPod, fit, group_pods, spread
from vacate.nodeagent.shutdown.config import ShutdownConfig
from vacate.nodeagent.shutdown.lock import MARGIN_SECONDS, usable
from vacate.nodeagent.shutdownagent.kubelet import shares_bucket


@dataclass(frozen=True, slots=True)
class PodPreview:
    """One pod in its bucket; of a bucket without pods there is one without a pod."""

    bucket: str
    period: str
    latest_start: str = ""
    pod: str = ""
    priority: str = ""
    grace: str = ""
    interceptors: str = ""  # how long they have; empty without any
    allotted: str = ""


@dataclass(frozen=True, slots=True)
class Preview:
    """The order of a shutdown."""

    headline: str
    rows: tuple[PodPreview, ...] = ()


def preview(
    node: str,
    config: ShutdownConfig,
    pods: Iterable[ShutdownPod],
    prepared_before: Mapping[str, float] | None = None,
    limit: float | None = None,
) -> Preview:
    """The order in which this configuration ends these pods.

    `prepared_before` is for an agent beside a kubelet: how long the interceptors of which pods, by UID, have
    before the kubelet terminates any pod. Then no pod has less time for them. `limit` is logind's, where that
    is too short: every bucket is shortened.
    """
    if not config.enabled:
        why = config.disabled_because
        return Preview(f"node/{node}: graceful node shutdown is off, since {why}: all pods terminate at once")
    buckets = config.buckets if limit is None else fit(config.buckets, usable(limit))
    groups = group_pods(buckets, pods)
    count = sum(len(one.pods) for one in groups)
    used = format_duration(sum(one.bucket.seconds for one in groups if one.pods))
    rows: list[PodPreview] = []
    latest = 0.0
    for group in groups:
        rows += _rows(group, latest, prepared_before)
        latest += group.bucket.seconds if group.pods else 0.0
    needed = math.ceil(config.total_seconds + MARGIN_SECONDS)
    what = f"{count} {'pod terminates' if count == 1 else 'pods terminate'} within {used}"
    if prepared_before is not None:
        what += ", after interceptors had their time"
    headline = f"node/{node}: {what}; logind must allow a delay of {needed}s (InhibitDelayMaxSec)"
    return Preview(headline, tuple(rows))


def preparation(config: ShutdownConfig, pods: Iterable[ShutdownPod]) -> dict[str, float]:
    """How long interceptors have for which pod, by UID, with the config of an agent beside a kubelet."""
    prepared = [one for one in pods if one.interceptors and not shares_bucket(one, config)]
    groups = spread(group_pods(config.buckets, prepared), config.spread_over)
    return {one.uid: group.bucket.seconds for group in groups for one in group.pods}


def _rows(group: Group, latest: float, prepared_before: Mapping[str, float] | None) -> list[PodPreview]:
    bucket, period = str(group.bucket.priority), format_duration(group.bucket.seconds)
    if not group.pods:
        return [PodPreview(bucket, period)]
    rows: list[PodPreview] = []
    for one in group.pods:
        within = group.prepare_of(one) if prepared_before is None else 0.0  # of the bucket's own time
        prepare = within if prepared_before is None else prepared_before.get(one.uid, 0.0)
        rows.append(
            PodPreview(
                bucket,
                period,
                f"+{format_duration(latest)}",
                one.key,
                str(one.priority),
                format_duration(one.grace_seconds),
                format_duration(prepare) if one.interceptors else "",
                format_duration(min(group.grace_of(one), group.bucket.seconds - within)),
            )
        )
    return rows
