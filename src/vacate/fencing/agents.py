"""The one small protocol behind which fence agents stand, whatever they are: a program or a service."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Protocol

from vacate.api.types import Node
from vacate.api.types.fencingpolicy import AgentSpec
from vacate.fencing.agentprotocol import PowerState


@dataclass(frozen=True, slots=True)
class Answer:
    """What an agent answered to one call. Anything that is not clearly on or off is unknown."""

    ok: bool  # the call itself succeeded
    state: PowerState
    said: str = ""  # for people: on one line, without secrets


class MachineAgent(Protocol):
    """Switches one machine. A call is bounded in time and never raises: what fails is an Answer."""

    def off(self) -> Awaitable[Answer]:
        """Switch the machine off. Repeating it does no harm."""
        ...

    def on(self) -> Awaitable[Answer]:
        """Switch the machine on. Repeating it does no harm."""
        ...

    def status(self) -> Awaitable[Answer]:
        """Read the state of the machine, in a call of its own."""
        ...


class Agents(Protocol):
    """Makes the agent of a node."""

    def for_node(self, spec: AgentSpec, node: Node) -> Awaitable[MachineAgent]:
        """The agent with its credentials; FencingFailed or ConfigError where there can be none."""
        ...
