"""Which pods of a raised Deployment are the surge, so that taking it back removes exactly them.

Times of creation have whole seconds, and a surge may begin in the second in which the Deployment's other pods
were created. Age alone therefore does not tell: the record names the young pods that were there before.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence

import msgspec

from vacate.api.times import EARLIEST, after
from vacate.api.types import Pod
from vacate.kube.deletionorder import is_active
from vacate.kube.surge import SurgeRecord

YOUNG_POD_SECONDS = 60
"""Seconds before a surge: only pods created since then are named. Clocks of servers differ by less."""
UID_LENGTH = 8
"""Characters of a UID that the record keeps: enough for the pods of one minute, and thousands still fit."""


def surge_pods(record: SurgeRecord, pods: Sequence[Pod]) -> list[Pod]:
    """The pods that were created since the surge began, in the order in which they should go.

    Those that are not ready are first, then the youngest: of pods of the same surge any may go.
    """
    found = [pod for pod in pods if is_active(pod) and _is_new(pod, record)]
    found.sort(key=lambda pod: pod.metadata.creation_timestamp or EARLIEST, reverse=True)
    found.sort(key=lambda pod: pod.ready)
    return found


def surplus_pods(record: SurgeRecord, pods: Sequence[Pod], kept: Collection[str], count: int) -> list[Pod]:
    """Which pods go when so many of the surge are taken back; none of those that were there before."""
    return [pod for pod in surge_pods(record, pods) if pod.metadata.uid not in kept][:count]


def naming_earlier(
    record: SurgeRecord,
    before: SurgeRecord | None,
    pods: Sequence[Pod],
    going: Collection[str],
    now: dt.datetime,
) -> SurgeRecord:
    """The record with the young pods that are not of the surge.

    A surge of which pods were removed in their turn has left replacements: they belong to the Deployment now.
    """
    began = now if before is None else before.began
    left = [pod for pod in pods if is_active(pod) and pod.metadata.uid not in going]
    surge: set[str] = set()
    if before is not None:
        still = min(len(record.pods), len(before.pods))
        surge = {pod.metadata.uid for pod in surge_pods(before, left)[:still]}
    named = msgspec.structs.replace(record, began=began, earlier=())
    young = [pod.metadata.uid for pod in left if _is_new(pod, named) and pod.metadata.uid not in surge]
    return msgspec.structs.replace(named, earlier=tuple(sorted(uid[:UID_LENGTH] for uid in young)))


def _is_new(pod: Pod, record: SurgeRecord) -> bool:
    meta = pod.metadata
    if meta.uid in record.pods or meta.uid[:UID_LENGTH] in record.earlier:
        return False
    if record.began is None or meta.creation_timestamp is None:
        return True
    return meta.creation_timestamp >= after(record.began, -YOUNG_POD_SECONDS)
