"""Draws in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from vacate.entropy import Entropy

T = TypeVar("T")


class Draws:
    """Draws from one source, in the order in which it is asked."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy

    def chance(self, of: float) -> bool:
        """Whether something of that probability happens."""
        return self._entropy.uniform(0, 1) < of

    def seconds(self, low: float, high: float) -> float:
        """A span, to the millisecond."""
        return round(self._entropy.uniform(low, high), 3)

    def number(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return min(low + int(self._entropy.uniform(0, high - low + 1)), high)

    def pick(self, of: Sequence[T]) -> T:
        """One of them."""
        return of[self.number(0, len(of) - 1)]

    def some(self, of: Sequence[T], count: int) -> list[T]:
        """So many different ones, in a drawn order."""
        left, drawn = list(of), []
        for _ in range(count):
            drawn.append(left.pop(self.number(0, len(left) - 1)))
        return drawn
