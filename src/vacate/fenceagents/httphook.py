"""A fence agent that is a service: one POST for each call, and an answer that names the node it is about.

    {"action": "off", "node": "worker-3", "uid": "…"}   →   {"node": "worker-3", "uid": "…", "state": "off"}

An answer about another node, of another shape, or with another status than 200 is no answer.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass, field
from typing import Any

from vacate.fencing.agentprotocol import OFF, ON, STATUS
from vacate.fencing.agents import Answer, read_answer, unclear

_LONGEST_ANSWER = 65_536
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class HttpHook:
    """The service, for one node."""

    url: str
    node: str
    uid: str
    timeout: float = 60.0
    token: str = field(default="", repr=False)
    authorities: str = ""  # certificates in PEM; the system's where it is empty

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
        import aiohttp  # noqa: PLC0415  only those who use HTTP pay for it

        body = {"action": action, "node": self.node, "uid": self.uid}
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        try:
            async with (
                asyncio.timeout(self.timeout),
                aiohttp.ClientSession(trust_env=False) as session,
                # A redirect could lead the token, and the machine's fate, to somewhere else.
                session.post(
                    self.url, json=body, headers=headers, allow_redirects=False, ssl=self._tls()
                ) as answer,
            ):
                text = await answer.content.read(_LONGEST_ANSWER)
                return self._read(answer.status, text)
        except TimeoutError:
            return unclear(f"no answer within {self.timeout:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return unclear(f"{type(error).__name__}: {error}"[:_SHOWN])

    def _tls(self) -> Any:
        return ssl.create_default_context(cadata=self.authorities) if self.authorities else True

    def _read(self, status: int, text: bytes) -> Answer:
        if status != 200:
            return unclear(f"HTTP status {status}: {text[:_SHOWN].decode(errors='replace')}")
        return read_answer(text, self.node, self.uid)
