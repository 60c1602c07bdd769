"""From the agent of a FencingPolicy to one that can be called: with its program, options and credentials."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from vacate.api.kinds import Kind
from vacate.api.types import Node
from vacate.api.types.fencingpolicy import AgentSpec, CommandAgent, HttpAgent, SecretReference
from vacate.client.client import Client
from vacate.errors import ApiError, ConfigError, FencingFailed
from vacate.fenceagents.agent import FenceAgent, find_program
from vacate.fenceagents.httphook import HttpHook
from vacate.fencing.agentprotocol import check_options
from vacate.fencing.agents import MachineAgent

SECRETS = Kind("", "v1", "Secret", "secrets", "secret", namespaced=True)
_NODE = "$(NODE)"


@dataclass(frozen=True, slots=True)
class ConfiguredAgents:
    """Makes agents as policies describe them. Secrets are read for each fence, and kept nowhere."""

    client: Client

    async def for_node(self, spec: AgentSpec, node: Node) -> MachineAgent:
        """The agent of one node; FencingFailed or ConfigError says what is missing."""
        if spec.command is not None:
            return await self._command(spec.command, spec.timeout_seconds, node.metadata.name)
        if spec.http is not None:
            return await self._http(spec.http, spec.timeout_seconds, node)
        raise ConfigError("spec.agent: name an agent, either command or http")

    async def _command(self, spec: CommandAgent, seconds: int, node: str) -> MachineAgent:
        options = {key: value.replace(_NODE, node) for key, value in spec.options.items()}
        if spec.secret_ref is not None:
            options |= await self._secret(spec.secret_ref, node)
        check_options(options, "spec.agent.command")
        return FenceAgent(find_program(spec.program, field="spec.agent.command.program"), options, seconds)

    async def _http(self, spec: HttpAgent, seconds: int, node: Node) -> MachineAgent:
        name = node.metadata.name
        secret = await self._secret(spec.secret_ref, name) if spec.secret_ref is not None else {}
        return HttpHook(
            spec.url.replace(_NODE, name),
            name,
            node.metadata.uid,
            seconds,
            secret.get("token", ""),
            secret.get("ca.crt", ""),
        )

    async def _secret(self, ref: SecretReference, node: str) -> dict[str, str]:
        name = ref.name.replace(_NODE, node)
        try:
            return options_of_secret(await self.client.get(SECRETS, name, ref.namespace), name)
        except ApiError as error:
            raise FencingFailed(f"Secret {ref.namespace}/{name} cannot be read: {error}") from None


def options_of_secret(secret: dict[str, object], name: str) -> dict[str, str]:
    """What a Secret holds, as text; ConfigError without any value where it is none."""
    data = secret.get("data") or {}
    assert isinstance(data, dict)
    try:
        return {
            key: base64.b64decode(str(value), validate=True).decode().rstrip("\n")
            for key, value in data.items()
        }
    except (binascii.Error, UnicodeDecodeError):
        raise ConfigError(f"Secret {name} holds a value that is no text") from None
