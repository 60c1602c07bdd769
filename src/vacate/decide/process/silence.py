"""When an interceptor has been silent for too long, and who is next."""

from __future__ import annotations

import datetime as dt

from vacate.decide.process.model import Process, Stage

CLOCK_TOLERANCE = dt.timedelta(seconds=10)
"""How far two honest clocks may be apart."""

_LISTENING_SHARE = 10


def deadline_of(process: Process) -> dt.datetime:
    """When the silence of the active interceptor becomes too long."""
    return (process.heartbeat or process.created) + process.deadline


def overdue_at(process: Process, watching_since: dt.datetime) -> dt.datetime:
    """The same, for someone who may not have listened all the time.

    An outage of the API server must not look like the silence of every interceptor, so nobody is given up
    before a tenth of the deadline has been watched without a gap. Who was given up before stays so, until a
    newer heartbeat.
    """
    if given_up(process):
        return deadline_of(process)
    return max(deadline_of(process), watching_since + process.deadline / _LISTENING_SHARE)


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


def given_up(process: Process) -> bool:
    """Whether someone has written down that the deadline has passed: by their clock, and after listening.

    Whoever has a clock that is behind, or has just begun to listen, goes along, so that two deciders do not
    write against each other. A newer heartbeat moves the deadline, and with it this.
    """
    if process.stage is not Stage.BLOCKED or process.stage_since is None:
        return False
    return process.stage_since >= deadline_of(process)
