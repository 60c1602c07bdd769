"""The command protocol of ClusterLabs' fence agents: options on standard input, answers as exit codes.

Secrets stand in these lines, so they never stand on a command line, where every user of a machine reads them.
"""

from __future__ import annotations

import base64
import enum
import html
import json
import re
import shlex
import string
from collections.abc import Collection, Mapping
from urllib.parse import quote, quote_plus

from vacate.api.types.fenceoptions import listed, refused_addresses, refused_names, refused_values
from vacate.errors import ConfigError

OFF, ON, STATUS = "off", "on", "status"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
MAX_INPUT = 32_768
"""Bytes. A pipe takes them at once, so that an agent that reads nothing delays no other."""
_SECRET = ("pass", "secret", "token", "key", "community", "_kg")
_MIN_HIDDEN = 6
_MIN_ENCODED = 4
_BASE64 = frozenset(string.ascii_letters + string.digits + "+/_-=")
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


def check_allowed(
    program: str, options: Mapping[str, str], secret: Mapping[str, str], source: str, secret_source: str
) -> None:
    """ConfigError for options that are not about a machine and how it is reached.

    The server refuses the same, but a policy may be older than that, and a Secret is never checked there.
    """
    for where, given, of_secret in ((source, options, False), (secret_source, secret, True)):
        if names := refused_names(program, given, of_secret=of_secret):
            raise ConfigError(
                f"{where}: {program} is not given {listed(names)}: options address and select a machine, as "
                "ip, plug and username do, and credentials stand in the Secret. An agent that needs more "
                "runs as a Job"
            )
        if names := refused_values(given) or refused_addresses(given):
            raise ConfigError(
                f"{where}: the value of {listed(names)} is not one word of letters, digits and _./:@,+=%[]-"
            )


def redacted(text: str, options: Mapping[str, str], hidden: Collection[str] = ()) -> str:
    """What an agent printed, without the secrets that it was given: by their names, or hidden by the caller.

    Values of hidden options that are as short as a port or a switch stay: they would blot out all numbers.
    """
    secrets = {
        value
        for name, value in options.items()
        if value
        and (any(part in name.lower() for part in _SECRET) or (name in hidden and len(value) >= _MIN_HIDDEN))
    }
    for value in sorted(secrets, key=len, reverse=True):
        for core in _base64_cores(value.encode()):
            text = _without_words(text, core)
        text = re.sub("|".join(_spellings(value)), "***", text)
    return text


def _spellings(secret: str) -> list[str]:
    """Patterns of a secret as programs write it: plain, quoted, in a URL, in JSON."""
    written = {
        secret,
        shlex.quote(secret),
        html.escape(secret),
        repr(secret)[1:-1],
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        json.dumps(secret)[1:-1].replace("/", "\\/"),
    }
    in_urls = {quote(secret, safe=""), quote(secret), quote_plus(secret), secret.encode().hex()}
    plain = sorted(map(re.escape, written), key=len, reverse=True)
    loose = sorted((f"(?i:{re.escape(one)})" for one in in_urls - written), key=len, reverse=True)
    return [*plain, *loose]


def _base64_cores(secret: bytes) -> list[str]:
    """What a secret becomes inside of base64, at each of three places, as beside a user name.

    Characters that also depend on the bytes beside it are left out, and a short rest proves nothing.
    """
    found = []
    for before in range(3):
        whole = base64.b64encode(bytes(before) + secret).decode()
        own = whole[(before * 8 + 5) // 6 : (before + len(secret)) * 8 // 6]
        if len(own) >= _MIN_ENCODED:
            found.append(re.escape(own).replace("/", "[/_]").replace(r"\+", "[+-]"))
    return found


def _without_words(text: str, core: str) -> str:
    """Hides the whole words in which the core stands: their ends hold the rest of the secret."""
    kept, at = [], 0
    for found in re.finditer(core, text):
        start, end = found.span()
        if start < at:
            continue
        while start > at and text[start - 1] in _BASE64:
            start -= 1
        while end < len(text) and text[end] in _BASE64:
            end += 1
        kept += [text[at:start], "***"]
        at = end
    return "".join(kept) + text[at:]
