"""What happened in a simulation, as one digest.

Every random draw and every write goes in, with its virtual time. The same seed must give the same digest in
every process; with the entries kept, two traces show where they part.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from vacate.entropy import Entropy


class Trace:
    """A running digest; `keep` remembers the entries too."""

    def __init__(self, time: Callable[[], float], *, keep: bool = False) -> None:
        self._time = time
        self._hash = hashlib.blake2b(digest_size=16)
        self._entries: list[str] | None = [] if keep else None
        self.count = 0

    def add(self, what: str, detail: object) -> None:
        """Note one event at the present virtual time."""
        entry = f"{self._time():.9f} {what} {detail}\n"
        self._hash.update(entry.encode())
        self.count += 1
        if self._entries is not None:
            self._entries.append(entry)

    @property
    def digest(self) -> str:
        """Hexadecimal digest of all entries so far."""
        return self._hash.hexdigest()

    @property
    def entries(self) -> list[str]:
        """The entries so far; empty unless they are kept."""
        return list(self._entries or ())


class TracedEntropy:
    """Entropy whose every draw is noted."""

    def __init__(self, source: Entropy, trace: Trace, name: str = "draw") -> None:
        self._source = source
        self._trace = trace
        self._name = name

    def uid(self) -> str:
        """A uid of the source, noted."""
        return self._note(self._source.uid())

    def suffix(self, length: int = 5) -> str:
        """A suffix of the source, noted."""
        return self._note(self._source.suffix(length))

    def uniform(self, low: float, high: float) -> float:
        """A number of the source, noted."""
        drawn = self._source.uniform(low, high)
        self._trace.add(self._name, drawn)
        return drawn

    def _note(self, drawn: str) -> str:
        self._trace.add(self._name, drawn)
        return drawn
