"""One fence from beginning to end: check the limits, power off, read back, and only then release the pods.

Whatever is unclear releases nothing. The beginning is written on the node before the agent is called, so that
two who fence see each other, and so that a fence that was cut short is known as such.
"""

from __future__ import annotations

from dataclasses import dataclass

from vacate.api.kinds import LEASES, NODES
from vacate.api.types import Lease, Node
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.errors import Conflict, FencingFailed, NotFound
from vacate.fenceagents.agent import FenceAgent
from vacate.fencing.agentprotocol import OFF, ON, PowerState
from vacate.fencing.limits import FencingLimits, refusal
from vacate.fencing.marks import (
    BEGUN,
    FENCED,
    begun_patch,
    fenced_patch,
    has_restarted,
    is_storage_fence,
    unfenced_patch,
)
from vacate.kube.nodes import readiness

_LEASES = "kube-node-lease"
_ATTEMPTS = 5
_NOTHING = "Nothing was released"


@dataclass(frozen=True, slots=True)
class Fencing:
    """Fences and unfences nodes with one agent."""

    client: Client
    clock: Clock
    agent: FenceAgent
    limits: FencingLimits
    user: str  # who does it, for those who look later

    async def check(self, name: str) -> Node:
        """The node, where it may be fenced; FencingFailed says why not."""
        nodes = (await self.client.list(NODES, into=Node)).items
        if said := refusal(nodes, name, self.limits):
            raise FencingFailed(f"{said}. {_NOTHING}")
        return next(one for one in nodes if one.metadata.name == name)

    async def fence(self, name: str, *, retry: bool = False) -> None:
        """Power the node off, confirm it, release its pods. FencingFailed: nothing was released."""
        node = await self.check(name)
        begun = node.metadata.annotations.get(BEGUN)
        if begun and not retry:
            raise FencingFailed(
                f"node {name}: a fence was begun by {begun} and its end is not known. {_NOTHING}. Make sure "
                "that it is not under way any more, and repeat with --retry"
            )
        heard = await self._last_heard(name)
        await self.begin(node)
        await self._power_off(name)
        if await self._last_heard(name) != heard:
            raise FencingFailed(
                f"node {name} has reported while it was fenced: the agent may have switched off another "
                f"machine, or the network has healed. {_NOTHING}"
            )
        await self._release(node)

    async def unfence(self, name: str) -> None:
        """Power the node on, confirm it, and let it take pods again."""
        node = await self.client.get(NODES, name, into=Node)
        if FENCED not in node.metadata.annotations:
            raise FencingFailed(f"node {name} was not fenced by vacate fence; it is left as it is")
        if is_storage_fence(node) and not has_restarted(node):
            raise FencingFailed(
                f"node {name} was cut off from its storage and has not been restarted since: processes from "
                "before the fence may still run on it and write. Restart the machine and let it report, then "
                "repeat. Nothing was changed"
            )
        result = await self.agent.call(ON)
        state, status = await self.agent.power()
        if state is not PowerState.ON:
            raise FencingFailed(
                f"node {name} was not switched on: {result.said}; its status is {state} ({status.said}). It "
                "stays out of service"
            )
        await self._patch(name, node.metadata.uid, fenced=False)

    async def _power_off(self, name: str) -> None:
        result = await self.agent.call(OFF)
        # The agent's own word is not enough: read the state back, in a call of its own.
        state, status = await self.agent.power()
        if result.code == 0 and state is PowerState.OFF:
            return
        ended = "succeeded" if result.code == 0 else f"failed ({result.said})"
        raise FencingFailed(
            f"node {name} is not known to be off: the agent's action off {ended}, and its status afterwards "
            f"is {state} ({status.said}). {_NOTHING}. Check the agent's options, and repeat with --retry"
        )

    async def _last_heard(self, name: str) -> object:
        try:
            lease = await self.client.get(LEASES, name, _LEASES, into=Lease)
        except NotFound:
            return None
        return lease.spec.renew_time

    async def begin(self, node: Node) -> None:
        """Written upon the version that was decided about: of two who fence one loses."""
        name = node.metadata.name
        try:
            await self.client.patch(NODES, name, begun_patch(node, self.user, self.clock.now()))
        except Conflict:
            raise FencingFailed(
                f"node {name} changed in this moment: it may report again, or another fence has begun. "
                f"{_NOTHING}"
            ) from None

    async def _release(self, node: Node) -> None:
        await self._patch(node.metadata.name, node.metadata.uid, fenced=True)

    async def _patch(self, name: str, uid: str, *, fenced: bool) -> None:
        """Set or remove the taint beside all others."""
        for _ in range(_ATTEMPTS):
            whole = await self.client.get(NODES, name)
            node = await self.client.get(NODES, name, into=Node)
            if node.metadata.uid != uid:
                raise FencingFailed(f"node {name} was replaced by another of its name meanwhile. {_NOTHING}")
            if fenced and (ready := readiness(node)) != "Unknown":
                # One that is not ready says so itself: it is alive.
                raise FencingFailed(
                    f"node {name} reports again (Ready={ready}) although its machine is off. {_NOTHING}"
                )
            patch = fenced_patch(whole, self.user, self.clock.now()) if fenced else unfenced_patch(whole)
            try:
                await self.client.patch(NODES, name, patch)
            except Conflict:
                continue
            return
        raise FencingFailed(f"node {name} changes too quickly. {_NOTHING}; repeat with --retry")
