"""Asking before something wide is done: on a terminal; without one nothing is done unless --yes is given."""

from __future__ import annotations

import asyncio
import sys

from vacate.cli.common import terminal
from vacate.errors import ConfigError

_YES = ("y", "yes")


async def confirmed(question: str) -> bool:
    """Whether the user agrees; ConfigError without a terminal."""
    stdin = sys.stdin
    if stdin is None or not stdin.isatty() or not terminal.is_terminal(err=True):
        raise ConfigError(f"{question}. Nothing was changed: pass --yes to do it without being asked")
    terminal.ask(f"{question}. Continue? [y/N] ")
    # A blocking read would keep the command from ending when it is interrupted.
    loop = asyncio.get_running_loop()
    typed = asyncio.Event()
    loop.add_reader(stdin.fileno(), typed.set)
    try:
        await typed.wait()
    finally:
        loop.remove_reader(stdin.fileno())
    if stdin.readline().strip().lower() in _YES:
        return True
    terminal.echo("Nothing was changed.", err=True)
    return False
