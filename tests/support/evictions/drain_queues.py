"""Clients that evict as the queues of Karpenter and of the Cluster Autoscaler do, with shorter pauses."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from multidict import CIMultiDict

from vacate.api.kinds import PODS
from vacate.api.objects import Obj, encode
from vacate.api.options import DeleteOptions
from vacate.client.client import Client
from vacate.errors import ApiError, Conflict, NotFound
from vacate.wire.message import Request


@dataclass
class Queue:
    """What a queue heard of a pod, and whether it took the pod for done."""

    client: Client
    heard: list[ApiError] = field(default_factory=list)

    @property
    def messages(self) -> str:
        return "\n".join(error.message for error in self.heard)


class Karpenter(Queue):
    """With the pod's UID. 404 and 409 mean done; all else comes again, 100 ms later, then twice that."""

    async def evict(self, pod: Obj, *, longest: float = 1.0) -> None:
        """Return once the pod counts as evicted."""
        meta, pause = pod["metadata"], 0.1
        while True:
            try:
                await self.client.evict(meta["name"], meta["namespace"], DeleteOptions(uid=meta["uid"]))
                return
            except (NotFound, Conflict):
                return
            except ApiError as error:
                self.heard.append(error)
            await asyncio.sleep(pause)
            pause = min(2 * pause, longest)


class ClusterAutoscaler(Queue):
    """By policy/v1beta1 and without a UID. 404 means done; any error comes again, but not for long."""

    async def evict(self, pod: Obj, *, every: float = 1.0, at_most: float = 60.0) -> bool:
        """Whether the pod counts as evicted; False where the time was over before."""
        ends = time.monotonic() + at_most
        while time.monotonic() < ends:
            try:
                await self._evict(pod["metadata"]["name"], pod["metadata"]["namespace"])
                return True
            except NotFound:
                return True
            except ApiError as error:
                self.heard.append(error)
            await asyncio.sleep(every)
        return False

    async def _evict(self, name: str, namespace: str) -> None:
        body = {
            "apiVersion": "policy/v1beta1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": {"gracePeriodSeconds": 30},
        }
        path = PODS.object_path(name, namespace, "eviction")
        headers = CIMultiDict({"Content-Type": "application/json"})
        await self.client.send(Request("POST", path, headers=headers, body=encode(body)))
