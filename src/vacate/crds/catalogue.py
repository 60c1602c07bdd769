"""All kinds of Vacate's own."""

from __future__ import annotations

from vacate.admission.strategy import KindStrategy
from vacate.api.kinds import Kind
from vacate.crds.customresource import CustomResource
from vacate.crds.deschedulingpolicy import DESCHEDULINGPOLICY
from vacate.crds.evacuation import EVACUATION
from vacate.crds.evictionrequest import EVICTIONREQUEST
from vacate.crds.fencingpolicy import FENCINGPOLICY
from vacate.crds.nodemaintenance import NODEMAINTENANCE

DECLARATIONS: tuple[CustomResource, ...] = (
    EVICTIONREQUEST,
    EVACUATION,
    NODEMAINTENANCE,
    DESCHEDULINGPOLICY,
    FENCINGPOLICY,
)
"""Every kind of Vacate's own, each declared in its folder beside this file.

The CRDs, what the embedded server serves and shows, the viewers' role and the tables of fields in
`docs/reference/` come from here. `vacate.api.kinds` says what a new kind needs besides.
"""

STRATEGIES: dict[Kind, KindStrategy] = {one.kind: one.strategy(one) for one in DECLARATIONS}

_DECLARATIONS = {one.kind: one for one in DECLARATIONS}


def declaration_of(kind: Kind) -> CustomResource:
    """What a kind of Vacate's own declares; a KeyError for other kinds."""
    return _DECLARATIONS[kind]
