"""Everything that reads bytes of others, with any bytes: what `make fuzz` does with a coverage-guided fuzzer.

What the fuzzer found stands below as an example.
"""

from __future__ import annotations

import os

import pytest
from hack.fuzz.targets import SEEDS, TARGETS
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from support.effort import examples

pytestmark = pytest.mark.unit

EXAMPLES = int(os.environ.get("VACATE_FUZZ_EXAMPLES", examples(300)))
FOUND: tuple[tuple[str, bytes], ...] = (
    ("quantities", b"3230000e1000"),  # its canonical form had an exponent that was refused
)


def spliced(seeds: tuple[bytes, ...]) -> st.SearchStrategy[bytes]:
    """Pieces of the seeds with anything between them."""
    seed = st.sampled_from(seeds)
    piece = st.builds(
        lambda text, start, end: text[start:end], seed, st.integers(0, 200), st.integers(0, 400)
    )
    return st.lists(st.one_of(seed, piece, st.binary(max_size=8)), max_size=6).map(b"".join)


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("name", TARGETS)
def test_any_bytes_are_read_or_refused(name: str) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(spliced(SEEDS[name]))
    @example(b"")
    def read(data: bytes) -> None:
        TARGETS[name](data)

    read()


@pytest.mark.parametrize(
    ("name", "data"), [*FOUND, *((name, seed) for name in SEEDS for seed in SEEDS[name])]
)
def test_what_was_found_and_the_seeds(name: str, data: bytes) -> None:
    TARGETS[name](data)
