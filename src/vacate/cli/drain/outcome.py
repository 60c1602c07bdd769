"""How a drain that is followed ends. PURE."""

from __future__ import annotations

from vacate.api.types.nodemaintenance import DRAINED, REPLACED, NodeMaintenance, NodeProgress

DRAINED_END, REPLACED_END, CANCELLED_END = "drained", "replaced", "cancelled"


class DrainOutcome:
    """Knows from what was seen whether the nodes that were meant are those that are drained."""

    def __init__(self) -> None:
        self._seen: set[str] = set()  # the nodes that were there as themselves

    def note(self, current: NodeMaintenance | None) -> str | None:
        """How it ended as of this state; None while it goes on."""
        if current is None or current.metadata.deletion_timestamp is not None:
            return CANCELLED_END
        self._seen |= {row.name for row in current.status.nodes if row.phase != REPLACED}
        if (
            current.status.observed_generation < current.metadata.generation
            or current.status.phase != DRAINED
        ):
            return None
        return REPLACED_END if self.replaced(current) else DRAINED_END

    def replaced(self, current: NodeMaintenance) -> list[NodeProgress]:
        """The nodes in whose place others are, which were not drained.

        One that was drained completely before it was replaced is no failure. If it had been replaced when the
        command began, then the new node may be the one that was meant.
        """
        return [
            row
            for row in current.status.nodes
            if row.phase == REPLACED and (row.percent < 100 or row.name not in self._seen)
        ]
