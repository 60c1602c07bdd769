"""Runs a program that prints credentials, within a time and within a size; nothing of it is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping

from vacate.client.config import ExecPlugin
from vacate.errors import ConfigError

EXEC_SECONDS = 120.0
"""How long a plugin may take. A user may have to log in with a browser; nobody waits for ever."""

OUTPUT_BYTES = 1024 * 1024
_CHUNK_BYTES = 64 * 1024
_COMPLAINT_SHOWN = 500


async def run_plugin(
    plugin: ExecPlugin, environment: Mapping[str, str], seconds: float = EXEC_SECONDS
) -> bytes:
    """What it printed; ConfigError where it fails, prints too much, or does not end in time."""
    try:
        process = await _started(plugin, environment)
    except OSError as error:
        raise wrong(plugin, f"cannot be run: {error.strerror}") from None
    try:
        async with asyncio.timeout(seconds):
            return await _outcome(plugin, process)
    except TimeoutError:
        raise wrong(plugin, f"did not end within {seconds:.0f} s, and was killed") from None
    finally:
        await _killed(process)


async def _started(plugin: ExecPlugin, environment: Mapping[str, str]) -> asyncio.subprocess.Process:
    """Start it. A caller that is cancelled meanwhile leaves nothing behind: it may run already."""
    starting = asyncio.get_running_loop().create_task(
        asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.args,
            env=dict(environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # so that its own children can be ended with it
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError):
            await _killed(await starting)
        raise


async def _killed(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def wrong(plugin: ExecPlugin, problem: str) -> ConfigError:
    """The error that names the plugin and the remedy."""
    hint = plugin.install_hint or "check users[].user.exec in the kubeconfig"
    return ConfigError(f"exec plugin {plugin.command!r} {problem}; {hint}")


async def _outcome(plugin: ExecPlugin, process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    assert process.stderr is not None
    async with asyncio.TaskGroup() as group:
        output = group.create_task(_whole(process.stdout))
        complaint = group.create_task(_end(process.stderr))
    if output.result() is None:
        raise wrong(plugin, f"printed more than {OUTPUT_BYTES} bytes")
    code = await process.wait()
    if code:
        error_output = complaint.result().decode("utf-8", "replace").strip()[-_COMPLAINT_SHOWN:]
        raise wrong(plugin, f"failed with exit code {code}: {error_output}")
    return output.result() or b""


async def _whole(stream: asyncio.StreamReader) -> bytes | None:
    """All of it; None where that is too much."""
    found = bytearray()
    while chunk := await stream.read(_CHUNK_BYTES):
        if len(found) <= OUTPUT_BYTES:
            found += chunk
    return bytes(found) if len(found) <= OUTPUT_BYTES else None


async def _end(stream: asyncio.StreamReader) -> bytes:
    """The last of it, where the reason stands; all of it is read, or the program would wait for ever."""
    found = b""
    while chunk := await stream.read(_CHUNK_BYTES):
        found = (found + chunk)[-_CHUNK_BYTES:]
    return found
