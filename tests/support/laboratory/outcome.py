"""What one seed came to: which invariants were broken, what happened, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from vacate.sim.invariants.names import Invariant


class Enough(Exception):
    """A breach was found; the rest of the seed does not matter."""


class Breach(NamedTuple):
    """An invariant that was broken."""

    invariant: Invariant
    text: str

    def __str__(self) -> str:
        return f"{self.text} (broken: {self.invariant})"


@dataclass(slots=True)
class Outcome:
    """Breaches, a timeline, and counters of what happened."""

    breaches: list[Breach] = field(default_factory=list)
    timeline: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    time: Callable[[], float] = lambda: 0.0
    stops: bool = False  # whether one breach is enough, as where a rule was taken out

    def check(self) -> None:
        """Raise Enough where a breach was found and one is enough."""
        if self.stops and self.breaches:
            raise Enough(self.breaches[0].text)

    def note(self, text: str) -> None:
        """Add a line to the timeline."""
        self.timeline.append(f"{self.time():8.1f} s  {text}")

    def breach(self, broken: Invariant, text: str) -> None:
        """An invariant was broken; each breach is kept once."""
        found = Breach(broken, text)
        if found not in self.breaches:
            self.breaches.append(found)
            self.note(f"BREACH: {found}")

    def breach_all(self, broken: Invariant, texts: Iterable[str]) -> None:
        """The same of several."""
        for text in texts:
            self.breach(broken, text)

    def described(self, lines: int = 200) -> str:
        """Everything, for people; of a long timeline the end."""
        left = max(len(self.timeline) - lines, 0)
        shown = [f"  ({left} lines before)"] if left else []
        shown += [f"  {one}" for one in self.timeline[left:]]
        return "\n".join([*map(str, self.breaches), "timeline:", *shown])
