"""What the Node says while it goes down: a taint that keeps new pods away, and conditions."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging

from vacate.api.kinds import NODES
from vacate.api.nodeconditions import GRACEFUL_SHUTDOWN, SHUTDOWN_IN_PROGRESS, SHUTDOWN_TAINT
from vacate.api.objects import Obj, dig
from vacate.api.untyped import maps
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.errors import Conflict, VacateError
from vacate.kube.conditions import node_condition
from vacate.kube.patches import guarded
from vacate.nodeagent.shutdown.state import Marks

log = logging.getLogger(__name__)

RETRY_SECONDS = 2.0


class NodeMarks:
    """Writes what differs, and tries again until the Node says it."""

    name = "node marks"

    def __init__(self, client: Client, clock: Clock, node: str) -> None:
        self._client = client
        self._clock = clock
        self._node = node
        self._wanted: Marks | None = None
        self._changed = asyncio.Event()

    def want(self, marks: Marks) -> None:
        """Write these in the background."""
        if marks != self._wanted:
            self._wanted = marks
            self._changed.set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._write()
            except (VacateError, OSError) as error:
                if not isinstance(error, Conflict):
                    log.warning("node %s cannot be marked yet: %s", self._node, error)
                self._changed.set()
                await self._clock.sleep(RETRY_SECONDS)

    async def _write(self) -> None:
        if (wanted := self._wanted) is None:
            return
        node = await self._client.get(NODES, self._node)
        if (taints := changed_taints(node, wanted)) is not None:
            change = guarded(node["metadata"], {"spec": {"taints": taints}})
            await self._client.patch(NODES, self._node, change)
        if conditions := changed_conditions(node, wanted, self._clock.now()):
            change = {"status": {"conditions": conditions}}
            await self._client.patch_status(NODES, self._node, change)


def changed_taints(node: Obj, wanted: Marks) -> list[Obj] | None:
    """The list with or without ours; None where it is right already. Those of others stay as they are."""
    present = list(dig(node, "spec", "taints") or [])
    others = [one for one in present if one.get("key") != SHUTDOWN_TAINT]
    ours = [{"key": SHUTDOWN_TAINT, "effect": "NoSchedule"}] if wanted.going_down else []
    return None if len(present) == len(others) + len(ours) else [*others, *ours]


def changed_conditions(node: Obj, wanted: Marks, now: dt.datetime) -> list[Obj]:
    """Our conditions that the Node has not, or not so."""
    present = {one.get("type"): one for one in maps(dig(node, "status", "conditions"))}
    made = [(GRACEFUL_SHUTDOWN, (str(wanted.orderly), wanted.reason, wanted.message))]
    if wanted.going_down:
        why = "the shutdown agent terminates the pods of the node"
        made.append((SHUTDOWN_IN_PROGRESS, ("True", "NodeShutdown", why)))
    elif SHUTDOWN_IN_PROGRESS in present:
        made.append((SHUTDOWN_IN_PROGRESS, ("False", "NodeRunning", "no shutdown is under way")))
    changed = []
    for type_, assessment in made:
        old = present.get(type_, {})
        if (old.get("status"), old.get("reason"), old.get("message")) != assessment:
            since = old.get("lastTransitionTime", "") if old.get("status") == assessment[0] else ""
            changed.append(node_condition(type_, assessment, now, since=since))
    return changed
