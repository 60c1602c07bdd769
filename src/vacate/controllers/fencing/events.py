"""Events of the fencing controller, on the policy and on the node."""

from __future__ import annotations

from vacate.api.events import NORMAL, WARNING, EventNote, Regarding, regarding
from vacate.api.kinds import FENCINGPOLICIES, NODES
from vacate.api.types.fencingpolicy import FencingPolicy, NodeFencing

MAX_MESSAGE = 1024

FENCING_STARTED, FENCING_FAILED, NODE_FENCED = "FencingStarted", "FencingFailed", "NodeFenced"
FENCING_ABANDONED, NODE_UNFENCED, CONTRADICTION = "FencingAbandoned", "NodeUnfenced", "FencingContradicted"
RESULTS = (FENCING_FAILED, NODE_FENCED, FENCING_ABANDONED, NODE_UNFENCED, CONTRADICTION)
_WARNINGS = (FENCING_FAILED, CONTRADICTION, FENCING_STARTED, NODE_FENCED)


def notes(policy: FencingPolicy, row: NodeFencing, reason: str, message: str) -> tuple[EventNote, EventNote]:
    """The same on the policy and on the node."""
    type_ = WARNING if reason in _WARNINGS else NORMAL
    text = message[:MAX_MESSAGE]
    node = Regarding(NODES.api_version, NODES.kind, row.name, uid=row.uid)
    return (
        EventNote(regarding(FENCINGPOLICIES, policy), type_, reason, text),
        EventNote(node, type_, reason, f"FencingPolicy {policy.metadata.name}: {text}"[:MAX_MESSAGE]),
    )
