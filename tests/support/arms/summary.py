"""What a run says at its end about the servers on which the conformance tests ran."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from support.arms.kube import REAL
from support.arms.marks import known_deviations
from support.arms.servers import ALL_ARMS, arm_names, arms_left_out


def arms_summary(deviations: Path) -> Iterator[str]:
    """The lines: how many deviations of a real server are known, and which arms did not run."""
    if REAL in arm_names():
        yield f"known deviations from Kubernetes: {len(known_deviations(deviations))}"
    if missing := arms_left_out():
        yield f"conformance ran on {', '.join(arm_names())}; {ALL_ARMS}=all adds {', '.join(missing)}"
