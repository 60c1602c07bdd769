"""The command protocol of ClusterLabs' fence agents: options on standard input, answers as exit codes.

Secrets stand in these lines, so they never stand on a command line, where every user of a machine reads them.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Collection, Mapping

from vacate.errors import ConfigError

OFF, ON, STATUS = "off", "on", "status"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
MAX_INPUT = 32_768
"""Bytes. A pipe takes them at once, so that an agent that reads nothing holds up nobody."""
_SECRET = ("pass", "secret", "token", "key")
_MIN_HIDDEN = 6
_STATUS_CODES = {0: "on", 2: "off"}


class PowerState(enum.StrEnum):
    """What an agent says about a machine."""

    ON = "on"
    OFF = "off"
    UNKNOWN = "unknown"


def read_options(text: str, source: str) -> dict[str, str]:
    """`name=value` lines; empty ones and those that begin with # are skipped. ConfigError names the line."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.partition("=")
        if not equals:
            raise ConfigError(f"{source}: line {number} is not an option; write name=value")
        found[name.strip()] = value.strip()
    check_options(found, source)
    return found


def check_options(options: Mapping[str, str], source: str) -> None:
    """ConfigError for options that an agent would misread, without the value of any."""
    for name, value in options.items():
        if not _NAME.fullmatch(name):
            raise ConfigError(f"{source}: {name[:64]!r} is not the name of an option")
        if name in ("action", "option"):
            raise ConfigError(f"{source}: leave {name} out; it is set for each call of the agent")
        if any(one in value for one in "\n\r\0"):
            raise ConfigError(f"{source}: the value of {name} contains a line break or a null character")
    if len(standard_input(options, STATUS)) > MAX_INPUT:
        raise ConfigError(f"{source}: the options are longer than {MAX_INPUT} bytes")


def standard_input(options: Mapping[str, str], action: str) -> bytes:
    """What the agent reads."""
    lines = [f"action={action}", *(f"{name}={value}" for name, value in options.items())]
    return ("\n".join(lines) + "\n").encode()


def power_state(exit_code: int) -> PowerState:
    """What the exit code of the action `status` says. Whatever is not clearly on or off is unknown."""
    return PowerState(_STATUS_CODES.get(exit_code, "unknown"))


def redacted(text: str, options: Mapping[str, str], hidden: Collection[str] = ()) -> str:
    """What an agent printed, without the secrets that it was given: by their names, or hidden by the caller.

    Values of hidden options that are as short as a port or a switch stay: they would blot out all numbers.
    """
    secrets = [
        value
        for name, value in options.items()
        if any(part in name.lower() for part in _SECRET) or (name in hidden and len(value) >= _MIN_HIDDEN)
    ]
    for value in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(value, "***")
    return text
