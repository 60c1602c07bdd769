"""A small cluster for tests of Jobs as fence agents: the embedded API server and its Job controller.

What the pod of a Job does and says is a function of its environment, so that a test can let it work, lie,
hang, answer for another node, or end badly. Pods run where the test says, whatever their affinity.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from vacate.api.kinds import JOBS, NAMESPACES, PODS, PODTEMPLATES
from vacate.api.objects import Obj, dig
from vacate.api.options import DeleteOptions
from vacate.cache.informer import Informer
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.embedded.bootstrap.identities import ADMIN, CONTROLLER_MANAGER
from vacate.embedded.cluster.apiserver import ServerParts, open_server
from vacate.embedded.controllers.garbagecollector.controller import build as garbage_collector
from vacate.embedded.controllers.job.controller import build as job_controller
from vacate.embedded.store.memory import MemoryLog
from vacate.entropy import seeded_entropy
from vacate.errors import NotFound, TransportError
from vacate.metrics import Metrics
from vacate.wire.message import Peer
from vacate.wiring.components import ComponentContext, ControllerDescriptor, component_manager

Work = Callable[[dict[str, str]], dict[str, Any] | None]
"""From the environment to what is changed of the pod's status; None is a pod that never ends."""

HOME = "vacate-system"
TEMPLATE: Obj = {
    "apiVersion": "v1",
    "kind": "PodTemplate",
    "metadata": {"name": "fencing"},
    "template": {
        "metadata": {"labels": {"app": "fencing"}},
        "spec": {"containers": [{"name": "fence", "image": "fence:1"}]},
    },
}
_CONTROLLERS = (
    ControllerDescriptor("job-controller", job_controller),
    ControllerDescriptor("garbage-collector-controller", garbage_collector),
)


class LosingClient(Client):
    """Creates objects and loses the answer, as often as it is configured to."""

    lost_answers = 0

    async def create(self, *args: Any, **options: Any) -> Obj:
        made = await super().create(*args, **options)
        if self.lost_answers:
            self.lost_answers -= 1
            raise TransportError("the connection was lost")
        return made


class SimulatedJobs:
    """Jobs, their pods, and who runs them."""

    def __init__(self, clock: Clock, work: Work, *, node: str = "node-2", seconds: float = 3.0) -> None:
        self.clock = clock
        self.work = work
        self.before: Callable[[Obj], Awaitable[None]] | None = None  # called with a pod before its work
        self.node = node
        self.seconds = seconds
        self.made: list[str] = []  # the action of each Job, in order
        self.deleted: list[str] = []
        self.client: LosingClient
        self.as_user: Callable[[str], Client]  # a client of someone who has only the rights of that name
        self._jobs: Informer[Obj]
        self._tasks: list[asyncio.Future[None]] = []
        self._runs: dict[str, asyncio.Future[None]] = {}
        self._undo = contextlib.AsyncExitStack()

    @property
    def jobs(self) -> dict[str, Obj]:
        """What there is, by name."""
        return {one["metadata"]["name"]: one for one in self._jobs.reader.list()}

    async def __aenter__(self) -> SimulatedJobs:
        entropy = seeded_entropy(7)
        metrics = Metrics()
        server = await open_server(ServerParts(MemoryLog(), self.clock, entropy, metrics))
        self._undo.push_async_callback(server.storage.store.aclose)
        self.as_user = lambda name: Client(InProcessTransport(server, Peer(name)))
        self.client = LosingClient(InProcessTransport(server, ADMIN))
        await self.client.create(NAMESPACES, {"metadata": {"name": HOME}})
        await self.client.create(PODTEMPLATES, TEMPLATE, HOME)
        transport = InProcessTransport(server, CONTROLLER_MANAGER)
        around = ComponentContext(self.clock, entropy, metrics)
        manager = component_manager(transport, "controller-manager", _CONTROLLERS, around)
        self._jobs = Informer(self.client, JOBS, dict, clock=self.clock, entropy=entropy)
        self._jobs.subscribe(self._count)
        pods: Informer[Obj] = Informer(self.client, PODS, dict, clock=self.clock, entropy=entropy)
        pods.subscribe(self._attend)
        self._tasks += [asyncio.ensure_future(one) for one in (manager.run(), self._jobs.run(), pods.run())]
        await self._jobs.wait_synced()
        await manager.wait_ready()
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = [*self._tasks, *self._runs.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._undo.aclose()

    def _count(self, old: Obj | None, new: Obj | None) -> None:
        if old is None and new is not None:
            self.made.append(_environment(new["spec"]["template"]["spec"])["VACATE_ACTION"])
        elif new is None and old is not None:
            self.deleted.append(old["metadata"]["name"])

    def _attend(self, old: Obj | None, new: Obj | None) -> None:
        """What scheduler and node do: run a new pod, and let go of one that is to end."""
        if new is None:
            return
        uid = new["metadata"]["uid"]
        if old is None:
            self._runs[uid] = asyncio.ensure_future(self._run(new))
        elif new["metadata"].get("deletionTimestamp") and (run := self._runs.pop(uid, None)):
            run.cancel()
            self._runs[f"end of {uid}"] = asyncio.ensure_future(self._end(new))

    async def _run(self, pod: Obj) -> None:
        name = pod["metadata"]["name"]
        await self.client.bind(name, HOME, self.node)
        await self._say(name, {"phase": "Running"})
        await self.clock.sleep(self.seconds)
        if self.before is not None:
            await self.before(pod)
        status = self.work(_environment(pod["spec"]))
        if status is not None:
            await self._say(name, status)

    async def _say(self, name: str, status: dict[str, Any]) -> None:
        await self.client.patch(PODS, name, {"status": status}, HOME, subresource="status")

    async def _end(self, pod: Obj) -> None:
        name = pod["metadata"]["name"]
        with contextlib.suppress(NotFound):
            if dig(pod, "status", "phase") not in ("Succeeded", "Failed"):
                await self._say(name, {"phase": "Failed"})
            await self.client.delete(
                PODS, name, HOME, DeleteOptions(grace_period_seconds=0, uid=pod["metadata"]["uid"])
            )


def succeeded(message: str, *, name: str = "fence") -> dict[str, Any]:
    """The status of a pod that ended well with that termination message."""
    state = {"terminated": {"exitCode": 0, "message": message}}
    return {"phase": "Succeeded", "containerStatuses": [{"name": name, "state": state}]}


def _environment(spec: Obj) -> dict[str, str]:
    return {one["name"]: one["value"] for one in spec["containers"][0]["env"]}
