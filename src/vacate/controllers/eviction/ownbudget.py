"""Pods that are prepared, and held by nothing but a budget of their own: the owner may let them go past it.

A budget that protects a single replica lets it never be evicted. Once its interceptors, such as a hook that
saves its data, have completed their turns, the pod may as well go. The owner of the workload allows that:

    kubectl annotate statefulset db vacate.dev/delete-when-prepared=true

The annotation counts on the workload only, as the API server has it. A user who may change a workload can
replace its pods by changing its template, past any budget; who may only change pods cannot write it.
"""

from __future__ import annotations

import msgspec

from vacate.admission.pods.workloads import WORKLOADS
from vacate.api.objects import Obj, dig, metadata
from vacate.api.selectors.labels import selector_of
from vacate.api.types import Pod, PodDisruptionBudget
from vacate.api.types.meta import OwnerReference
from vacate.api.untyped import controller_of
from vacate.api.workloads import DELETE_PREPARED
from vacate.cache.reader import Reader
from vacate.client.client import Client
from vacate.errors import ApiError

_KINDS = {kind.kind: kind for one in WORKLOADS for kind in one.owners}


def is_alone(pod: Pod, pods: Reader[Pod], budgets: Reader[PodDisruptionBudget]) -> bool:
    """Whether each budget that holds the pod protects no other pod; false where no such budget is known."""
    namespace = pod.metadata.namespace
    selectors = [selector_of(one.spec.selector) for one in budgets.list(namespace)]
    holding = [one for one in selectors if one.matches(pod.metadata.labels)]
    others = [
        one
        for one in pods.list(namespace)
        if one.metadata.uid != pod.metadata.uid and not one.terminal and not one.terminating
    ]
    return bool(holding) and not any(
        one.matches(other.metadata.labels) for one in holding for other in others
    )


async def is_allowed(client: Client, pod: Pod) -> bool:
    """Whether the owner of the pod's workload lets prepared pods go; false where that cannot be read."""
    owner, namespace = pod.metadata.controller, pod.metadata.namespace
    found: Obj | None = None
    while owner is not None and owner.kind in _KINDS:
        try:
            found = await client.get(_KINDS[owner.kind], owner.name, namespace)
        except ApiError:
            return False
        if metadata(found).get("uid") != owner.uid:
            return False
        above = controller_of(found)
        owner = msgspec.convert(above, OwnerReference) if above else None
    return found is not None and dig(found, "metadata", "annotations", DELETE_PREPARED) == "true"
