"""Decoding of custom resources: metadata as all kinds have it, the rest pruned by the structural schema.

Wrong types below spec and status are no matter of decoding: validation finds them, with all other errors.
"""

from __future__ import annotations

from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.crds.catalogue import declaration_of
from vacate.embedded.schema.normalize import normalise_struct
from vacate.embedded.schema.scan import CLEAN, WRONG, scanner
from vacate.embedded.schema.table import table
from vacate.embedded.schema.typeerrors import errors_of

_METADATA = "meta.v1.ObjectMeta"


def settle_custom(kind: Kind, obj: Obj) -> list[str]:
    """Check and normalise metadata, prune what is unknown; what is wrong with metadata."""
    declaration_of(kind).structure.prune(obj)
    meta = obj.get("metadata")
    if meta is None:
        obj.pop("metadata", None)
        return []
    struct = table().structs[_METADATA]
    found = scanner(_METADATA)(meta)
    if found & WRONG:
        return errors_of(struct, meta, "metadata")
    for key in [key for key in meta if key not in struct.fields]:
        del meta[key]
    if found != CLEAN:
        normalise_struct(struct, meta)
    return []
