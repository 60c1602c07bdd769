"""PURE. NodeMaintenance: nodes that are to be cordoned or drained."""

from __future__ import annotations

from vacate.api.kinds import NODEMAINTENANCES
from vacate.api.types.nodemaintenance import MAX_NAME, NodeMaintenance
from vacate.crds.declaration import Declaration, PrinterColumn
from vacate.crds.nodemaintenance.rules import RULES
from vacate.crds.strategy import DeclaredStrategy

_COLUMNS = (
    PrinterColumn("Phase", "What happens to the nodes.", ".status.phase"),
    PrinterColumn("Nodes", "How many nodes are meant.", ".status.nodesTotal", "integer"),
    PrinterColumn("Drained", "How many of them are drained.", ".status.nodesDrained", "integer"),
    PrinterColumn("Percent", "How much is done.", ".status.percent", "integer"),
    PrinterColumn("Blockers", "How many things hold the drain.", ".status.blockersTotal", "integer"),
    # A column of type date shows a time to come as invalid.
    PrinterColumn("Expected Finish", "When it is likely to be done.", ".status.estimatedFinishTime"),
    PrinterColumn("Reason", "Why.", ".spec.reason", priority=1),
    PrinterColumn("Age", "How long ago the object was created.", ".metadata.creationTimestamp", "date"),
)


class NodeMaintenanceStrategy(DeclaredStrategy):
    """Admits NodeMaintenances."""

    cel_rules = RULES


NODEMAINTENANCE = Declaration(
    kind=NODEMAINTENANCES,
    struct=NodeMaintenance,
    columns=_COLUMNS,
    strategy=NodeMaintenanceStrategy,
    rules=RULES,
    name_schema={
        "type": "string",
        "description": "Part of the requester's name on EvictionRequests.",
        "maxLength": MAX_NAME,
    },
)
