"""The printer columns of EvictionRequests: how far each has come, at a glance."""

from __future__ import annotations

from vacate.api.objects import Obj
from vacate.api.types.readable import UNREADABLE, decodes, readable_part
from vacate.crds.customresource import PrinterColumn
from vacate.eviction.records.reader import shown_stage


def _stage(obj: Obj) -> str:
    """The stage also before the controller has recorded one."""
    return shown_stage(readable_part(obj)).value if decodes(obj) else UNREADABLE


COLUMNS = (
    PrinterColumn("Pod", "The pod to evict.", ".spec.target.podRef.name"),
    PrinterColumn(
        "Stage",
        "The progress of the eviction.",
        '.status.conditions[?(@.type=="Progressing")].reason',
        shown=_stage,
    ),
    PrinterColumn("Interceptor", "The interceptor whose turn it is.", ".status.activeInterceptorName"),
    # A column of the type date shows a time to come as invalid.
    PrinterColumn(
        "Expected Finish",
        "When the active interceptor expects to be done.",
        ".status.expectedInterceptorFinishTime",
    ),
    PrinterColumn(
        "Failed Evictions",
        "How many evictions were refused.",
        ".status.podEvictionStatus.failedAPIEvictionCounter",
        "integer",
    ),
    PrinterColumn("Age", "How long ago the object was created.", ".metadata.creationTimestamp", "date"),
)
