"""What the schema of FencingPolicy cannot say."""

from __future__ import annotations

import re
from typing import Any

from vacate.api.objects import Obj
from vacate.api.types.fenceoptions import (
    ALLOWED,
    CREDENTIAL,
    PATH_NAME,
    PATH_VALUE,
    PORT_NAME,
    PORT_VALUE,
    VALUE,
    is_credential,
    refused_addresses,
    refused_names,
    refused_values,
)
from vacate.crds.declaration import CelRule
from vacate.crds.labelselectors import keys_rule, not_empty_rule, values_rule

_CREDENTIALS = re.compile("^https?://[^/?#]*@")
_SCHEME = re.compile("^https?://.")
_HOST_AND_PORT = re.compile(r"^https?://([^/?#]*@)?([^/?#@:\[\]]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?([/?#]|$)")


def _names_one_agent(agent: Obj) -> bool:
    return sum(kind in agent for kind in ("command", "http", "job")) == 1


def _are_allowed(agent: Obj) -> bool:
    return not refused_names(agent.get("program", ""), agent.get("options") or {}, of_secret=True)


def _are_no_credentials(options: dict[str, Any]) -> bool:
    return not any(map(is_credential, options))


def _are_plain(options: dict[str, Any]) -> bool:
    return not refused_values({name: str(value) for name, value in options.items()})


def _lead_to_the_machine(options: dict[str, Any]) -> bool:
    return not refused_addresses({name: str(value) for name, value in options.items()})


def _is_encrypted(agent: Obj) -> bool:
    return "secretRef" not in agent or agent.get("url", "").startswith("https://")


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
        "spec.agent.command",
        f"!has(self.options) || self.options.all(key, (self.program + ' ' + key).matches('{ALLOWED}') || "
        f"key.matches('{CREDENTIAL}'))",
        "options address and select a machine, such as ip, plug, username and ssl_insecure; this agent is "
        "given no others, least of all those that name programs or files. Run one that needs more as a Job",
        _are_allowed,
        field="options",
    ),
    CelRule(
        "spec.agent.command.options",
        f"self.all(key, !key.matches('{CREDENTIAL}'))",
        "a policy can be read by many: put passwords, keys and tokens into the Secret that secretRef names",
        _are_no_credentials,
    ),
    CelRule(
        "spec.agent.command.options",
        f"self.all(key, self[key].matches(r'{VALUE}'))",
        "a value is one word of letters, digits and _./:@,+=%[]- that does not begin with -; $(NODE) stands "
        "for the node",
        _are_plain,
    ),
    CelRule(
        "spec.agent.command.options",
        f"self.all(key, (!key.matches('{PATH_NAME}') || self[key].matches('{PATH_VALUE}')) && "
        f"(!key.matches('{PORT_NAME}') || self[key].matches('{PORT_VALUE}')))",
        "redfish_uri, systems_uri and api_path begin with / and have no @, and ipport is a number: agents "
        "append them to the address",
        _lead_to_the_machine,
    ),
    CelRule(
        "spec.agent.http",
        "!has(self.secretRef) || self.url.startsWith('https://')",
        "a token is sent over https only",
        _is_encrypted,
        field="url",
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
