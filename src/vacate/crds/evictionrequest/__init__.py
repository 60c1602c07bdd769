"""PURE. EvictionRequest: what may be asked, who may ask, and which steps a request may take."""

from __future__ import annotations

from vacate.api.kinds import EVICTIONREQUESTS
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.crds.customresource import CustomResource
from vacate.crds.evictionrequest.celrules import add_rules
from vacate.crds.evictionrequest.columns import COLUMNS
from vacate.crds.evictionrequest.strategy import EvictionRequestStrategy

EVICTIONREQUEST = CustomResource(
    kind=EVICTIONREQUESTS,
    struct=EvictionRequest,
    columns=COLUMNS,
    strategy=EvictionRequestStrategy,
    add_rules=add_rules,
    annotations={
        "api-approved.kubernetes.io": "unapproved, the kind of KEP-4563 in a group of its own until "
        "Kubernetes serves it"
    },
    name_schema={"type": "string", "description": "The UID of the pod.", "maxLength": 253},
)
