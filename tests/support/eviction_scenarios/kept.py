"""Seeds that once failed, one in a line; every run of the tests runs them again.

What a seed means changes with the generator: then a kept seed is a random one more. What it showed is kept by
a test of its own, where it was a fault.
"""

from __future__ import annotations

from pathlib import Path

FILE = Path(__file__).parents[2] / "sim" / "eviction" / "kept_seeds.txt"


def kept_seeds(file: Path = FILE) -> list[int]:
    """The seeds, each once, in the order in which they were kept; the rest of a line is for readers."""
    lines = file.read_text().splitlines() if file.exists() else []
    words = [line.partition("#")[0].strip() for line in lines]
    return list(dict.fromkeys(int(word) for word in words if word))


def keep(seed: int, why: str, file: Path = FILE) -> None:
    """Add a seed, unless it is there."""
    if seed not in kept_seeds(file):
        with file.open("a") as out:
            out.write(f"{seed}  # {why}\n")
