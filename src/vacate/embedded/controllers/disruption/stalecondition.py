"""A pod that was marked for disruption and not deleted: when is the mark no longer true?"""

from __future__ import annotations

import datetime as dt

from vacate.api.times import EARLIEST, after
from vacate.api.types import Pod, condition
from vacate.kube.podend import DISRUPTION_TARGET

STALE_AFTER = dt.timedelta(minutes=2)
_BY_KUBELET = "TerminationByKubelet"


def stale_at(pod: Pod) -> dt.datetime | None:
    """When the mark turns stale, None where there is none or where it stays true.

    A kubelet may take any time from its mark to the deletion, and a finished pod keeps its mark as a record.
    """
    mark = condition(pod.status.conditions, DISRUPTION_TARGET)
    if mark is None or mark.status != "True" or mark.reason == _BY_KUBELET:
        return None
    if pod.terminating or pod.terminal:
        return None
    since = mark.last_transition_time or EARLIEST
    return after(since, STALE_AFTER)
