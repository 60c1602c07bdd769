"""From the agent of a FencingPolicy to one that can be called: with its program, options and credentials."""

from __future__ import annotations

import asyncio
import base64
import binascii
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vacate.api.kinds import PODTEMPLATES, SECRETS
from vacate.api.types import Node
from vacate.api.types.fencingpolicy import AgentSpec, CommandAgent, HttpAgent, SecretReference
from vacate.api.types.fencingpolicy import JobAgent as JobAgentSpec
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.errors import ApiError, ConfigError, FencingFailed
from vacate.fenceagents.agent import FenceAgent, find_program
from vacate.fenceagents.httphook import LIST_IT, HttpHook
from vacate.fenceagents.jobagent import JobAgent
from vacate.fencing.agentprotocol import check_allowed, check_options
from vacate.fencing.agents import MachineAgent
from vacate.httpclient.addresses import REFUSED, Network, unusual_address

_NODE = "$(NODE)"
_ADDRESSES = ("ip", "ipaddr")


@dataclass(frozen=True, slots=True)
class ConfiguredAgents:
    """Makes agents as policies describe them. Secrets are read for each fence, and kept nowhere."""

    client: Client
    clock: Clock
    entropy: Entropy
    job_namespace: str = ""  # where Jobs of policies may run; nowhere where it is empty
    listed: Sequence[Network] = ()  # addresses that agents may call although they are not of another machine

    async def for_node(self, spec: AgentSpec, node: Node, step: str) -> MachineAgent:
        """The agent of one node; FencingFailed or ConfigError says what is missing."""
        if spec.command is not None:
            return await self._command(spec.command, spec.timeout_seconds, node.metadata.name)
        if spec.http is not None:
            return await self._http(spec.http, spec.timeout_seconds, node)
        if spec.job is not None:
            return await self._job(spec.job, spec.timeout_seconds, node, step)
        raise ConfigError("spec.agent: name an agent: command, http or job")

    async def _command(self, spec: CommandAgent, seconds: int, node: str) -> MachineAgent:
        ref = spec.secret_ref
        secret = await self._secret(ref, node) if ref is not None else {}
        source = "spec.agent.command.options"
        check_allowed(spec.program, spec.options, secret, source, f"Secret {_shown(ref, node)}")
        options = {key: value.replace(_NODE, node) for key, value in spec.options.items()} | secret
        check_options(options, "spec.agent.command")
        program = find_program(spec.program, field="spec.agent.command.program")
        await self._check_addresses(options, seconds)
        return FenceAgent(program, options, seconds, frozenset(secret))

    async def _check_addresses(self, options: Mapping[str, str], seconds: int) -> None:
        """ConfigError for addresses that are not of another machine. The agent looks a name up once more."""
        for name, value in options.items():
            if name.lower() not in _ADDRESSES:
                continue
            host = value.removeprefix("[").removesuffix("]")
            try:
                async with asyncio.timeout(seconds):
                    found = await unusual_address(host, self.listed)
            except (OSError, UnicodeError) as error:  # a TimeoutError is one of them
                raise FencingFailed(f"option {name}: {host!r} cannot be looked up: {error}") from None
            if found:
                raise ConfigError(f"option {name}: address {found} of {host!r} {REFUSED}. {LIST_IT}")

    async def _http(self, spec: HttpAgent, seconds: int, node: Node) -> MachineAgent:
        name = node.metadata.name
        secret = await self._secret(spec.secret_ref, name) if spec.secret_ref is not None else {}
        if spec.secret_ref is not None:
            _check_service_secret(secret, _shown(spec.secret_ref, name))
        if secret.get("token") and not spec.url.startswith("https://"):
            raise ConfigError("spec.agent.http.url: a token is sent over https only")
        return HttpHook(
            spec.url.replace(_NODE, name),
            name,
            node.metadata.uid,
            seconds,
            secret.get("token", ""),
            secret.get("ca.crt", ""),
            self.listed,
        )

    async def _job(self, spec: JobAgentSpec, seconds: int, node: Node, step: str) -> MachineAgent:
        where, meta = self.job_namespace, node.metadata
        if not where:
            raise ConfigError(
                "spec.agent.job: this manager runs no Jobs; install Vacate with --fencing-jobs, or start "
                "vacate manager with --fencing-job-namespace"
            )
        try:
            template = await self.client.get(PODTEMPLATES, spec.pod_template, where)
        except ApiError as error:
            raise FencingFailed(f"PodTemplate {where}/{spec.pod_template} cannot be read: {error}") from None
        return JobAgent(
            self.client, self.clock, self.entropy, where, template, meta.name, meta.uid, step, seconds
        )

    async def _secret(self, ref: SecretReference, node: str) -> dict[str, str]:
        name = _named(ref, node)
        try:
            return options_of_secret(await self.client.get(SECRETS, name, ref.namespace), name)
        except ApiError as error:
            raise FencingFailed(f"Secret {ref.namespace}/{name} cannot be read: {error}") from None


def _named(ref: SecretReference, node: str) -> str:
    return ref.name.replace(_NODE, node)


def _shown(ref: SecretReference | None, node: str) -> str:
    return "" if ref is None else f"{ref.namespace}/{_named(ref, node)}"


def _check_service_secret(secret: Mapping[str, str], name: str) -> None:
    """ConfigError, without any value, for what cannot be sent or trusted."""
    token, authorities = secret.get("token", ""), secret.get("ca.crt", "")
    if not (token.isascii() and token.isprintable()):
        raise ConfigError(f"Secret {name}: key token is not a bearer token: it must be printable ASCII")
    if authorities:
        try:
            ssl.create_default_context(cadata=authorities)
        except (OSError, TypeError, ValueError):
            raise ConfigError(f"Secret {name}: key ca.crt holds no certificates in PEM") from None


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
        raise ConfigError(f"Secret {name} holds a value that is not UTF-8 text") from None
