"""A fence agent that is a service: one POST for each call, and an answer that names the node it is about.

    {"action": "off", "node": "worker-3", "uid": "…"}   →   {"node": "worker-3", "uid": "…", "state": "off"}

An answer about another node, of another shape, or with another status than 200 is no answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vacate.fencing.agentprotocol import OFF, ON, STATUS
from vacate.fencing.agents import Answer, read_answer, unclear
from vacate.httpclient.addresses import REFUSED, Network
from vacate.httpclient.service import CallFailed, post_json

LIST_IT = "If it is meant, start vacate manager with --fencing-allow-address"


@dataclass(frozen=True, slots=True)
class HttpHook:
    """The service, for one node."""

    url: str
    node: str
    uid: str
    timeout: float = 60.0
    token: str = field(default="", repr=False)
    authorities: str = ""  # certificates in PEM; the system's where it is empty
    listed: Sequence[Network] = ()  # addresses that may be called although they are not of another machine

    async def off(self) -> Answer:
        """Ask for the machine to be switched off."""
        return await self._ask(OFF)

    async def on(self) -> Answer:
        """Ask for the machine to be switched on."""
        return await self._ask(ON)

    async def status(self) -> Answer:
        """Ask for the state of the machine."""
        return await self._ask(STATUS)

    async def _ask(self, action: str) -> Answer:
        body = {"action": action, "node": self.node, "uid": self.uid}
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        try:
            answer = await post_json(
                self.url,
                body,
                seconds=self.timeout,
                headers=headers,
                authorities=self.authorities,
                listed=self.listed,
            )
        except CallFailed as error:
            return unclear(f"{error}. {LIST_IT}" if REFUSED in str(error) else str(error))
        return self._read(answer.status, answer.body)

    def _read(self, status: int, text: bytes) -> Answer:
        if status != 200:
            # Not what it answered: the author of the URL would read what any service answers to us.
            return unclear(f"HTTP status {status}")
        return read_answer(text, self.node, self.uid, self.token)
