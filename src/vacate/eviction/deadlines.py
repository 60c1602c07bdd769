"""When an interceptor has been silent for too long, and who is next."""

from __future__ import annotations

import datetime as dt

from vacate.eviction.model import Process

CLOCK_TOLERANCE = dt.timedelta(seconds=10)
"""How far two honest clocks may be apart."""

FUTURE_TOLERANCE = 2 * CLOCK_TOLERANCE
"""How far ahead of ours a heartbeat of an honest clock may be: its clock and ours are each that far off."""

_LISTENING_SHARE = 10


def deadline_of(process: Process, now: dt.datetime | None = None) -> dt.datetime:
    """When the silence of the active interceptor becomes too long. `now` caps a heartbeat from the future."""
    heard = process.heartbeat or process.created
    return (heard if now is None else min(heard, now + CLOCK_TOLERANCE)) + process.deadline


def from_the_future(process: Process, now: dt.datetime) -> bool:
    """Whether the heartbeat lies further ahead than honest clocks differ."""
    return process.heartbeat is not None and process.heartbeat - now > FUTURE_TOLERANCE


def overdue_at(process: Process, watching_since: dt.datetime, now: dt.datetime) -> dt.datetime:
    """The same, for someone who may not have listened all the time.

    An outage of the API server must not look like the silence of every interceptor, so nobody is given up
    before a tenth of the deadline has been watched without a gap. Who was given up before stays so, until a
    newer heartbeat.
    """
    if given_up(process, now):
        return deadline_of(process, now)
    return max(deadline_of(process, now), watching_since + process.deadline / _LISTENING_SHARE)


def next_turn(process: Process) -> str | None:
    """The interceptor after the active one; the first where none was active, None where none is left."""
    if process.active is None:
        return process.interceptors[0] if process.interceptors else None
    if process.active not in process.interceptors:
        return None
    following = process.interceptors.index(process.active) + 1
    return process.interceptors[following] if following < len(process.interceptors) else None


def may_pass_on(process: Process, now: dt.datetime) -> bool:
    """Whether a server accepts that the turn passes on: done, or silent for too long by its own clock."""
    if process.active is None or process.active_completed:
        return True
    return now >= deadline_of(process) - CLOCK_TOLERANCE


def given_up(process: Process, now: dt.datetime) -> bool:
    """Whether the last interceptor was given up before: an eviction was refused already.

    Who has just begun to listen does not wait again then, and a decider whose clock is behind goes along, so
    that two deciders do not write against each other. A newer heartbeat moves the deadline, and with it this.
    The counter is the controller's own field; a condition would be a report only.
    """
    return process.failed_evictions > 0 and now >= deadline_of(process) - CLOCK_TOLERANCE
