"""Runs postStart and preStop: a command, an HTTP GET, or a sleep."""

from __future__ import annotations

from vacate.api.objects import Obj
from vacate.clock import Clock
from vacate.nodeagent.lifecycle.http import http_get, http_get_once, port_of
from vacate.nodeagent.lifecycle.reason import HookExtras, hook_command
from vacate.nodeagent.model import RunningContainer
from vacate.nodeagent.runtime.protocol import ContainerError, ContainerRuntime

PRE_STOP = "preStop"
"""By which the runtime knows a hook that must run once, whatever becomes of the agent."""


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
        address = str(action.get("host") or target.address)
        port = port_of(action, target.container)
        given = (address, port, action, extras.headers, timeout)
        code = await (http_get_once(runtime, target.id, *given, once) if once else http_get(*given))
        if code >= 400:
            raise ContainerError(f"HTTP hook answered {code}")
    elif isinstance(action := handler.get("sleep"), dict):
        await clock.sleep(min(float(action.get("seconds") or 0) - (ago or 0.0), timeout))
    else:
        raise ContainerError("the hook has no handler that this node knows: exec, httpGet or sleep")
