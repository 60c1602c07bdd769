"""Runs postStart and preStop: a command, an HTTP GET, or a sleep. Probes send their requests likewise."""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
from collections.abc import AsyncIterator, Sequence
from urllib.parse import quote

from vacate.api.objects import Obj
from vacate.api.untyped import maps
from vacate.clock import Clock
from vacate.nodeagent.lifecycle.reason import HookExtras, hook_command
from vacate.nodeagent.model import RunningContainer
from vacate.nodeagent.runtime.connection import isolated
from vacate.nodeagent.runtime.protocol import ContainerError, ContainerRuntime
from vacate.nodeagent.runtime.supervisor.httprequest import REQUEST, unverified

Headers = Sequence[tuple[str, str]]
PRE_STOP = "preStop"
"""By which the runtime knows a hook that must run once, whatever becomes of the agent."""
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_MAX_HEAD = 64 * 1024


async def run_hook(
    runtime: ContainerRuntime,
    clock: Clock,
    target: RunningContainer,
    handler: Obj,
    timeout: float,
    extras: HookExtras | None = None,
    *,
    once: str = "",
    ago: float | None = None,
) -> None:
    """Run the handler to its end; ContainerError where it fails or takes longer than the timeout.

    With `once` what was started under that name is not started again. `ago`: so many seconds ago an agent
    before this one began with it, for a sleep; None where none did.
    """
    extras = extras or HookExtras()
    if isinstance(action := handler.get("exec"), dict):
        env = {**target.env, **extras.env}
        argv = hook_command([str(one) for one in action.get("command") or ()], env, extras.arguments)
        if not argv:
            raise ContainerError("the hook has no command")
        result = await runtime.exec(target.id, argv, env, timeout, once=once)
        if result.timed_out:
            raise ContainerError(f"the command took longer than {timeout:g} s and was killed")
        if result.code != 0:
            raise ContainerError(f"the command exited with {result.code}: {result.output.strip()[:512]}")
    elif isinstance(action := handler.get("httpGet"), dict):
        request = HttpGet(action, target, extras.headers)
        code = await (request.send_once(runtime, timeout, once) if once else request.send(timeout))
        if code >= 400:
            raise ContainerError(f"HTTP hook answered {code}")
    elif isinstance(action := handler.get("sleep"), dict):
        await clock.sleep(min(float(action.get("seconds") or 0) - (ago or 0.0), timeout))
    else:
        raise ContainerError("the hook has no handler that this node knows: exec, httpGet or sleep")


class HttpGet:
    """A request to a container; a name of a port means the container's port of that name."""

    def __init__(self, action: Obj, target: RunningContainer, headers: Headers = ()) -> None:
        """ContainerError where it cannot be sent. `headers` replace those of the action."""
        self.container = target.id
        self.address, self.port = address_of(action, target)
        self.scheme = str(action.get("scheme") or "HTTP").upper()
        path = quote(str(action.get("path") or "/"), safe="/?&=%:@!$'()*+,;~#-._")
        path = path if path.startswith("/") else f"/{path}"
        self.what = f"Get {self.scheme.lower()}://{self.address}:{self.port}{path}"
        named = [one for one in maps(action.get("httpHeaders")) if one]
        own = [(str(one.get("name", "")), str(one.get("value", ""))) for one in named]
        self.request = _request(path, f"{self.address}:{self.port}", own, headers)

    async def send(self, timeout: float) -> int:
        """The status code of the answer; ContainerError where there is none in time."""
        tls = unverified() if self.scheme == "HTTPS" else None
        async with _connected(self.what, self.address, self.port, timeout, tls) as (reader, writer):
            writer.write(self.request)
            return self._code(await reader.readline())

    async def send_once(self, runtime: ContainerRuntime, timeout: float, once: str) -> int:
        """The same by the container's runtime, which sends it once and goes on without this agent."""
        env = {REQUEST: self.request.hex()}
        argv = isolated("httprequest", self.address, str(self.port), self.scheme)
        result = await runtime.exec(self.container, argv, env, timeout, once=once, outside=True)
        if result.timed_out:
            raise ContainerError(f"{self.what}: no answer within {timeout:g} s")
        if result.code != 0:
            raise ContainerError(f"{self.what}: {result.output.strip()}")
        return self._code(result.output.encode())

    def _code(self, line: bytes) -> int:
        found = re.match(rb"HTTP/1\.[01] (\d{3})", line)
        if found is None:
            raise ContainerError(f"{self.what}: the answer is not HTTP")
        return int(found[1])


async def tcp_connect(address: str, port: int, timeout: float) -> None:
    """Return when the port takes a connection; ContainerError otherwise."""
    async with _connected(f"dial tcp {address}:{port}", address, port, timeout):
        return


@contextlib.asynccontextmanager
async def _connected(
    what: str, address: str, port: int, timeout: float, tls: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection, all of whose use is limited in time; what fails names what was tried."""
    try:
        async with asyncio.timeout(timeout):
            reader, writer = await asyncio.open_connection(address, port, ssl=tls, limit=_MAX_HEAD)
            try:
                yield reader, writer
            finally:
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()
    except TimeoutError:
        raise ContainerError(f"{what}: no answer within {timeout:g} s") from None
    except (OSError, ValueError) as error:  # the latter for a host that cannot be a name
        raise ContainerError(f"{what}: {error}") from error


def address_of(action: Obj, target: RunningContainer) -> tuple[str, int]:
    """The host and the port that the action names; ContainerError where that is none."""
    wanted = action.get("port")
    if isinstance(wanted, str) and not wanted.isdigit():
        ports = target.container.ports
        wanted = next((one.get("containerPort") for one in ports if one.get("name") == wanted), None)
    try:
        number = int(wanted or 0)
    except (TypeError, ValueError):
        number = 0
    if not 0 < number < 65536:
        name = target.container.name
        raise ContainerError(f"port {action.get('port')!r} is neither a number nor a port of {name}")
    return str(action.get("host") or target.address), number


def _request(path: str, host: str, own: Headers, headers: Headers) -> bytes:
    replaced = {name.lower() for name, _ in headers}
    given = [*(one for one in own if one[0].lower() not in replaced), *headers]
    names = {name.lower() for name, _ in given}
    defaults = [("Host", host), ("User-Agent", "kube-probe/vacate"), ("Accept", "*/*")]
    lines = [f"GET {path} HTTP/1.1"]
    for name, value in [*(one for one in defaults if one[0].lower() not in names), *given]:
        if not _TOKEN.fullmatch(name) or any(ord(char) < 32 or ord(char) == 127 for char in value):
            raise ContainerError(
                f"header {name!r} cannot be sent: its name or value has forbidden characters"
            )
        lines.append(f"{name}: {value}")
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode("utf-8")
