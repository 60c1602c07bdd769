"""PURE. FencingPolicy: which unreachable nodes are switched off, when, and by what."""

from __future__ import annotations

from vacate.api.kinds import FENCINGPOLICIES
from vacate.api.types.fencingpolicy import FencingPolicy
from vacate.crds.customresource import CustomResource, PrinterColumn
from vacate.crds.fencingpolicy.rules import RULES
from vacate.crds.strategy import DeclaredStrategy

_COLUMNS = (
    PrinterColumn(
        "Unreachable",
        "Number of nodes that are unreachable or fenced.",
        ".status.nodesUnreachable",
        "integer",
    ),
    PrinterColumn("Fenced", "Number of nodes that are fenced.", ".status.nodesFenced", "integer"),
    PrinterColumn(
        "Failing",
        "Whether a fence failed or its result is unclear.",
        '.status.conditions[?(@.type=="Failing")].status',
    ),
    PrinterColumn("Approval", "Whether a person must approve each fence.", ".spec.approval"),
    PrinterColumn("Message", "State for people, in one sentence.", ".status.message", priority=1),
    PrinterColumn("Age", "How long ago the object was created.", ".metadata.creationTimestamp", "date"),
)

FENCINGPOLICY = CustomResource(
    kind=FENCINGPOLICIES,
    struct=FencingPolicy,
    columns=_COLUMNS,
    strategy=DeclaredStrategy,
    rules=RULES,
    name_schema={"type": "string", "description": "The name of the policy.", "maxLength": 253},
)
