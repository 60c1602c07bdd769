"""Reviews of EvictionRequests of lifecycle.k8s.io: those of nodes, which must be about pods of their own.

Everyone else may request what the roles of Kubernetes' own API let them: their writes do not come here.
"""

from __future__ import annotations

from vacate.admission.context import Context
from vacate.api.kinds import LIFECYCLE_REQUESTS
from vacate.crds.evictionrequest.target import require_own_node, target_pod
from vacate.webhook.admissionreview import ALLOWED, AdmissionRequest, ReviewResult


def validate(request: AdmissionRequest, ctx: Context) -> ReviewResult:
    """A node requests the eviction of a pod that is there, and is its own; what is gone it withdraws from."""
    if request.operation not in ("CREATE", "UPDATE") or ctx.subresource:
        return ALLOWED
    pod = target_pod(request.new(), request.namespace or "")
    new = request.operation == "CREATE"
    require_own_node(pod, ctx, LIFECYCLE_REQUESTS, request.name or "", known=new)
    return ALLOWED
