"""How long pods take on a simulated node: defaults, and what a pod's annotations say instead.

| annotation | meaning | default |
|---|---|---|
| `sim.vacate.dev/start-seconds` | from the pod's arrival on the node until its containers run | 1 |
| `sim.vacate.dev/ready-seconds` | from then until they are ready; `never` for a pod that stays unready | 0 |
| `sim.vacate.dev/stop-seconds` | how long they take to end when asked; the grace period bounds it | 1 |
| `sim.vacate.dev/run-seconds` | after how long they end by themselves; `never` | never; 1 for pods of Jobs |
| `sim.vacate.dev/exit-code` | with which code they end, by themselves or asked; 137 when killed | 0 |
| `sim.vacate.dev/termination-message` | what their termination message says, up to 4096 characters | none |

Seconds are numbers of at least zero, with a fraction if need be, or `never`. A value that cannot be read is
as good as none. All containers of a pod keep the same times. A change of the run time counts at once, also
for containers that run; other changes count from the next step on: the stop time until the pod is asked to
stop, the others until its containers start anew.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from vacate.api import times
from vacate.api.kinds import JOBS

PREFIX = "sim.vacate.dev/"
START = PREFIX + "start-seconds"
READY = PREFIX + "ready-seconds"
STOP = PREFIX + "stop-seconds"
RUN = PREFIX + "run-seconds"
EXIT_CODE = PREFIX + "exit-code"
MESSAGE = PREFIX + "termination-message"
MAX_MESSAGE = 4096

NEVER = math.inf
JOB_RUN = 1.0
"""What a pod of a Job runs for where nothing else is given: it is there to end."""
_AS_GOOD_AS_NEVER = 100 * 365 * 86400.0


@dataclass(frozen=True, slots=True)
class PodTimings:
    """The times of one pod, in seconds; `NEVER` is allowed."""

    start: float = 1.0
    ready: float = 0.0
    stop: float = 1.0
    run: float = NEVER
    exit_code: int = 0


def timings_for(annotations: Mapping[str, str], defaults: PodTimings, owner: str = "") -> PodTimings:
    """The defaults, with what the annotations say instead; `owner` is the kind of the pod's controller."""
    if owner == JOBS.kind and defaults.run == NEVER:
        defaults = replace(defaults, run=JOB_RUN)
    if not any(key.startswith(PREFIX) for key in annotations):
        return defaults
    return PodTimings(
        start=_seconds(annotations.get(START), defaults.start),
        ready=_seconds(annotations.get(READY), defaults.ready),
        stop=_seconds(annotations.get(STOP), defaults.stop),
        run=_seconds(annotations.get(RUN), defaults.run),
        exit_code=_code(annotations.get(EXIT_CODE), defaults.exit_code),
    )


def after(moment: dt.datetime, seconds: float) -> dt.datetime | None:
    """The moment that many seconds later, or None for never."""
    return None if seconds >= _AS_GOOD_AS_NEVER else times.after(moment, seconds)


def earliest(*moments: dt.datetime | None) -> dt.datetime | None:
    """The first of the moments that will come at all."""
    return min((moment for moment in moments if moment is not None), default=None)


def _seconds(text: str | None, default: float) -> float:
    if text is None:
        return default
    if text == "never":
        return NEVER
    try:
        seconds = float(text)
    except ValueError:
        return default
    return seconds if 0 <= seconds < math.inf else default


def _code(text: str | None, default: int) -> int:
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 3:
        return default
    return int(text) if int(text) <= 255 else default
