"""Carries one fence on by one step. Each step can be repeated; whatever is unclear releases nothing.

    Fencing ──off, and read back──> Confirming ──all others report, still off──> Fenced (taint, pods released)
       └───────────── failed, late, contradicted ─────────────┴──> Failed, and tried again from the beginning

Why the others must report before anything is released: an agent that answers for the wrong node has switched
off another machine, and that one falls silent.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from vacate.api.kinds import FENCINGPOLICIES, NODES
from vacate.api.times import after
from vacate.api.types import Node, condition
from vacate.api.types.fencingpolicy import (
    CONFIRMING,
    FENCED,
    FENCING,
    MANUAL,
    STORAGE,
    FencingPolicy,
    NodeFencing,
)
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.controllers.fencing.caches import fencing_now
from vacate.controllers.fencing.events import FENCING_ABANDONED, NODE_FENCED
from vacate.controllers.fencing.leases import LeaseObservation, Reports, read_reports
from vacate.controllers.fencing.stepresults import (
    StepResult,
    failed,
    held_until,
    seconds_held,
    step_identity,
    wait,
)
from vacate.errors import ConfigError, FencingFailed, Forbidden, NotFound
from vacate.fencing.agentprotocol import PowerState
from vacate.fencing.agents import Agents, Answer, MachineAgent
from vacate.fencing.annotations import (
    BEGUN,
    CONFIRM_WITHIN,
    begun_patch,
    carried_out_until,
    fenced_patch,
    has_begun,
    is_storage_fence,
    latest_loss_of,
)
from vacate.fencing.decision import is_approved, latest_loss, limits_of, selects
from vacate.fencing.limits import check_limits
from vacate.kube.nodes import is_marked_off, readiness

POLL_SECONDS = 5.0
MAX_OBSERVATION_AGE = 60.0
"""Seconds: how old the knowledge may be upon which the agent is called."""

SKEW = dt.timedelta(seconds=10)
"""By how much the clock that dates conditions of nodes may be behind."""


def policy_owner(policy: FencingPolicy) -> str:
    """Who fences, in the marks on a node, where a policy does."""
    return f"FencingPolicy {policy.metadata.name}"


@dataclass(slots=True)
class Fencer:
    """Fences that this process carries out. What it remembers is only what it has seen itself."""

    client: Client
    clock: Clock
    agents: Agents
    identity: str
    owner: Callable[[FencingPolicy], str] = policy_owner  # whose name stands in the marks on the node
    take_over: bool = False  # a person knows that no attempt on the node is running, and which machine is off
    # By policy: when it was seen, on the monotonic clock, and which nodes reported.
    heard: dict[str, tuple[float, frozenset[str]]] = field(default_factory=dict)
    _looks: dict[tuple[str, str], LeaseObservation] = field(default_factory=dict)  # by policy and node
    # By policy and node: the node's last report before the agent was called. A row says the same, and others
    # could have written it.
    _heard_before: dict[tuple[str, str], str] = field(default_factory=dict)

    async def advance(self, policy: FencingPolicy, row: NodeFencing, now: dt.datetime) -> StepResult:
        """One step of a row that is Fencing or Confirming."""
        if row.holder != self.identity:
            return self._leave_or_restart(row, now)
        node = await self._node(row)
        if node is None:
            return StepResult(gone=True, reason=FENCING_ABANDONED, message=f"Node {row.name} was deleted.")
        reports = await read_reports(self.client)
        if row.phase == FENCING:
            return await self._fence(policy, row, node, reports, now)
        return await self._confirm(policy, row, node, reports, now)

    def _leave_or_restart(self, row: NodeFencing, now: dt.datetime) -> StepResult:
        """What another has seen is not known here: its fence is begun anew when its time is over."""
        if (until := held_until(row, now)) is not None:
            return StepResult(later=until)
        return self._unknown(row, now)

    @staticmethod
    def _unknown(row: NodeFencing, now: dt.datetime) -> StepResult:
        why = f"node {row.name}: the controller that fenced it ended, and what the agent did is not known"
        return failed(row, why, "unknown", now, pause=0.0)

    # Fencing

    async def _fence(
        self, policy: FencingPolicy, row: NodeFencing, node: Node, reports: Reports, now: dt.datetime
    ) -> StepResult:
        mine = has_begun(node, self.owner(policy))
        if _has_reported(row, node, reports):
            if mine:
                # The agent may have been called, and its answer lost: what was begun is not forgotten.
                return failed(row, f"node {row.name} has reported while it was fenced", "unknown", now)
            message = f"Node {row.name} reports again; it is not fenced."
            return StepResult(gone=True, reason=FENCING_ABANDONED, message=message)
        if why := await self._refused(policy, row):
            if mine:
                return failed(row, f"node {row.name}: {why}", "unknown", now)
            # Nothing was done yet; it is decided anew.
            return StepResult(gone=True, message=f"node {row.name} is not fenced: {why}")
        boot = node.status.node_info.boot_id if policy.spec.agent.mechanism == STORAGE else None
        if boot == "":
            why = (
                f"node {row.name} has never reported its boot ID: nothing would show when it was restarted "
                "and may have its storage back. Fence it by its power"
            )
            return failed(row, why, row.power, now)
        await self._begin(policy, row, node, now, boot)
        try:
            agent = await self.agents.for_node(policy.spec.agent, node, step_identity(policy, row))
        except (FencingFailed, ConfigError) as error:
            return failed(row, f"node {row.name} cannot be fenced: {error}", row.power, now)
        self._heard_before[policy.metadata.uid, row.name] = reports.get(row.name, "")
        return await self._switch_off(policy, row, agent)

    async def _begin(
        self, policy: FencingPolicy, row: NodeFencing, node: Node, now: dt.datetime, boot: str | None
    ) -> None:
        """What is lost from now on may be the machine that the agent switches off instead.

        Or since the first attempt: one that came to nothing may have switched it off.
        """
        lost = None if self.take_over else latest_loss_of(node)
        if lost is None:
            lost = latest_loss((await self.client.list(NODES, into=Node)).items)
        until = after(now, seconds_held(policy) + CONFIRM_WITHIN)
        await self.client.patch(
            NODES, row.name, begun_patch(node, self.owner(policy), now, until, lost, boot)
        )

    async def _switch_off(self, policy: FencingPolicy, row: NodeFencing, agent: MachineAgent) -> StepResult:
        off = await agent.off()
        # The agent's own word is not enough: read the state back, in a call of its own.
        status = await agent.status()
        now = self.clock.now()
        if not (off.ok and is_confirmed_off(status)):
            result = "succeeded" if off.ok else f"failed ({off.message})"
            why = (
                f"node {row.name} is not known to be off: the agent's action off {result}, and its status "
                f"afterwards is {status.state} ({status.message})"
            )
            return failed(row, why, str(status.state), now)
        held = after(now.replace(microsecond=0), seconds_held(policy) + CONFIRM_WITHIN)
        message = f"node {row.name} is off, says the agent; all other nodes must report before it is believed"
        return StepResult(replace(row, phase=CONFIRMING, power="off", hold_time=held, message=message))

    async def _refused(self, policy: FencingPolicy, row: NodeFencing) -> str:
        """Decide once more, upon what the server says now: others may have begun in the same moment."""
        at, heard = self.heard.get(policy.metadata.name, (None, frozenset[str]()))
        if at is None or self.clock.monotonic() - at > MAX_OBSERVATION_AGE:
            return "it is not known any more which nodes report"
        nodes = (await self.client.list(NODES, into=Node)).items
        policies = await self._policies()
        node = next((one for one in nodes if _is(one, row)), None)
        # The row is a record that others could have written: what a person or the selector decides is asked.
        if node is None or not selects(policy, node):
            return "the policy does not mean this node any more"
        if policy.spec.approval == MANUAL and not is_approved(node):
            return "no person has approved the fence of this outage"
        if row.name in heard:
            return "it has just reported"
        others = not self.take_over and not has_begun(node, self.owner(policy))
        if others and carried_out_until(node, self.clock.now()) is not None:
            return f"a fence was begun by {node.metadata.annotations[BEGUN]}"
        return check_limits(nodes, row.name, limits_of(policy), heard=heard, under_way=fencing_now(policies))

    async def _policies(self) -> Sequence[FencingPolicy]:
        try:
            return (await self.client.list(FENCINGPOLICIES, into=FencingPolicy)).items
        except (NotFound, Forbidden):  # of a command, where none are served, or a person may not see them
            return ()

    # Confirming

    async def _confirm(
        self, policy: FencingPolicy, row: NodeFencing, node: Node, reports: Reports, now: dt.datetime
    ) -> StepResult:
        if is_marked_off(node):
            return self._fenced(row, node)  # written, and the answer was lost
        if not has_begun(node, self.owner(policy)):
            # The row is a record that others could have written; limits and approval come before the mark.
            return self._failed(policy, row, f"node {row.name}: no fence of this policy is begun on it", now)
        before = self._heard_before.get((policy.metadata.uid, row.name))
        if before is None:
            return self._unknown(row, now)  # nor has this process called the agent
        if _has_reported(row, node, reports) or reports.get(row.name, "") != before:
            why = (
                f"node {row.name} has reported while it was fenced: the agent may have switched off another "
                "machine, or the network has healed"
            )
            return self._failed(policy, row, why, now)
        ticks = self.clock.monotonic()
        look = self._looks.setdefault((policy.metadata.uid, row.name), LeaseObservation(ticks, reports))
        nodes = (await self.client.list(NODES, into=Node)).items
        silent = silent_nodes(row, nodes, look.heard_by(reports), latest_loss_of(node))
        if not silent:
            return await self._release(policy, row, node, now)
        if ticks - look.at < CONFIRM_WITHIN:
            return wait(now, POLL_SECONDS)
        why = (
            f"node {row.name}: the agent says that it is off, but {_listed(silent)} fell silent at the same "
            "time: the agent may have switched off the wrong machine. Find out which machine is off; "
            f"vacate fence {row.name} --retry releases the pods when you know"
        )
        return self._failed(policy, row, why, now)

    async def _release(
        self, policy: FencingPolicy, row: NodeFencing, node: Node, now: dt.datetime
    ) -> StepResult:
        """The last look at the machine comes after the node was read, and the write is upon that version."""
        whole = await self.client.get(NODES, row.name)
        if whole["metadata"]["resourceVersion"] != node.metadata.resource_version:
            return wait(now, 1.0)
        try:
            agent = await self.agents.for_node(policy.spec.agent, node, step_identity(policy, row))
        except (FencingFailed, ConfigError) as error:
            return self._failed(policy, row, f"node {row.name} cannot be confirmed to be off: {error}", now)
        status = await agent.status()
        if not is_confirmed_off(status):
            why = f"node {row.name} was off and is {status.state} now ({status.message})"
            return self._failed(policy, row, why, now, power=str(status.state))
        await self.client.patch(NODES, row.name, fenced_patch(whole, self.owner(policy), now))
        self._forget(policy, row)
        return self._fenced(row, node)

    def _fenced(self, row: NodeFencing, node: Node) -> StepResult:
        state = "is cut off from its storage" if is_storage_fence(node) else "is off"
        message = f"node {row.name} {state} and out of service: its pods are released"
        done = replace(
            row, phase=FENCED, power="off", holder="", hold_time=None, retry_time=None, message=message
        )
        return StepResult(done, reason=NODE_FENCED, message=message)

    def _failed(
        self, policy: FencingPolicy, row: NodeFencing, why: str, now: dt.datetime, *, power: str = "off"
    ) -> StepResult:
        self._forget(policy, row)
        return failed(row, why, power, now)

    def _forget(self, policy: FencingPolicy, row: NodeFencing) -> None:
        self._looks.pop((policy.metadata.uid, row.name), None)
        self._heard_before.pop((policy.metadata.uid, row.name), None)

    # What the server says now

    async def _node(self, row: NodeFencing) -> Node | None:
        try:
            node = await self.client.get(NODES, row.name, into=Node)
        except (NotFound, ConfigError):  # no node can have such a name
            return None
        return node if _is(node, row) else None


def is_confirmed_off(status: Answer) -> bool:
    """Only what was read back counts: that an agent has switched off is no proof."""
    return status.ok and status.state is PowerState.OFF


def silent_nodes(
    row: NodeFencing, nodes: Sequence[Node], heard: frozenset[str], begun: dt.datetime | None = None
) -> list[str]:
    """Other nodes that may be the machine that was switched off: not heard since, or lost since the start.

    `begun` is the latest loss before the fence, as the mark on the node says: it goes before that of the row,
    which others could have written.
    """
    start, latest = row.start_time or row.since, begun or row.latest_loss
    found = []
    for node in nodes:
        name, ready = node.metadata.name, condition(node.status.conditions, "Ready")
        if name == row.name or ready is None or name in heard:
            continue
        lost = ready.last_transition_time
        if latest is not None:  # of the same clock, whatever that shows
            recently = lost is None or lost > latest
        else:
            recently = start is None or lost is None or lost >= start - SKEW
        if ready.status == "True" or (ready.status == "Unknown" and recently):
            found.append(name)
    return found


def _has_reported(row: NodeFencing, node: Node, reports: Reports) -> bool:
    return readiness(node) != "Unknown" or reports.get(row.name, "") != row.last_report


def _is(node: Node, row: NodeFencing) -> bool:
    return node.metadata.name == row.name and node.metadata.uid == row.uid


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5])
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown
