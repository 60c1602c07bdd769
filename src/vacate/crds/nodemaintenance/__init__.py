"""PURE. NodeMaintenance: nodes that are to be cordoned or drained."""

from __future__ import annotations

from vacate.api.kinds import NODEMAINTENANCES
from vacate.api.types.nodemaintenance import MAX_NAME, NodeMaintenance
from vacate.crds.customresource import CustomResource, PrinterColumn
from vacate.crds.nodemaintenance.rules import RULES
from vacate.crds.strategy import DeclaredStrategy

_COLUMNS = (
    PrinterColumn("Phase", "State of all nodes together.", ".status.phase"),
    PrinterColumn("Nodes", "Number of nodes.", ".status.nodesTotal", "integer"),
    PrinterColumn("Drained", "Number of nodes that are drained.", ".status.nodesDrained", "integer"),
    PrinterColumn("Percent", "Progress in percent.", ".status.percent", "integer"),
    PrinterColumn("Blockers", "Number of blockers.", ".status.blockersTotal", "integer"),
    # A column of type date shows a time to come as invalid.
    PrinterColumn("Expected Finish", "Estimated time at which it is drained.", ".status.estimatedFinishTime"),
    PrinterColumn("Reason", "Why the maintenance was created.", ".spec.reason", priority=1),
    PrinterColumn("Age", "How long ago the object was created.", ".metadata.creationTimestamp", "date"),
)

NODEMAINTENANCE = CustomResource(
    kind=NODEMAINTENANCES,
    struct=NodeMaintenance,
    columns=_COLUMNS,
    strategy=DeclaredStrategy,
    rules=RULES,
    name_schema={
        "type": "string",
        "description": "Part of the requester's name on EvictionRequests.",
        "maxLength": MAX_NAME,
    },
)
