"""How many requests may be under way at once after a server has asked for a pause. PURE.

All that waited for the end of the pause would come at once, and a server that has room for one would turn
the rest away again. So the first comes alone, and each good answer makes room for one more, up to half of
what was too much. From there on it takes several, so that the limit is found and seldom passed.
"""

from __future__ import annotations

UNLIMITED_ABOVE = 64
"""With room for more than so many there is no limit any more."""

SUCCESSES_PER_STEP = 10
"""So many good answers make room for one more, where there is a reason for care."""


class SlowStart:
    """Counts requests and their answers. Without a refusal there is no limit."""

    def __init__(self) -> None:
        self._width: int | None = None  # None: no limit
        self._careful_from = 1  # the width from which on it grows slowly
        self._good = 0  # good answers since it last grew
        self._under_way = 0
        self._round = 0  # counts refusals; answers to what was sent before the last one say nothing new

    @property
    def width(self) -> int | None:
        """How many may be under way at once; None for any number."""
        return self._width

    @property
    def has_room(self) -> bool:
        """Whether one more may be sent."""
        return self._width is None or self._under_way < self._width

    def take(self) -> None:
        """One more has a place."""
        self._under_way += 1

    def sent(self) -> int:
        """A request leaves now; what is to be given back with its answer."""
        return self._round

    def leave(self) -> None:
        """A place is free again."""
        self._under_way -= 1

    def answered(self, sent: int) -> None:
        """The server has answered as servers that have time do."""
        if self._width is None or sent != self._round:
            return
        self._good += 1
        if self._good >= (1 if self._width < self._careful_from else SUCCESSES_PER_STEP):
            self._good = 0
            self._width = self._width + 1 if self._width < UNLIMITED_ABOVE else None

    def refused(self, sent: int) -> None:
        """The server has asked for a pause; those that were sent together are refused together."""
        if sent != self._round:
            return
        self._round += 1
        self._good = 0
        self._careful_from = max(min(self._under_way, self._width or self._under_way) // 2, 1)
        self._width = 1
