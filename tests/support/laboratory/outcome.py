"""What one seed came to: what went against the rules, what happened, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field


class Enough(Exception):
    """A breach was found; the rest of the seed does not matter."""


@dataclass(slots=True)
class Outcome:
    """Breaches, a timeline, and counters of what happened."""

    breaches: list[str] = field(default_factory=list)
    timeline: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    time: Callable[[], float] = lambda: 0.0
    stops: bool = False  # whether one breach is enough, as where a rule was taken out

    def check(self) -> None:
        """Raise Enough where a breach was found and one is enough."""
        if self.stops and self.breaches:
            raise Enough(self.breaches[0])

    def note(self, text: str) -> None:
        """Add a line to the timeline."""
        self.timeline.append(f"{self.time():8.1f} s  {text}")

    def breach(self, text: str) -> None:
        """Something went against the rules; each is kept once."""
        if text not in self.breaches:
            self.breaches.append(text)
            self.note(f"BREACH: {text}")

    def described(self, lines: int = 200) -> str:
        """Everything, for people; of a long timeline the end."""
        left = max(len(self.timeline) - lines, 0)
        shown = [f"  ({left} lines before)"] if left else []
        return "\n".join([*self.breaches, "timeline:", *shown, *(f"  {one}" for one in self.timeline[left:])])
