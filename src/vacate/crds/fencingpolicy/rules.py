"""What the schema of FencingPolicy cannot say."""

from __future__ import annotations

import re
from typing import Any

from vacate.api.objects import Obj
from vacate.crds.declaration import CelRule
from vacate.crds.labelselectors import keys_rule, not_empty_rule, values_rule

_CREDENTIALS = re.compile("^https?://[^/?#]*@")
_SCHEME = re.compile("^https?://.")
_HOST_AND_PORT = re.compile(r"^https?://([^/?#]*@)?([^/?#@:\[\]]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?([/?#]|$)")
_OPTION = "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"


def _names_one_agent(agent: Obj) -> bool:
    return sum(kind in agent for kind in ("command", "http", "job")) == 1


def _are_options(options: dict[str, Any]) -> bool:
    return all(_is_option(name) for name in options)


def _is_option(name: str) -> bool:
    plain = name.replace("_", "a").replace("-", "a")
    return (
        0 < len(name) <= 64
        and plain.isascii()
        and plain.isalnum()
        and name[0] not in "_-"
        and name not in ("action", "option")
    )


def _are_single_lines(options: dict[str, Any]) -> bool:
    return not any("\n" in str(value) or "\r" in str(value) for value in options.values())


def _are_no_secrets(options: dict[str, Any]) -> bool:
    return not any(name.lower().startswith("passw") for name in options)


def _has_no_credentials(url: str) -> bool:
    return _CREDENTIALS.match(url) is None


def _has_host(url: str) -> bool:
    # Another scheme is an error of the pattern; one mistake gets one error.
    return _SCHEME.match(url) is None or _HOST_AND_PORT.match(url) is not None


RULES = (
    CelRule(
        "spec.agent",
        "(has(self.command) ? 1 : 0) + (has(self.http) ? 1 : 0) + (has(self.job) ? 1 : 0) == 1",
        "name one agent: command, http or job",
        _names_one_agent,
        field="command",
    ),
    CelRule(
        "spec.agent.command.options",
        f"self.all(key, key.matches('{_OPTION}') && key != 'action' && key != 'option')",
        "an option is a name of letters, digits, _ and -; leave action out, it is set for each call",
        _are_options,
    ),
    CelRule(
        "spec.agent.command.options",
        "self.all(key, !self[key].contains('\\n') && !self[key].contains('\\r'))",
        "the value of an option must be one line",
        _are_single_lines,
    ),
    CelRule(
        "spec.agent.command.options",
        "self.all(key, !key.matches('^(?i)passw'))",
        "a policy can be read by many: put passwords into the Secret that secretRef names",
        _are_no_secrets,
    ),
    CelRule(
        "spec.agent.http.url",
        f"!self.matches('{_CREDENTIALS.pattern}')",
        "a policy can be read by many: put a token into the Secret that secretRef names, and no credentials "
        "into the URL",
        _has_no_credentials,
    ),
    CelRule(
        "spec.agent.http.url",
        f"!self.matches('{_SCHEME.pattern}') || self.matches(r'{_HOST_AND_PORT.pattern}')",
        "write http://HOST or https://HOST, with :PORT and a path where needed; an IPv6 address needs both "
        "brackets",
        _has_host,
    ),
    not_empty_rule("spec.nodeSelector", "an empty selector is ambiguous: leave it out to mean all nodes"),
    keys_rule("spec.nodeSelector"),
    values_rule("spec.nodeSelector"),
)
