"""When an interceptor has missed its heartbeat deadline, and which one is next."""

from __future__ import annotations

import datetime as dt

from vacate.eviction.model import EvictionState

CLOCK_TOLERANCE = dt.timedelta(seconds=10)
"""How far two honest clocks may be apart."""

FUTURE_TOLERANCE = 2 * CLOCK_TOLERANCE
"""How far ahead of ours a heartbeat of an honest clock may be: its clock and ours are each that far off."""

_WATCHED_SHARE = 10


def deadline_of(process: EvictionState, now: dt.datetime | None = None) -> dt.datetime:
    """The heartbeat deadline of the active interceptor. `now` caps a heartbeat from the future."""
    last = process.heartbeat or process.created
    return (last if now is None else min(last, now + CLOCK_TOLERANCE)) + process.deadline


def from_the_future(process: EvictionState, now: dt.datetime) -> bool:
    """Whether the heartbeat lies further ahead than honest clocks differ."""
    if process.heartbeat is None or process.trusts_heartbeats:
        return False
    return process.heartbeat - now > FUTURE_TOLERANCE


def overdue_at(process: EvictionState, watching_since: dt.datetime, now: dt.datetime) -> dt.datetime:
    """The same, for a controller that may not have watched all the time.

    An outage of the API server must not look like missing heartbeats of every interceptor, so none is timed
    out before a tenth of the deadline has been watched without a gap. One that timed out before stays timed
    out until a newer heartbeat.
    """
    if timed_out_before(process, now):
        return deadline_of(process, now)
    return max(deadline_of(process, now), watching_since + process.deadline / _WATCHED_SHARE)


def next_turn(process: EvictionState) -> str | None:
    """The interceptor after the active one; the first where none was active, None where none is left."""
    if process.active is None:
        return process.interceptors[0] if process.interceptors else None
    if process.active not in process.interceptors:
        return None
    following = process.interceptors.index(process.active) + 1
    return process.interceptors[following] if following < len(process.interceptors) else None


def timed_out_before(process: EvictionState, now: dt.datetime) -> bool:
    """Whether the last interceptor timed out before: an eviction was refused already.

    A controller that has just started does not wait again then, and one whose clock is behind agrees, so that
    two controllers do not write against each other. A newer heartbeat moves the deadline, and with it this.
    The counter is the controller's own field; a condition would be a report only.
    """
    return process.failed_evictions > 0 and now >= deadline_of(process) - CLOCK_TOLERANCE
