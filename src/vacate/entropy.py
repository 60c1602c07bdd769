"""The only source of randomness and of uids.

A seeded source gives the same sequence in every process, which is what makes a simulation repeatable.
"""

from __future__ import annotations

import random
import uuid
from typing import Protocol

# What Kubernetes uses for generated names: no vowels and no digits that read like letters.
_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


class Entropy(Protocol):
    """Where uids, name suffixes and jitter come from."""

    def uid(self) -> str:
        """A fresh version 4 UUID."""
        ...

    def suffix(self, length: int = 5) -> str:
        """Random characters for the end of a generated name."""
        ...

    def uniform(self, low: float, high: float) -> float:
        """A number in [low, high]."""
        ...


class RandomEntropy:
    """Entropy from a random generator: the system's, or a seeded one."""

    def __init__(self, source: random.Random) -> None:
        self._source = source

    def uid(self) -> str:
        """A version 4 UUID from 128 bits of the source."""
        return str(uuid.UUID(int=self._source.getrandbits(128), version=4))

    def suffix(self, length: int = 5) -> str:
        """Characters of the alphabet that Kubernetes uses for generated names."""
        return "".join(self._source.choices(_SUFFIX_ALPHABET, k=length))

    def uniform(self, low: float, high: float) -> float:
        """A number in [low, high] from the source."""
        return self._source.uniform(low, high)


def system_entropy() -> RandomEntropy:
    """Entropy of the operating system."""
    return RandomEntropy(random.SystemRandom())


def seeded_entropy(seed: int) -> RandomEntropy:
    """The same sequence for the same seed, in every process."""
    return RandomEntropy(random.Random(seed))  # noqa: S311  not for secrets
