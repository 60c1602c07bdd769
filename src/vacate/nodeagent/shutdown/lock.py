"""Taking the delay lock: first the limit that logind sets to delays, then the lock itself."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass

from vacate.api.durations import format_duration
from vacate.clock import Clock
from vacate.nodeagent.shutdown.protocol import LockHolder, LogindSession, LogindUnavailable

log = logging.getLogger(__name__)

WHY = "Vacate terminates the pods of this node in order"
MARGIN_SECONDS = 1.0
"""What the agent needs itself: to hear of the shutdown, and to release the lock in time."""
MAX_SPARE = 2.0
SHORT = "logind delays a shutdown by {} at most"
_MAX_READS = 6
_FIRST_READ_DELAY = 0.1


@dataclass(frozen=True, slots=True)
class Grant:
    """The seconds that pods have. `missing` says why they are fewer than wanted."""

    seconds: float
    missing: str = ""


async def take_lock(session: LogindSession, holder: LockHolder, clock: Clock, wanted: float) -> Grant:
    """Take the lock and have it kept; raises LogindUnavailable, also where a lock would delay nothing."""
    grant = await _grant(session, clock, wanted)
    if grant.seconds <= 0:
        raise LogindUnavailable(grant.missing)
    fd = await session.inhibit(WHY)
    await holder.hold(fd, wanted)
    log.info(
        "registered a shutdown inhibitor: pods have up to %s", format_duration(min(grant.seconds, wanted))
    )
    return grant


def usable(limit: float) -> float:
    """How much of logind's limit is the pods'."""
    return limit - min(MARGIN_SECONDS, limit * 0.05)


def spare(granted: float, total: float) -> float:
    """How long the lock may be held beyond the time of the pods, for the status of those that were killed."""
    return min(MAX_SPARE, max(granted - total, 0.0) + max(min(MARGIN_SECONDS, granted / 19), 0.0) / 2)


async def _grant(session: LogindSession, clock: Clock, wanted: float) -> Grant:
    limit = await session.delay_limit()
    if usable(limit) >= wanted:
        return Grant(usable(limit))
    why = "Another file in logind.conf.d may set InhibitDelayMaxSec after ours"
    try:
        await session.raise_delay_limit(max(wanted + MARGIN_SECONDS, limit))
    except LogindUnavailable as error:
        why = str(error)
    else:
        pause = _FIRST_READ_DELAY
        for _ in range(_MAX_READS):
            limit = await session.delay_limit()
            if usable(limit) >= wanted:
                return Grant(usable(limit))
            await clock.sleep(pause)
            pause *= 2
    if limit > 0:
        short = (
            f"{SHORT.format(format_duration(limit))}, and pods have "
            f"{format_duration(wanted)}: every bucket is shortened in proportion"
        )
    else:
        short = "logind delays no shutdown (InhibitDelayMaxSec is 0), so that no pod is terminated in order"
    wanted_limit = math.ceil(wanted + MARGIN_SECONDS)
    return Grant(usable(limit), f"{short}. {why}; set InhibitDelayMaxSec in logind.conf to {wanted_limit}")
