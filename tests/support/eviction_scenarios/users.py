"""Users and programs that act on pods and requests; what the server refuses them they drop."""

from __future__ import annotations

from collections.abc import Callable

from support.eviction_scenarios.scenario import PodPlan
from vacate.api.kinds import DAEMONSETS, EVICTIONREQUESTS, NAMESPACES, PODDISRUPTIONBUDGETS, PODS
from vacate.api.objects import Obj
from vacate.client.client import Client
from vacate.errors import AlreadyExists
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

    def __init__(self, world: World) -> None:
        self._world = world
        self._client: Client = world.client

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

    def request(self, name: str) -> Obj | None:
        """The request for the pod that has the name now."""
        found = self.pod(name)
        return self._world.find(EVICTIONREQUESTS, found["metadata"]["uid"], NAMESPACE) if found else None

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
            change = {"status": {"evictionRequestCancellationPolicy": "Allow"}}
            await self._client.patch(
                EVICTIONREQUESTS, found["metadata"]["name"], change, NAMESPACE, subresource="status"
            )

    async def delete_request(self, plan: PodPlan, requester: str) -> None:
        """Delete the request, whoever wants it."""
        if found := self.request(plan.name):
            await self._client.delete(EVICTIONREQUESTS, found["metadata"]["name"], NAMESPACE)

    async def delete_pod(self, plan: PodPlan, requester: str) -> None:
        """Delete the pod past everybody."""
        await self._client.delete(PODS, plan.name, NAMESPACE)

    async def replace_pod(self, plan: PodPlan, requester: str) -> None:
        """Take the pod away at once and put another in its place."""
        if self.pod(plan.name):
            await self._client.delete(PODS, plan.name, NAMESPACE, grace_period_seconds=0)
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
        names = dict.fromkeys(change([one["name"] for one in found["spec"].get("requesters") or ()]))
        patch = {
            "metadata": {"resourceVersion": found["metadata"]["resourceVersion"]},
            "spec": {"requesters": [{"name": name} for name in names]},
        }
        await self._client.patch(EVICTIONREQUESTS, found["metadata"]["name"], patch, NAMESPACE)


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
