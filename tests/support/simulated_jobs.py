"""A neighbour for tests of Jobs as fence agents: the part of an API server that keeps Jobs and runs them.

What the pod of a Job does and says is a function of its environment, so that a test can let it work, lie,
hang, answer for another node, or end badly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from vacate.api.objects import Obj, copied
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.errors import AlreadyExists, NotFound, TransportError

Work = Callable[[dict[str, str]], dict[str, Any] | None]
"""From the environment to what is changed of the pod's status; None is a pod that never ends."""

TEMPLATE: Obj = {
    "metadata": {"name": "fencing"},
    "template": {
        "metadata": {"labels": {"app": "fencing"}},
        "spec": {"containers": [{"name": "fence", "image": "fence:1"}]},
    },
}


class SimulatedJobs:
    """Jobs, their pods, and who runs them."""

    def __init__(self, clock: Clock, work: Work, *, node: str = "node-2", seconds: float = 3.0) -> None:
        self.clock = clock
        self.work = work
        self.node = node
        self.seconds = seconds
        self.jobs: dict[str, Obj] = {}
        self.pods: dict[str, list[Obj]] = {}  # by the Job's UID
        self.made: list[str] = []  # the action of each Job, in order
        self.lost_answers = 0
        self.deleted: list[str] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @property
    def client(self) -> Client:
        """What the agent is given."""
        return self  # type: ignore[return-value]

    async def __aenter__(self) -> SimulatedJobs:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def create(self, kind: Any, obj: Obj, namespace: str) -> Obj:
        """Keep a Job and run it."""
        name = obj["metadata"]["name"]
        if name in self.jobs:
            raise AlreadyExists(f'jobs.batch "{name}" already exists')
        stored = copied(obj)
        stored["metadata"]["uid"] = uid = f"uid-{len(self.made)}"
        self.jobs[name] = stored
        self.made.append(_environment(stored["spec"]["template"]["spec"])["VACATE_ACTION"])
        self._tasks[uid] = asyncio.ensure_future(self._run(stored))
        if self.lost_answers:
            self.lost_answers -= 1
            raise TransportError("the connection was lost")
        return copied(stored)

    async def get(self, kind: Any, name: str, namespace: str) -> Obj:
        """A Job, or the template."""
        if kind.plural == "podtemplates":
            return copied(TEMPLATE)
        if name not in self.jobs:
            raise NotFound(f'jobs.batch "{name}" not found')
        return copied(self.jobs[name])

    async def list(self, kind: Any, namespace: str, *, label_selector: str) -> Any:
        """Jobs of a node, or pods of a Job."""
        key, _, value = label_selector.partition("=")
        if kind.plural == "pods":
            return SimpleNamespace(items=[copied(one) for one in self.pods.get(value, [])])
        found = [one for one in self.jobs.values() if one["metadata"]["labels"].get(key) == value]
        return SimpleNamespace(items=[copied(one) for one in found])

    async def delete(
        self, kind: Any, name: str, namespace: str, *, uid: str, propagation_policy: str
    ) -> None:
        """End a Job with its pods."""
        if name not in self.jobs or self.jobs[name]["metadata"]["uid"] != uid:
            raise NotFound(f'jobs.batch "{name}" not found')
        self.deleted.append(name)
        del self.jobs[name]
        self.pods.pop(uid, None)
        self._tasks.pop(uid).cancel()

    async def _run(self, job: Obj) -> None:
        spec = job["spec"]["template"]["spec"]
        uid = job["metadata"]["uid"]
        owner = {"kind": "Job", "name": job["metadata"]["name"], "uid": uid, "controller": True}
        pod: Obj = {
            "metadata": {"name": f"{job['metadata']['name']}-x", "ownerReferences": [owner]},
            "spec": {**spec, "nodeName": self.node},
            "status": {"phase": "Running"},
        }
        self.pods[uid] = [pod]
        await self.clock.sleep(self.seconds)
        status = self.work(_environment(spec))
        if status is None:
            await asyncio.get_running_loop().create_future()
        pod["status"] = status
        type_ = "Complete" if (status or {}).get("phase") == "Succeeded" else "Failed"
        condition = {"type": type_, "status": "True", "reason": "BackoffLimitExceeded"}
        job["status"] = {"conditions": [condition]}


def succeeded(message: str, *, name: str = "fence") -> dict[str, Any]:
    """The status of a pod that ended well and said that."""
    state = {"terminated": {"exitCode": 0, "message": message}}
    return {"phase": "Succeeded", "containerStatuses": [{"name": name, "state": state}]}


def _environment(spec: Obj) -> dict[str, str]:
    return {one["name"]: one["value"] for one in spec["containers"][0]["env"]}
