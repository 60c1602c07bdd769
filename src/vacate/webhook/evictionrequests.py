"""Reviews of EvictionRequests: their interceptors are the pod's, and no requester names any.

Of those of lifecycle.k8s.io only what nodes write comes here: everyone else may request what the roles of
Kubernetes' own API let them.
"""

from __future__ import annotations

from vacate.admission.context import Context
from vacate.admission.pipeline import admit_create
from vacate.api.fielderrors import FieldError, forbidden
from vacate.api.kinds import EVICTIONREQUESTS, LIFECYCLE_REQUESTS
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import EvictionRequest, EvictionRequestStatus
from vacate.api.untyped import mapping
from vacate.crds.evictionrequest import EVICTIONREQUEST
from vacate.crds.evictionrequest.strategy import EvictionRequestStrategy
from vacate.crds.evictionrequest.target import registration_of, require_own_node, target_pod
from vacate.errors import Invalid
from vacate.webhook.admissionreview import ALLOWED, AdmissionRequest, ReviewResult
from vacate.webhook.requestreviews import RequestReviews, named, stamp


class EvictionRequestReviews(RequestReviews):
    """Those of EvictionRequests."""

    def record(self, obj: Obj) -> Obj:
        """The object itself."""
        return obj

    def made_before(self, given: Obj, ctx: Context) -> Obj | None:
        """The object once more, where it has all that this webhook would put there.

        The API server asks again after others have changed an object. What was put there the first time must
        not look like interceptors that the requester has named.
        """
        listed = mapping(given.get("spec")).get("interceptors")
        if not listed or stamp(given) != "true":
            return None
        unfilled = {**named(given), "spec": {**given["spec"]}}
        del unfilled["spec"]["interceptors"]
        try:
            again = admit_create(self.strategy, unfilled, ctx)
        except Invalid:
            return None  # refused below with everything that is wrong, the interceptors included
        return again if mapping(again.get("spec")).get("interceptors") == listed else None

    def changed_since(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """Interceptors that are not those of the pod."""
        expected = [{"name": name} for name in registration_of(obj, ctx).interceptors]
        if (mapping(obj.get("spec")).get("interceptors") or []) == expected:
            return []
        return [forbidden("spec.interceptors", "must not change: they were filled in from the pod")]


EVICTION_REQUEST_REVIEWS = EvictionRequestReviews(
    EVICTIONREQUESTS, EvictionRequestStrategy(EVICTIONREQUEST), EvictionRequest, EvictionRequestStatus
)


def validate_of_node(request: AdmissionRequest, ctx: Context) -> ReviewResult:
    """A node requests the eviction of a pod that is there, and its own; what is gone it withdraws from."""
    if request.operation not in ("CREATE", "UPDATE") or ctx.subresource:
        return ALLOWED
    pod = target_pod(request.new(), request.namespace or "")
    new = request.operation == "CREATE"
    require_own_node(pod, ctx, LIFECYCLE_REQUESTS, request.name or "", known=new)
    return ALLOWED
