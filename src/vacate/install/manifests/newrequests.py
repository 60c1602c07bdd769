"""What Vacate's accounts put into the metadata of new requests for evictions, by its own two APIs."""

from __future__ import annotations

from vacate.api.types.evictionrequest import ADMITTED_STAMP, IGNORED_REGISTRATION
from vacate.eviction.callers import CALLERS
from vacate.eviction.dialects.evictionrequest.dialect import REASON
from vacate.install.manifests.policyobjects import of_new_requests

# Policies see what Vacate's own admission has made of a request, and it may be the one that was asked first.
_OF_ADMISSION = (ADMITTED_STAMP, IGNORED_REGISTRATION)
_UID = "o.uid in [object.spec.?target.?podRef.?uid.orValue(''), object.spec.?podRef.?uid.orValue('')]"
OF_CALLERS = (REASON, CALLERS)
OF_NODES = (REASON,)
"""The annotations that the eviction bridge writes, and those of all others. Labels are those of the pod."""


def metadata_of_new(who: str, annotations: tuple[str, ...]) -> dict[str, str]:
    """What must hold of it, by the message of a refusal."""
    return of_new_requests(who, "a request", _UID, (*annotations, *_OF_ADMISSION))
