"""How often a controller reports: two whose caches differ would overwrite each other without end."""

from __future__ import annotations

import datetime as dt

FIRST_BACKOFF, MAX_BACKOFF = dt.timedelta(seconds=0.5), dt.timedelta(seconds=30)
FORGOTTEN_AFTER = dt.timedelta(seconds=60)


class ReportBackoff:
    """By policy: a report that follows soon after another waits twice as long. Fences never wait."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[dt.datetime, dt.timedelta]] = {}  # the last report, the pause after it

    def held_until(self, policy: str, now: dt.datetime) -> dt.datetime | None:
        """When the next report may be written; None where it may be now."""
        if policy not in self._last:
            return None
        at, pause = self._last[policy]
        return at + pause if at <= now < at + pause else None

    def reported(self, policy: str, now: dt.datetime) -> None:
        """One was written."""
        at, pause = self._last.get(policy, (now, dt.timedelta(0)))
        recent = pause and now - at < FORGOTTEN_AFTER
        self._last[policy] = (now, min(2 * pause, MAX_BACKOFF) if recent else FIRST_BACKOFF)

    def forget(self, policy: str) -> None:
        """It is gone."""
        self._last.pop(policy, None)
