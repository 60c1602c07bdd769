"""Until when something may still happen in the simulated cluster by itself, while nothing is written. Pure.

Once nothing has changed for longer than any eviction waits for its next attempt, and the last of these
moments is over, nothing will change any more.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Iterator

from vacate.api.objects import Obj, dig
from vacate.api.times import after, parse_time
from vacate.api.types import Deployment
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.nodemaintenance import DELETE
from vacate.client.codec import codec_for
from vacate.eviction.model import Stage
from vacate.eviction.records.reader import assigned, shown_stage
from vacate.interceptors.deployment.decision import limit_of

MARGIN = dt.timedelta(minutes=1)
"""What is due is written a moment later."""


def last_moment(
    began: dt.datetime,
    *,
    pods: Iterable[Obj] = (),
    maintenances: Iterable[Obj] = (),
    jobs: Iterable[Obj] = (),
    tainted: Collection[str] = (),
    requests: Iterable[EvictionRequest] = (),
    turn_seconds: float = 0.0,
) -> dt.datetime:
    """The last moment that is known by which something happens; the beginning where there is none.

    `tainted` are the nodes from which pods go that do not tolerate their taints for good. `turn_seconds` is
    how long a turn takes at most, however often its interceptor reports. Turns that were under way at the
    beginning count from there.
    """
    moments = [began, *_ends(pods, began, tainted), *_deletions(maintenances), *_deadlines_of(jobs)]
    for one in requests:
        if shown_stage(one) is Stage.INTERCEPTING:
            turn = assigned(one)
            since = max(began, (turn and turn.last_transition_time) or began)
            moments.append(after(since, max(turn_seconds, one.spec.heartbeat_deadline.total_seconds())))
    return max(moments)


def surge_seconds(deployments: Iterable[Obj]) -> float:
    """How long a replacement that is started before an eviction is waited for at most, for any of them."""
    return float(max((limit_of(codec_for(Deployment).convert(one)) for one in deployments), default=0))


def _ends(pods: Iterable[Obj], began: dt.datetime, tainted: Collection[str]) -> Iterator[dt.datetime]:
    """When pods have used up their grace period, and when the taints of their nodes evict them."""
    for pod in pods:
        if (moment := _moment(dig(pod, "metadata", "deletionTimestamp"))) is not None:
            yield moment
        elif dig(pod, "spec", "nodeName") in tainted:
            tolerated = [one.get("tolerationSeconds") for one in dig(pod, "spec", "tolerations") or ()]
            yield after(began, max((one for one in tolerated if isinstance(one, int)), default=0))


def _deletions(maintenances: Iterable[Obj]) -> Iterator[dt.datetime]:
    """When drains delete the pods that are left; a deadline that is only reported changes nothing."""
    for one in maintenances:
        if dig(one, "spec", "onDeadline") == DELETE:
            for row in dig(one, "status", "nodes") or ():
                if (moment := _moment(row.get("deadlineTime"))) is not None:
                    yield moment


def _deadlines_of(jobs: Iterable[Obj]) -> Iterator[dt.datetime]:
    """When Jobs are given up, and their pods deleted."""
    for one in jobs:
        began, seconds = _moment(dig(one, "status", "startTime")), dig(one, "spec", "activeDeadlineSeconds")
        if began is not None and isinstance(seconds, int):
            yield after(began, seconds)


def _moment(text: object) -> dt.datetime | None:
    try:
        return parse_time(text) if isinstance(text, str) else None
    except (ValueError, OverflowError):
        return None
