"""A fence that a person carries out with `vacate fence`: the steps of the controller, with another agent.

What the controller keeps in the status of a policy is kept here, for as long as the command runs. The mark on
the node ends with it, or says until when it could have run.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from vacate.api.kinds import NODES
from vacate.api.times import after, format_time
from vacate.api.types import Node
from vacate.api.types.fencingpolicy import (
    CONFIRMING,
    FAILED,
    FENCED,
    FENCING,
    POWER,
    STORAGE,
    AgentSpec,
    FencingPolicy,
    FencingPolicySpec,
    NodeFencing,
)
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.controllers.fencing.controller import OBSERVE_LEASES_FOR
from vacate.controllers.fencing.fencer import Fencer
from vacate.controllers.fencing.leases import LeaseObservation, read_reports
from vacate.controllers.fencing.stepresults import NOTHING, StepResult, seconds_held
from vacate.errors import ApiError, ConfigError, Conflict, FencingFailed, NotFound, TransportError
from vacate.fencing.agentprotocol import PowerState
from vacate.fencing.agents import Answer, MachineAgent
from vacate.fencing.annotations import (
    BEGUN,
    abandoned_patch,
    begun_patch,
    carried_out_until,
    ended_patch,
    has_begun,
    has_restarted,
    is_storage_fence,
    latest_loss_of,
    unfenced_patch,
)
from vacate.fencing.annotations import FENCED as FENCED_MARK
from vacate.fencing.decision import latest_loss
from vacate.fencing.limits import FencingLimits, check_limits
from vacate.kube.nodes import is_marked_off, readiness

_ATTEMPTS = 5
_END_WITHIN = 10.0


@dataclass(slots=True)
class _Noting:
    """The agent, and what it came to so far."""

    agent: MachineAgent
    called: bool = False
    state: PowerState = PowerState.UNKNOWN

    async def for_node(self, spec: AgentSpec, node: Node, step: str) -> MachineAgent:
        """The one that the person has named, for the node that they have named."""
        return self

    def off(self) -> Awaitable[Answer]:
        """Switch the machine off."""
        self.called = True
        return self.agent.off()

    def on(self) -> Awaitable[Answer]:
        """Switch the machine on."""
        return self.agent.on()

    async def status(self) -> Answer:
        """Read the state of the machine."""
        self.state = PowerState.UNKNOWN
        answer = await self.agent.status()
        self.state = answer.state
        return answer


@dataclass(frozen=True, slots=True)
class Undone:
    """What became of a node that was fenced, or nearly."""

    did: str  # by the person
    state: str  # the node's


@dataclass(frozen=True, slots=True)
class ManualFence:
    """Fences and unfences nodes with one agent."""

    client: Client
    clock: Clock
    agent: MachineAgent | None  # None where what is undone needs none
    limits: FencingLimits
    owner: str  # who does it, for those who look later: no other run has the same
    mechanism: str = POWER
    agent_timeout: int = 60
    progress: Callable[[str], None] = lambda _: None  # what is being waited for, for people
    _policy: FencingPolicy = field(init=False, repr=False, default_factory=FencingPolicy)

    def __post_init__(self) -> None:
        spec = FencingPolicySpec(
            min_healthy=self.limits.min_healthy,
            max_fenced=self.limits.max_fenced,
            agent=AgentSpec(mechanism=self.mechanism, timeout_seconds=self.agent_timeout),
        )
        object.__setattr__(self, "_policy", FencingPolicy(spec=spec))

    @property
    def by_storage(self) -> bool:
        """Whether the node is cut off from its storage, and its machine runs on."""
        return self.mechanism == STORAGE

    async def check(self, name: str) -> Node:
        """The node, where it may be fenced; FencingFailed says why not."""
        nodes = (await self.client.list(NODES, into=Node)).items
        if reason := check_limits(nodes, name, self.limits):
            raise FencingFailed(f"{reason}. {NOTHING}")
        node = next(one for one in nodes if one.metadata.name == name)
        if self.by_storage and not node.status.node_info.boot_id:
            raise FencingFailed(
                f"node {name} has never reported its boot ID: nothing would show when it was restarted and "
                f"may have its storage back. {NOTHING}. Fence it by its power"
            )
        return node

    async def fence(self, name: str, *, retry: bool = False) -> None:
        """Power the node off, confirm it, release its pods. FencingFailed: nothing was released.

        With `retry` it is the person who knows that no other fence is under way, and which machine is off.
        """
        node = await self.check(name)
        until = carried_out_until(node, self.clock.now())
        if until is not None and not retry:
            raise FencingFailed(
                f"node {name} is being fenced by {node.metadata.annotations[BEGUN]}, which ends at "
                f"{format_time(until)} at the latest. {NOTHING}. Wait, or make sure that it has ended, and "
                "repeat with --retry"
            )
        agent = _Noting(self._given())
        attempts = Fencer(
            self.client, self.clock, agent, self.owner, owner=lambda _: self.owner, take_over=retry
        )
        row = await self._begin(node, attempts)
        async with self._ending(name, agent):
            await self._carry_out(attempts, row, agent)

    async def _begin(self, node: Node, attempts: Fencer) -> NodeFencing:
        """Watch who reports, as the controller does before it decides."""
        name = node.metadata.name
        first = LeaseObservation(self.clock.monotonic(), await read_reports(self.client))
        self.progress(f"node/{name}: watching for {OBSERVE_LEASES_FOR:g} s which nodes report")
        await self.clock.sleep(OBSERVE_LEASES_FOR)
        reports = await read_reports(self.client)
        attempts.heard[""] = (self.clock.monotonic(), first.heard_by(reports))
        nodes = (await self.client.list(NODES, into=Node)).items
        return NodeFencing(
            name,
            node.metadata.uid,
            FENCING,
            start_time=self.clock.now().replace(microsecond=0),
            latest_loss=latest_loss(nodes),
            last_report=reports.get(name, ""),
            holder=self.owner,
        )

    @contextlib.asynccontextmanager
    async def _ending(self, name: str, agent: _Noting) -> AsyncIterator[None]:
        """What fails or is interrupted leaves no mark behind that looks as if it went on."""
        try:
            yield
        except BaseException:  # of a signal, too
            with contextlib.suppress(ApiError, TransportError, TimeoutError):
                async with asyncio.timeout(_END_WITHIN):
                    await self._end(name, agent)
            raise

    async def _carry_out(self, attempts: Fencer, row: NodeFencing, agent: _Noting) -> None:
        """One step after the other, until the pods are released, or it is clear that they will not be."""
        conflicts = 0
        while row.phase != FENCED:
            try:
                step = await attempts.advance(self._policy, row, self.clock.now())
            except Conflict:
                conflicts += 1
                if conflicts == _ATTEMPTS:
                    raise FencingFailed(
                        f"node {row.name} changes at this moment: it may report again, or another fence has "
                        f"begun. {NOTHING}; repeat"
                    ) from None
                step = StepResult(later=after(self.clock.now(), 1.0))
            if step.gone or (step.row is not None and step.row.phase == FAILED):
                undo = f". Give it its storage back: vacate fence {row.name} --undo"
                raise FencingFailed(_sentence(step) + (undo if self.by_storage and agent.called else ""))
            if step.row is not None:
                row = step.row
                if row.phase == CONFIRMING:
                    self.progress(f"node/{row.name}: {row.message.removeprefix(f'node {row.name} ')}")
            elif step.later is not None:
                await self.clock.sleep(max((step.later - self.clock.now()).total_seconds(), 0.1))

    async def _end(self, name: str, agent: _Noting) -> None:
        """The mark goes where nothing was done; else it says that no attempt is running."""
        for _ in range(_ATTEMPTS):
            try:
                node = await self.client.get(NODES, name, into=Node)
                if not has_begun(node, self.owner):
                    return
                on = not agent.called or agent.state is PowerState.ON
                nothing = on or (not is_storage_fence(node) and readiness(node) != "Unknown")
                await self.client.patch(
                    NODES, name, ended_patch(node, self.clock.now(), nothing_done=nothing)
                )
            except NotFound:
                return
            except Conflict:
                continue
            return

    async def unfence(self, name: str) -> Undone:
        """Power the node on, or give it its storage back; confirm it, and let it take pods again.

        One that was only begun is ended; a node that reports needs no agent for that.
        """
        node = await self.client.get(NODES, name, into=Node)
        by_storage, fenced = is_storage_fence(node), FENCED_MARK in node.metadata.annotations
        if not fenced:
            if BEGUN not in node.metadata.annotations or is_marked_off(node):
                raise FencingFailed(f"node {name} was not fenced by vacate fence; it is left as it is")
            if not by_storage and readiness(node) != "Unknown":
                # It reports: its machine is on, and nothing of it was released.
                await self._clear(node, fenced=False)
                return Undone("ended the fence that was begun", "is not being fenced any more")
            if by_storage and readiness(node) == "Unknown":
                raise FencingFailed(
                    f"node {name}: the fence by storage that was begun has not ended, and the node does not "
                    "report. Nothing was changed; repeat the fence, or wait until the node reports"
                )
            await self._take_over(node)
        elif by_storage and not has_restarted(node):
            raise FencingFailed(
                f"node {name} was cut off from its storage and has not been restarted since: processes from "
                "before the fence may still run on it and write. Restart the machine and let it report, then "
                "repeat. Nothing was changed"
            )
        agent = _Noting(self._given(), called=True)
        async with self._ending(name, agent):
            await self._power_on(name, agent, "It stays out of service" if fenced else NOTHING)
            await self._clear(node, fenced=fenced)
        if by_storage:
            return Undone("gave the node its storage back and removed the marks", "has its storage again")
        return Undone("switched the node on and removed the marks", "is on again")

    async def _take_over(self, node: Node) -> None:
        """The process that began the fence may still run; it must release nothing from now on."""
        now, name = self.clock.now(), node.metadata.name
        until = after(now, seconds_held(self._policy))
        patch = begun_patch(node, self.owner, now, until, latest_loss_of(node))
        try:
            await self.client.patch(NODES, name, patch)
        except Conflict:
            raise FencingFailed(
                f"node {name} changed at this moment: it may report again, or another fence has begun. "
                f"{NOTHING}; repeat"
            ) from None

    async def _power_on(self, name: str, agent: MachineAgent, otherwise: str) -> None:
        result = await agent.on()
        status = await agent.status()
        if status.state is not PowerState.ON:
            raise FencingFailed(
                f"node {name} was not switched on: {result.message}; its status is {status.state} "
                f"({status.message}). {otherwise}"
            )

    async def _clear(self, seen: Node, *, fenced: bool) -> None:
        """Remove the marks, and the taint beside all others where the fence was whole."""
        name = seen.metadata.name
        for _ in range(_ATTEMPTS):
            whole = await self.client.get(NODES, name)
            if whole["metadata"].get("uid") != seen.metadata.uid:
                raise FencingFailed(f"node {name} was replaced by another of its name meanwhile. {NOTHING}")
            with contextlib.suppress(Conflict):
                patch = unfenced_patch(whole) if fenced else abandoned_patch(whole)
                await self.client.patch(NODES, name, patch)
                return
        raise FencingFailed(f"node {name} changes too quickly; repeat")

    def _given(self) -> MachineAgent:
        if self.agent is None:
            raise ConfigError("--agent: name the fence agent, such as fence_redfish, and its options")
        return self.agent


def _sentence(step: StepResult) -> str:
    return step.message if NOTHING in step.message else f"{step.message.rstrip('.')}. {NOTHING}"
