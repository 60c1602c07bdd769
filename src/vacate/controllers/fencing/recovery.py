"""Brings a fenced node back: on again, reporting again, and only then without the taint."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from vacate.api.kinds import NODES
from vacate.api.times import after
from vacate.api.types import Node, Pod
from vacate.api.types.fencingpolicy import (
    AUTOMATIC,
    CONTRADICTED,
    FAILED,
    FENCED,
    MAX_MESSAGE,
    SWITCHING_ON,
    FencingPolicy,
    NodeFencing,
)
from vacate.controllers.fencing.events import CONTRADICTION, FENCING_ABANDONED, NODE_UNFENCED
from vacate.controllers.fencing.stepresults import (
    FIRST_RETRY,
    StepResult,
    held_until,
    seconds_held,
    step_identity,
    wait,
)
from vacate.errors import ConfigError, FencingFailed, NotFound
from vacate.fencing.agentprotocol import PowerState
from vacate.fencing.agents import Agents, Answer
from vacate.fencing.annotations import FENCED as FENCED_MARK
from vacate.fencing.annotations import (
    abandoned_patch,
    has_begun,
    has_restarted,
    is_storage_fence,
    unfenced_patch,
)
from vacate.fencing.decision import MAX_PAUSE
from vacate.kube.nodes import is_marked_off, readiness
from vacate.runtime.dependencies import Dependencies

POLL_INTERVAL = 30.0


@dataclass(frozen=True, slots=True)
class Recovery:
    """What follows when a node is fenced, or reports again."""

    deps: Dependencies
    agents: Agents
    identity: str
    pods_on: Callable[[str], Sequence[Pod]]

    async def advance(self, policy: FencingPolicy, row: NodeFencing, now: dt.datetime) -> StepResult:
        """One step of a row that is Failed, Fenced, SwitchingOn or Contradicted."""
        try:
            node = await self.deps.client.get(NODES, row.name, into=Node)
        except (NotFound, ConfigError):  # no node can have such a name
            node = None
        if node is None or node.metadata.uid != row.uid:
            return StepResult(gone=True)
        if row.phase == FAILED:
            return await self._after_failure(policy, row, node, now)
        if FENCED_MARK not in node.metadata.annotations:
            # By a person, or by us, and the write that followed was lost.
            message = f"Node {row.name} is not fenced any more; the taint is removed."
            return StepResult(gone=True, reason=NODE_UNFENCED, message=message)
        if row.phase == CONTRADICTED:
            return StepResult()
        if is_storage_fence(node):
            return await self._storage(policy, row, node, now)
        if readiness(node) == "True":
            return await self._back(policy, row, node, now)
        if row.phase == SWITCHING_ON:
            return await self._switch_on(policy, row, node, now)
        return self._keep(policy, row, now)

    async def _after_failure(
        self, policy: FencingPolicy, row: NodeFencing, node: Node, now: dt.datetime
    ) -> StepResult:
        if is_marked_off(node) and FENCED_MARK in node.metadata.annotations:
            # Fenced by a person, who knew more.
            message = f"node {row.name} was fenced by {node.metadata.annotations[FENCED_MARK]}"
            return StepResult(replace(row, phase=FENCED, retry_time=None, message=message[:1024]))
        if readiness(node) == "Unknown":
            return StepResult()  # tried again when its time has come, by the decision
        if has_begun(node, f"FencingPolicy {policy.metadata.name}"):
            if is_storage_fence(node) and (kept := await self._return_storage(policy, row, node, now)):
                return kept
            whole = await self.deps.client.get(NODES, row.name)
            await self.deps.client.patch(NODES, row.name, abandoned_patch(whole))
        return StepResult(
            gone=True, reason=FENCING_ABANDONED, message=f"Node {row.name} reports again; it is not fenced."
        )

    async def _return_storage(
        self, policy: FencingPolicy, row: NodeFencing, node: Node, now: dt.datetime
    ) -> StepResult | None:
        """What a fence that failed may have taken is given back: nothing of the node was released.

        None where the node has its storage.
        """
        if is_marked_off(node):
            return StepResult()  # declared by somebody else, and its pods are released: that is theirs to end
        on = await self._ask(policy, row, node, switch_on=True)
        status = await self._ask(policy, row, node)
        if status.state is PowerState.ON:
            return None
        message = f"node {row.name} reports, and its storage was not given back: {on.message}"[:MAX_MESSAGE]
        return (
            wait(now, POLL_INTERVAL) if row.message == message else StepResult(replace(row, message=message))
        )

    async def _storage(
        self, policy: FencingPolicy, row: NodeFencing, node: Node, now: dt.datetime
    ) -> StepResult:
        """The machine may have run on: it gets its storage back when nothing from before can run any more."""
        if not has_restarted(node):
            message = (
                f"node {row.name} is cut off from its storage until it is restarted: processes from before "
                "the fence may still run on it. Restart the machine"
            )
            return self._with_message(row, message)
        if row.phase == SWITCHING_ON:
            return await self._switch_on(policy, row, node, now)
        status = await self._ask(policy, row, node)
        if status.state is PowerState.ON:
            if readiness(node) != "True":
                return self._with_message(
                    row, f"node {row.name} was restarted and has its storage; it is not ready yet"
                )
            await self._clear(row.name)
            message = f"Node {row.name} was restarted and has its storage; the taint is removed."
            return StepResult(gone=True, reason=NODE_UNFENCED, message=message)
        if status.state is PowerState.UNKNOWN:
            return wait(now, POLL_INTERVAL)
        if policy.spec.power_on != AUTOMATIC:
            message = f"node {row.name} was restarted: vacate fence {row.name} --undo gives its storage back"
            return self._with_message(row, message)
        return self._keep(policy, replace(row, power="off"), now)

    @staticmethod
    def _with_message(row: NodeFencing, message: str) -> StepResult:
        """The row as it stands, with what people should know; nothing where it says so already."""
        changed = replace(row, phase=FENCED, holder="", hold_time=None, message=message)
        return StepResult() if changed == row else StepResult(changed)

    def _keep(self, policy: FencingPolicy, row: NodeFencing, now: dt.datetime) -> StepResult:
        if policy.spec.power_on != AUTOMATIC or row.power == "on":
            return StepResult()
        if row.retry_time is not None and now < row.retry_time <= after(now, MAX_PAUSE):
            return StepResult(later=row.retry_time)
        if any(pod.terminating for pod in self.pods_on(row.name)):
            return wait(now, POLL_INTERVAL)
        held = after(now.replace(microsecond=0), seconds_held(policy))
        message = f"node {row.name}: its pods are released, and it is switched on"
        return StepResult(
            replace(row, phase=SWITCHING_ON, holder=self.identity, hold_time=held, message=message)
        )

    async def _switch_on(
        self, policy: FencingPolicy, row: NodeFencing, node: Node, now: dt.datetime
    ) -> StepResult:
        if row.holder != self.identity and (until := held_until(row, now)) is not None:
            return StepResult(later=until)
        if policy.spec.power_on != AUTOMATIC:
            # The policy has changed, or another client wrote the row.
            message = f"node {row.name} stays off: people switch it on"
            return StepResult(replace(row, phase=FENCED, holder="", hold_time=None, message=message))
        on = await self._ask(policy, row, node, switch_on=True)
        status = await self._ask(policy, row, node)
        free = replace(row, phase=FENCED, holder="", hold_time=None, power=str(status.state))
        if status.state is PowerState.ON:
            return StepResult(replace(free, message=f"node {row.name} is on, and has not reported yet"))
        again = after(self.deps.clock.now().replace(microsecond=0), FIRST_RETRY)
        message = f"node {row.name} was not switched on: {on.message}; its status is {status.state}"
        return StepResult(replace(free, retry_time=again, message=message[:1024]))

    async def _back(
        self, policy: FencingPolicy, row: NodeFencing, node: Node, now: dt.datetime
    ) -> StepResult:
        """The node reports. If its machine is reported to be off all the same, the agent was never right."""
        status = await self._ask(policy, row, node)
        if status.state is PowerState.OFF:
            message = (
                f"node {row.name} reports although the agent says that its machine is off: the agent speaks "
                "of another machine, and the node's pods may have run twice. This policy fences nothing "
                f"until a person has looked: correct the agent, then vacate fence {row.name} --undo"
            )
            changed = replace(row, phase=CONTRADICTED, holder="", hold_time=None, message=message)
            return StepResult(changed, reason=CONTRADICTION, message=message)
        if status.state is PowerState.UNKNOWN:
            return wait(now, POLL_INTERVAL)
        await self._clear(row.name)
        message = f"Node {row.name} is on and reports; the taint is removed and it takes pods again."
        return StepResult(gone=True, reason=NODE_UNFENCED, message=message)

    async def _ask(
        self, policy: FencingPolicy, row: NodeFencing, node: Node, *, switch_on: bool = False
    ) -> Answer:
        try:
            agent = await self.agents.for_node(policy.spec.agent, node, step_identity(policy, row))
        except (FencingFailed, ConfigError) as error:
            return Answer(False, PowerState.UNKNOWN, str(error))
        return await (agent.on() if switch_on else agent.status())

    async def _clear(self, name: str) -> None:
        """Take the taint and the marks away; a Conflict is raised, and all is looked at again."""
        whole = await self.deps.client.get(NODES, name)
        await self.deps.client.patch(NODES, name, unfenced_patch(whole))
