"""Random choices of one fault, and what a fault is."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from support.laboratory.cluster import LaboratoryCluster
from support.laboratory.hosts import NODES
from vacate.entropy import Entropy
from vacate.errors import VacateError


@dataclass(slots=True)
class Draw:
    """Draws for one step."""

    entropy: Entropy

    def node(self) -> str:
        return NODES[self.below(len(NODES))]

    def other(self, node: str) -> str:
        left = [one for one in NODES if one != node]
        return left[self.below(len(left))]

    def below(self, count: int) -> int:
        return min(int(self.entropy.uniform(0, count)), count - 1)

    def seconds(self, low: float, high: float) -> float:
        return self.entropy.uniform(low, high)


Fault = Callable[[LaboratoryCluster, Draw], Awaitable[None]]


async def tried(work: Awaitable[object]) -> None:
    """Do it; a refusal or a lost answer is as good."""
    with contextlib.suppress(VacateError):
        await work
