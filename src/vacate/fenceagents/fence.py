"""One fence from beginning to end: check the limits, power off, read back, and only then release the pods.

A fence by storage is the same; its machine may run on, so that it gets its storage back only after a restart.
Whatever is unclear releases nothing. The beginning is written on the node before the agent is called, so that
two who fence see each other, and so that a fence that was cut short is known as such.
"""

from __future__ import annotations

from dataclasses import dataclass

from vacate.api.kinds import LEASES, NODES
from vacate.api.types import Lease, Node
from vacate.api.types.fencingpolicy import POWER, STORAGE
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.errors import Conflict, FencingFailed, NotFound
from vacate.fenceagents.agent import FenceAgent
from vacate.fencing.agentprotocol import OFF, ON, PowerState
from vacate.fencing.limits import FencingLimits, is_out_of_service, refusal
from vacate.fencing.marks import (
    BEGUN,
    FENCED,
    abandoned_patch,
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
    mechanism: str = POWER

    @property
    def by_storage(self) -> bool:
        """Whether the node is cut off from its storage, and its machine runs on."""
        return self.mechanism == STORAGE

    async def check(self, name: str) -> Node:
        """The node, where it may be fenced; FencingFailed says why not."""
        nodes = (await self.client.list(NODES, into=Node)).items
        if reason := refusal(nodes, name, self.limits):
            raise FencingFailed(f"{reason}. {_NOTHING}")
        node = next(one for one in nodes if one.metadata.name == name)
        if self.by_storage and not node.status.node_info.boot_id:
            raise FencingFailed(
                f"node {name} has never reported its boot ID: nothing would show when it was restarted and "
                f"may have its storage back. {_NOTHING}. Fence it by its power"
            )
        return node

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
        mark = await self.begin(node)
        await self._power_off(name)
        if await self._last_heard(name) != heard:
            wrong = "cut off another node" if self.by_storage else "switched off another machine"
            raise FencingFailed(
                f"node {name} has reported while it was fenced: the agent may have {wrong}, or the network "
                f"has healed. {_NOTHING}{self._way_back(name)}"
            )
        await self._patch(name, node.metadata.uid, fenced=True, mark=mark)

    async def unfence(self, name: str) -> bool:
        """Power the node on, or give it its storage back; confirm it, and let it take pods again.

        Returns whether it was its storage.
        """
        node = await self.client.get(NODES, name, into=Node)
        by_storage = is_storage_fence(node)
        if FENCED not in node.metadata.annotations:
            await self._abandon(node)
            return by_storage
        if by_storage and not has_restarted(node):
            raise FencingFailed(
                f"node {name} was cut off from its storage and has not been restarted since: processes from "
                "before the fence may still run on it and write. Restart the machine and let it report, then "
                "repeat. Nothing was changed"
            )
        await self._power_on(name, "It stays out of service")
        await self._patch(name, node.metadata.uid, fenced=False)
        return by_storage

    async def _abandon(self, node: Node) -> None:
        """Give a node back what a storage fence took that came to nothing: none of its pods was released."""
        name, begun = node.metadata.name, BEGUN in node.metadata.annotations
        if not begun or not is_storage_fence(node) or is_out_of_service(node):
            raise FencingFailed(f"node {name} was not fenced by vacate fence; it is left as it is")
        if readiness(node) == "Unknown":
            raise FencingFailed(
                f"node {name}: the fence by storage that was begun has not ended, and the node does not "
                "report. Nothing was changed; repeat the fence with --retry, or wait until the node reports"
            )
        await self.begin(node)  # whoever began it, and goes on, must not release anything any more
        await self._power_on(name, "Nothing of it was released")
        for _ in range(_ATTEMPTS):
            whole = await self.client.get(NODES, name)
            try:
                await self.client.patch(NODES, name, abandoned_patch(whole))
            except Conflict:
                continue
            return
        raise FencingFailed(f"node {name} has its storage, and changes too quickly to record that; repeat")

    async def _power_on(self, name: str, otherwise: str) -> None:
        result = await self.agent.call(ON)
        state, status = await self.agent.power()
        if state is not PowerState.ON:
            raise FencingFailed(
                f"node {name} was not switched on: {result.message}; its status is {state} "
                f"({status.message}). {otherwise}"
            )

    async def _power_off(self, name: str) -> None:
        result = await self.agent.call(OFF)
        # The agent's own word is not enough: read the state back, in a call of its own.
        state, status = await self.agent.power()
        if result.code == 0 and state is PowerState.OFF:
            return
        ended = "succeeded" if result.code == 0 else f"failed ({result.message})"
        wanted = "cut off from its storage" if self.by_storage else "off"
        raise FencingFailed(
            f"node {name} is not known to be {wanted}: the agent's action off {ended}, and its status "
            f"afterwards is {state} ({status.message}). {_NOTHING}. Check the agent's options, and repeat "
            "with --retry"
        )

    async def _last_heard(self, name: str) -> object:
        try:
            lease = await self.client.get(LEASES, name, _LEASES, into=Lease)
        except NotFound:
            return None
        return lease.spec.renew_time

    @property
    def _although(self) -> str:
        return "" if self.by_storage else " although its machine is off"

    def _way_back(self, name: str) -> str:
        return f". Give it its storage back: vacate fence {name} --undo" if self.by_storage else ""

    async def begin(self, node: Node) -> str:
        """Written upon the version that was decided about: of two who fence one loses. Returns the mark."""
        name, boot = node.metadata.name, node.status.node_info.boot_id if self.by_storage else None
        patch = begun_patch(node, self.user, self.clock.now(), boot_id=boot)
        try:
            await self.client.patch(NODES, name, patch)
        except Conflict:
            raise FencingFailed(
                f"node {name} changed at this moment: it may report again, or another fence has begun. "
                f"{_NOTHING}"
            ) from None
        return str(patch["metadata"]["annotations"][BEGUN])

    async def _patch(self, name: str, uid: str, *, fenced: bool, mark: str = "") -> None:
        """Set or remove the taint beside all others."""
        for _ in range(_ATTEMPTS):
            whole = await self.client.get(NODES, name)
            node = await self.client.get(NODES, name, into=Node)
            if node.metadata.uid != uid:
                raise FencingFailed(f"node {name} was replaced by another of its name meanwhile. {_NOTHING}")
            if fenced and node.metadata.annotations.get(BEGUN) != mark:
                raise FencingFailed(f"node {name}: another process has taken over this fence. {_NOTHING}")
            if fenced and (ready := readiness(node)) != "Unknown":
                # One that is not ready says so itself: it is alive.
                raise FencingFailed(
                    f"node {name} reports again (Ready={ready}){self._although}. {_NOTHING}"
                    f"{self._way_back(name)}"
                )
            patch = fenced_patch(whole, self.user, self.clock.now()) if fenced else unfenced_patch(whole)
            try:
                await self.client.patch(NODES, name, patch)
            except Conflict:
                continue
            return
        raise FencingFailed(f"node {name} changes too quickly. {_NOTHING}; repeat with --retry")
