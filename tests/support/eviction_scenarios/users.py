"""Users and programs that act on pods and requests; what the server refuses them they drop."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping

from support.eviction_scenarios.scenario import PodPlan
from vacate.api.kinds import DAEMONSETS, EVICTIONREQUESTS, NAMESPACES, PODDISRUPTIONBUDGETS, PODS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.types import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.client.client import Client
from vacate.client.codec import codec_for
from vacate.errors import AlreadyExists
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.registry import OWN_DIALECTS, dialect_of
from vacate.sim.cluster import World
from vacate.testing import daemonset, namespace, pdb, pod

Names = Callable[[list[str]], list[str]]
"""Who wants it after, from who wanted it before."""

NAMESPACE = "scenario"
GUARDED = {"guarded": "yes"}
BUDGET = "guard"
FINALIZER = "example.com/hold"


class Users:
    """Acts through a client without faults: trouble on their side is nothing new to a server."""

    def __init__(self, world: World, apis: Mapping[str, Dialect] | None = None) -> None:
        self._world = world
        self._client: Client = world.client
        self._apis = apis or {}

    async def settle(self) -> None:
        """The place, with an open budget."""
        await self._client.create(NAMESPACES, namespace(NAMESPACE))
        await self._client.create(
            PODDISRUPTIONBUDGETS,
            pdb(BUDGET, namespace=NAMESPACE, min_available=0, selector=GUARDED),
            NAMESPACE,
        )

    def pod(self, name: str) -> Obj | None:
        """The pod as it is stored."""
        return self._world.find(PODS, name, NAMESPACE)

    def request(self, name: str) -> EvictionRequest | None:
        """The request for the pod that has the name now, by whichever API; one that goes on before others."""
        pod = self.pod(name)
        uid = pod["metadata"]["uid"] if pod else ""
        found = [
            dialect.read(codec_for(dialect.wire).convert(one))
            for dialect in OWN_DIALECTS
            if (one := self._world.find(dialect.kind, dialect.request_name(name, uid), NAMESPACE))
        ]
        return min(found, key=lambda one: one.complete, default=None)

    async def make_pod(self, plan: PodPlan) -> None:
        """The pod, unless there is one of its name."""
        made = _pod(plan)
        if plan.daemon:
            made["metadata"]["ownerReferences"] = [await self._daemon_set()]
        await self._client.create(PODS, made, NAMESPACE)

    async def _daemon_set(self) -> Obj:
        """A reference to a DaemonSet that is there: one that is made up would not keep the pod."""
        try:
            found = await self._client.create(DAEMONSETS, daemonset("d", namespace=NAMESPACE), NAMESPACE)
        except AlreadyExists:
            found = await self._client.get(DAEMONSETS, "d", NAMESPACE)
        kind = {"apiVersion": DAEMONSETS.api_version, "kind": DAEMONSETS.kind}
        return {**kind, "name": "d", "uid": found["metadata"]["uid"], "controller": True}

    async def ask(self, plan: PodPlan, requester: str) -> None:
        """Make a request for the pod, or join the one there is."""
        target = self.pod(plan.name)
        if target is None:
            return
        if (dialect := self._apis.get(requester, EVICTION_REQUEST)) is not EVICTION_REQUEST:
            made = dialect.new_request(codec_for(Pod).convert(target), requester, "", plan.deadline)
            with contextlib.suppress(AlreadyExists):
                await self._client.create(dialect.kind, made, NAMESPACE)
                return
            await self._names(plan.name, lambda names: [*names, requester])
            return
        uid = target["metadata"]["uid"]
        spec = {
            "target": {"podRef": {"name": plan.name, "uid": uid}},
            "requesters": [{"name": requester}],
            "heartbeatDeadlineSeconds": plan.deadline,
        }
        owner = {"apiVersion": "v1", "kind": "Pod", "name": plan.name, "uid": uid}
        meta = {"name": uid, "ownerReferences": [{**owner, "blockOwnerDeletion": False}]}
        try:
            await self._client.create(EVICTIONREQUESTS, {"metadata": meta, "spec": spec}, NAMESPACE)
        except AlreadyExists:
            await self._names(plan.name, lambda names: [*names, requester])

    async def withdraw(self, plan: PodPlan, requester: str) -> None:
        """Take one's own name out."""
        await self._names(plan.name, lambda names: [name for name in names if name != requester])

    async def remove_names(self, plan: PodPlan, requester: str) -> None:
        """Take all names out."""
        await self._names(plan.name, lambda names: [])

    async def override(self, plan: PodPlan, requester: str) -> None:
        """Allow cancellation again."""
        if found := self.request(plan.name):
            change = dialect_of(found).status_patch(
                {"status": {"evictionRequestCancellationPolicy": "Allow"}}
            )
            name = found.metadata.name
            await self._client.patch(found.kind, name, change, NAMESPACE, subresource="status")

    async def delete_request(self, plan: PodPlan, requester: str) -> None:
        """Delete the request, whatever its requesters."""
        if found := self.request(plan.name):
            await self._client.delete(found.kind, found.metadata.name, NAMESPACE)

    async def release_request(self, plan: PodPlan, requester: str) -> None:
        """Take all names out of a request that is deleted and that they hold."""
        found = self.request(plan.name)
        if found is not None and found.metadata.deletion_timestamp and dialect_of(found).requesters_hold:
            await self._names(plan.name, lambda names: [])

    async def delete_pod(self, plan: PodPlan, requester: str) -> None:
        """Delete the pod past everybody."""
        await self._client.delete(PODS, plan.name, NAMESPACE)

    async def replace_pod(self, plan: PodPlan, requester: str) -> None:
        """Take the pod away at once and put another in its place."""
        if self.pod(plan.name):
            await self._client.delete(PODS, plan.name, NAMESPACE, DeleteOptions(grace_period_seconds=0))
        await self.make_pod(plan)

    async def evict_pod(self, plan: PodPlan, requester: str) -> None:
        """Evict the pod past everybody but its budget."""
        await self._client.evict(plan.name, NAMESPACE)

    async def release_pod(self, plan: PodPlan, requester: str) -> None:
        """Take away what holds a pod that is going."""
        if (found := self.pod(plan.name)) and found["metadata"].get("finalizers"):
            await self._client.patch(PODS, plan.name, {"metadata": {"finalizers": None}}, NAMESPACE)

    async def budget(self, min_available: int) -> None:
        """Open or close the budget."""
        change = {"spec": {"minAvailable": min_available}}
        await self._client.patch(PODDISRUPTIONBUDGETS, BUDGET, change, NAMESPACE)

    async def delete_namespace(self) -> None:
        """Delete the place with all that is in it."""
        await self._client.delete(NAMESPACES, NAMESPACE)

    async def _names(self, pod_name: str, change: Names) -> None:
        found = self.request(pod_name)
        if found is None:
            return
        names = dict.fromkeys(change([one.name for one in found.spec.requesters]))
        patch = dialect_of(found).requesters_patch(found, list(names))
        await self._client.patch(found.kind, found.metadata.name, patch, NAMESPACE)


def _pod(plan: PodPlan) -> Obj:
    annotations = {"sim.vacate.dev/stop-seconds": str(plan.stop)}
    if plan.run is not None:
        annotations["sim.vacate.dev/run-seconds"] = str(plan.run)
    built = pod(
        plan.name,
        namespace=NAMESPACE,
        node=plan.node,
        labels=GUARDED if plan.guarded else {"free": "yes"},
        metadata={"annotations": annotations},
        spec={
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": plan.grace,
            "evictionInterceptors": [{"name": name} for name in plan.interceptors],
        },
    )
    if plan.finalizer:
        built["metadata"]["finalizers"] = [FINALIZER]
    return built
