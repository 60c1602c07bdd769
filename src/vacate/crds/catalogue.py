"""All kinds of Vacate's own."""

from __future__ import annotations

from vacate.admission.strategy import KindStrategy
from vacate.api.kinds import EVICTIONREQUESTS, Kind
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.crds.declaration import Declaration, PrinterColumn
from vacate.crds.deschedulingpolicy import DESCHEDULINGPOLICY
from vacate.crds.evacuation import EVACUATION
from vacate.crds.evictionrequest.strategy import EvictionRequestStrategy
from vacate.crds.fencingpolicy import FENCINGPOLICY
from vacate.crds.nodemaintenance import NODEMAINTENANCE

EVICTIONREQUEST = Declaration(
    kind=EVICTIONREQUESTS,
    struct=EvictionRequest,
    columns=(
        PrinterColumn("Pod", "The pod to evict.", ".spec.target.podRef.name"),
        PrinterColumn(
            "Stage", "The progress of the eviction.", '.status.conditions[?(@.type=="Progressing")].reason'
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
    ),
    strategy=EvictionRequestStrategy,
    # Its rules in CEL depend on settings of the installation: `vacate.crds.evictionrequest.celrules`.
    annotations={
        "api-approved.kubernetes.io": "unapproved, the kind of KEP-4563 in a group of its own until "
        "Kubernetes serves it"
    },
    name_schema={"type": "string", "description": "The UID of the pod.", "maxLength": 253},
)

DECLARATIONS: tuple[Declaration, ...] = (
    EVICTIONREQUEST,
    EVACUATION,
    NODEMAINTENANCE,
    DESCHEDULINGPOLICY,
    FENCINGPOLICY,
)
"""Every kind of Vacate's own. A new one is a folder beside this file and an entry here."""

STRATEGIES: dict[Kind, KindStrategy] = {one.kind: one.strategy(one.kind) for one in DECLARATIONS}


def declaration_of(kind: Kind) -> Declaration | None:
    """What a kind declares about itself, if it is one of Vacate's own."""
    return next((one for one in DECLARATIONS if one.kind == kind), None)
