"""The one small protocol behind which fence agents stand: programs, services and Jobs alike."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from vacate.api.text import plain
from vacate.api.types import Node
from vacate.api.types.fencingpolicy import AgentSpec
from vacate.fencing.agentprotocol import PowerState, redacted
from vacate.wire.json import decode_json

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """What an agent answered to one call. Anything that is not clearly on or off is unknown."""

    ok: bool  # the call itself succeeded
    state: PowerState
    message: str = ""  # for people: on one line, without secrets


class _Body(msgspec.Struct, frozen=True):
    node: str
    uid: str
    state: str
    message: str = ""


def unclear(message: str) -> Answer:
    """An answer that proves nothing, and why."""
    return Answer(False, PowerState.UNKNOWN, plain(message, _SHOWN))


def read_answer(text: bytes, node: str, uid: str, secret: str = "") -> Answer:
    """The answer of a service or a Job, in JSON. It must name the node that was asked about.

    A secret that was sent along is not shown, although the service may repeat it.
    """
    try:
        body = decode_json(text, _Body)
    except ValueError as error:
        return unclear(f"not the answer of a fence agent: {error}")
    if (body.node, body.uid) != (node, uid):
        return unclear(f"the answer is about another node, and {node!r} was asked about")
    state = PowerState(body.state) if body.state in ("on", "off") else PowerState.UNKNOWN
    message = plain(redacted(body.message, {"secret": secret}), _SHOWN) or f"the machine is {state}"
    return Answer(state is not PowerState.UNKNOWN, state, message)


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

    def for_node(self, spec: AgentSpec, node: Node, step: str) -> Awaitable[MachineAgent]:
        """The agent with its credentials; FencingFailed or ConfigError where there can be none.

        The step is the record of what was decided: an agent that can be asked the same thing twice by it, as
        after a lost connection, does it once.
        """
        ...
