"""PURE. Evacuation: the earlier API for evictions."""

from __future__ import annotations

from vacate.api.kinds import EVACUATIONS
from vacate.api.types.evacuation import Evacuation
from vacate.crds.customresource import CustomResource, PrinterColumn
from vacate.crds.evacuation.celrules import add_rules
from vacate.crds.evacuation.strategy import EvacuationStrategy

_COLUMNS = (
    PrinterColumn("Pod", "The pod to evacuate.", ".spec.podRef.name"),
    PrinterColumn(
        "Stage", "The progress of the evacuation.", '.status.conditions[?(@.type=="Progressing")].reason'
    ),
    PrinterColumn("Evacuator", "The evacuator whose turn it is.", ".status.activeEvacuatorClass"),
    # A column of the type date shows a time to come as invalid.
    PrinterColumn(
        "Expected Finish",
        "When the active evacuator expects to finish.",
        ".status.expectedEvacuationFinishTime",
    ),
    PrinterColumn(
        "Failed Evictions", "How many evictions were refused.", ".status.failedEvictionCounter", "integer"
    ),
    PrinterColumn("Age", "How long ago the object was created.", ".metadata.creationTimestamp", "date"),
)

EVACUATION = CustomResource(
    kind=EVACUATIONS,
    struct=Evacuation,
    columns=_COLUMNS,
    strategy=EvacuationStrategy,
    add_rules=add_rules,
    annotations={
        "api-approved.kubernetes.io": "unapproved, the kind of KEP-4563 as it was first proposed, in a group "
        "of its own"
    },
    name_schema={
        "type": "string",
        "description": "The UID of the pod, a hyphen, and the first 150 characters of the pod's name.",
        "maxLength": 253,
    },
)
