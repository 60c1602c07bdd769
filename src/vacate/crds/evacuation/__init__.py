"""PURE. Evacuation: the earlier API for evictions."""

from __future__ import annotations

from vacate.api.kinds import EVACUATIONS
from vacate.api.types.evacuation import Evacuation
from vacate.crds.declaration import Declaration, PrinterColumn
from vacate.crds.evacuation.strategy import EvacuationStrategy

_COLUMNS = (
    PrinterColumn("Pod", "The pod that is to be evacuated.", ".spec.podRef.name"),
    PrinterColumn(
        "Stage", "How far the evacuation has come.", '.status.conditions[?(@.type=="Progressing")].reason'
    ),
    PrinterColumn("Evacuator", "The evacuator that is active.", ".status.activeEvacuatorClass"),
    # A column of the type date shows a time to come as invalid.
    PrinterColumn(
        "Expected Finish",
        "When the active evacuator expects to be done.",
        ".status.expectedEvacuationFinishTime",
    ),
    PrinterColumn(
        "Failed Evictions", "How many evictions were refused.", ".status.failedEvictionCounter", "integer"
    ),
    PrinterColumn("Age", "How long ago the object was created.", ".metadata.creationTimestamp", "date"),
)

EVACUATION = Declaration(
    kind=EVACUATIONS,
    struct=Evacuation,
    columns=_COLUMNS,
    strategy=EvacuationStrategy,
    installed=False,
)
