"""Credentials that change while a client runs: token files and exec plugins."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
from dataclasses import dataclass, field
from typing import Protocol

import orjson

from vacate.api.objects import Obj
from vacate.api.times import parse_time
from vacate.client.config import ClusterConfig, ExecPlugin
from vacate.client.exec_plugin import run_plugin, wrong
from vacate.clock import PassiveClock
from vacate.errors import ConfigError

TOKEN_FILE_SECONDS = 60.0
"""How long the content of a token file is used before it is read again."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What to show to the server now."""

    token: str = field(default="", repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)


class CredentialSource(Protocol):
    """Gives the credentials of the moment."""

    async def current(self) -> Credentials:
        """What to use for the next request."""
        ...

    def rejected(self) -> None:
        """The server did not accept them: get new ones next time."""
        ...


def source_of(config: ClusterConfig, clock: PassiveClock) -> CredentialSource:
    """The source that the configuration asks for."""
    if config.exec_plugin is not None:
        return ExecSource(config, config.exec_plugin, clock)
    if config.token_file is not None:
        return TokenFileSource(config, clock)
    return FixedSource(Credentials(config.token, config.client_certificate, config.client_key))


class FixedSource:
    """Always the same."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    async def current(self) -> Credentials:
        """What was given."""
        return self._credentials

    def rejected(self) -> None:
        """There is nothing else to try."""


class TokenFileSource:
    """A token that someone else renews in a file."""

    def __init__(self, config: ClusterConfig, clock: PassiveClock) -> None:
        self._config = config
        self._clock = clock
        self._held: Credentials | None = None  # what the file held at _read_at
        self._read_at = 0.0

    async def current(self) -> Credentials:
        """The token, read again after a minute; a file that vanished leaves the old one in use."""
        now = self._clock.monotonic()
        if self._held is None or now - self._read_at >= TOKEN_FILE_SECONDS:
            self._held, self._read_at = self._read(), now
        return self._held

    def rejected(self) -> None:
        """Read the file before the next request."""
        self._read_at = float("-inf")

    def _read(self) -> Credentials:
        assert self._config.token_file is not None
        try:
            token = self._config.token_file.read_text().strip()
        except OSError as error:
            if self._held is not None:
                return self._held
            raise ConfigError(
                f"{self._config.token_file}: the token cannot be read: {error.strerror}; correct tokenFile"
            ) from None
        return Credentials(token, self._config.client_certificate, self._config.client_key)


class ExecSource:
    """Credentials that a program prints, kept until they expire."""

    def __init__(self, config: ClusterConfig, plugin: ExecPlugin, clock: PassiveClock) -> None:
        self._config = config
        self._plugin = plugin
        self._clock = clock
        self._held: Credentials | None = None  # valid until _expires
        self._expires: dt.datetime | None = None  # None: as long as the server accepts them
        self._lock = asyncio.Lock()  # one run of the program at a time

    async def current(self) -> Credentials:
        """What the program printed last, or prints now."""
        async with self._lock:
            if self._held is None or (self._expires is not None and self._clock.now() >= self._expires):
                self._held, self._expires = self._parse(await self._run())
            return self._held

    def rejected(self) -> None:
        """Run the program again before the next request."""
        self._held = None

    async def _run(self) -> bytes:
        environment = {**os.environ, **dict(self._plugin.env), "KUBERNETES_EXEC_INFO": self._info()}
        return await run_plugin(self._plugin, environment)

    def _info(self) -> str:
        spec: Obj = {"interactive": False}
        if self._plugin.provide_cluster_info:
            spec["cluster"] = {
                "server": self._config.server,
                "insecure-skip-tls-verify": self._config.insecure,
                "tls-server-name": self._config.tls_server_name,
            }
        info = {"apiVersion": self._plugin.api_version, "kind": "ExecCredential", "spec": spec}
        return orjson.dumps(info).decode()

    def _parse(self, output: bytes) -> tuple[Credentials, dt.datetime | None]:
        try:
            printed = orjson.loads(output)
        except orjson.JSONDecodeError:
            raise self._wrong("did not print an ExecCredential as JSON") from None
        status = printed.get("status") if isinstance(printed, dict) else None
        given = {key: value for key, value in status.items() if value} if isinstance(status, dict) else {}
        if not all(isinstance(value, str) for value in given.values()):
            raise self._wrong("printed an ExecCredential whose status has a value that is not a string")
        found = Credentials(
            given.get("token", ""),
            given.get("clientCertificateData", "").encode() or self._config.client_certificate,
            given.get("clientKeyData", "").encode() or self._config.client_key,
        )
        if not found.token and not found.certificate:
            raise self._wrong("printed neither a token nor a client certificate")
        try:
            expiry = given.get("expirationTimestamp")
            return found, parse_time(expiry) if expiry else None
        except (ValueError, OverflowError):
            raise self._wrong("printed an expirationTimestamp that is not a time") from None

    def _wrong(self, problem: str) -> ConfigError:
        return wrong(self._plugin, problem)
