"""Rules without which something does not end, taken out."""

from __future__ import annotations

import pytest

from vacate.controllers.nodemaintenance.writer import MaintenanceWriter
from vacate.eviction import engine
from vacate.eviction.model import Action, Assign, DecisionContext, EvictionState, Hold, Turn
from vacate.nodeagent.agent import NodeAgent
from vacate.nodeagent.shutdown.state import ManagerState

Patch = pytest.MonkeyPatch


def a_turn_is_not_passed_on(patch: Patch) -> None:
    """An interceptor that has done its part is waited for without end."""
    turn = engine._turn

    def kept(process: EvictionState, context: DecisionContext) -> Action | None:
        action = turn(process, context)
        passed = isinstance(action, Assign) and action.turn is Turn.PREVIOUS_COMPLETED
        return Hold(engine._waiting_stage(process, context.now)) if passed else action

    patch.setattr(engine, "_turn", kept)


def what_is_undone_is_kept(patch: Patch) -> None:
    async def keep(_: MaintenanceWriter, maintenance: object) -> None:
        return None

    patch.setattr(MaintenanceWriter, "remove_finalizer", keep)


def a_shutdown_is_not_called_off(patch: Patch) -> None:
    """A node that was to go down goes on saying so."""
    change = NodeAgent._shutdown_changed

    def changed(self: NodeAgent, state: ManagerState) -> None:
        if state.active or not self._node.shutting_down:
            change(self, state)

    patch.setattr(NodeAgent, "_shutdown_changed", changed)
